"""Where the requests of a client come from, seen without its help: the code that sends, and the loop that sends again.

How a loop is found. A function has one frame object for as long as it runs, and a new one each time that it is called.
A retry loop is a function that stays, while its attempts come and go. Two requests of one call, sent by this client,

    async def turn():
        for _ in range(3):
            await attempt()

have the stacks `send, attempt, turn, agent` and `send, attempt, turn, agent`. By name they are equal. By frame object
they are not: `turn` and `agent` are the same frames in both, `send` and `attempt` are new ones. The loop is shared, and
so is what lies outside of it. What lies inside was entered again. So the innermost frame that two successive requests
share is the loop that came back. That holds for every way to write it: a `for`, a decorator, a library, a callback. And
it holds for loops around each other. While the inner one goes on, it is the innermost shared frame. When the outer one
has come back, the inner one was entered anew, and the outer one is the innermost that is left. From these returns
`fuzzmcp.harness.observe.layers` counts the layers.

Frames are compared while both stacks are known, so the frames of the last request of each call are kept. They keep the
client's variables alive. `Stacks.clear` lets go of them: no frame outlives its run.

Where a stack begins and ends. It begins with the first frame that is not fuzzmcp's, however many of our functions lie
between the client and `Stacks.take`. It ends where a function of ours has called the client (`calls_the_client`).
Beyond its task it goes on as a chain (`fuzzmcp.harness.observe.chains`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import FrameType
from typing import Any

from fuzzmcp.core.package import is_ours
from fuzzmcp.core.trace import Loop, Site
from fuzzmcp.harness.observe.chains import Chain, Chains
from fuzzmcp.harness.observe.retry_libraries import retried
from fuzzmcp.harness.observe.stack_frames import coroutine_of, is_own, own_frame, site_of
from fuzzmcp.harness.observe.task_tree import TaskTree
from fuzzmcp.harness.own_faults import Ours

CALL: ContextVar[int | None] = ContextVar("fuzzmcp_call", default=None)
"""The call that the running code works for. Set around each call, inherited by the tasks it starts."""

STACKS: ContextVar[Stacks | None] = ContextVar("fuzzmcp_stacks", default=None)
"""The stacks of the run that the running code belongs to: an HTTP backend records its requests with them too."""


class Stacks:
    """Takes the stack of each request in a run, and names the code that sent it and the loop that sent it again.

    Args:
        own_files: Files that are the client's own although they are installed.
    """

    def __init__(self, own_files: tuple[str, ...] = ()) -> None:
        self._own = own_files
        self._tree = TaskTree()
        self._chains = Chains(self._tree)
        self._before: dict[Hashable, set[FrameType]] = {}

    def call_started(self) -> None:
        """The running task begins with the call that its context names."""
        self._chains.call_started(CALL.get())

    def task_started(self, task: Any, parent: Any) -> None:
        """Remember what started a task, so that a stack can go on across tasks.

        Args:
            task: The new task, of either loop.
            parent: The task that was running when it was made, or None.
        """
        code = getattr(coroutine_of(task), "cr_code", None)
        if code is not None and is_ours(code.co_filename):
            return
        if parent is not None:
            self._tree.add(task, parent, sys._getframe(1))
        elif CALL.get() is not None:  # it has the context of a thread, which works for a call
            self._tree.add_for_thread(task)

    def births(self, ours: Ours) -> Callable[[Any, Any], None]:
        """`task_started` for a clock to call: what goes wrong in it is no fault of the code that starts a task."""

        def born(task: Any, parent: Any) -> None:
            try:
                self.task_started(task, parent)
            except Exception as error:
                ours.failed(error)  # and the task lives on: nobody else would await it

        return born

    def watch_trio(self, ours: Ours) -> None:
        """Be told of each new task of the trio run that is going on.

        Args:
            ours: What is done then; trio itself would only log what goes wrong.
        """
        import trio

        stacks = self

        class Births(trio.abc.Instrument):
            def task_spawned(self, task: Any) -> None:
                try:
                    parent = trio.lowlevel.current_task()
                except RuntimeError:  # nobody runs: trio itself has made it
                    return
                with ours:
                    stacks.task_started(task, parent)

        trio.lowlevel.add_instrument(Births())

    def serving(self, call: int | None) -> AbstractContextManager[None]:
        """While the block runs, the running task waits for a server in this process: what that sends lies below it.

        Args:
            call: The call that the request belongs to.
        """
        return self._chains.serving(call)

    def call_served(self) -> int | None:
        """The call of the one request that is being served; None where there is none, or more than one."""
        served = self._chains.served(CALL.get())
        return None if served is None else served.call

    def take(self, call: Hashable | None, *, context_known: bool = True) -> tuple[Site | None, Loop | None]:
        """Where the request that is being sent comes from, and the loop that sent it if its call has sent one before.

        Args:
            call: The key of the requests that may be each other's repetitions: a call's number, or more. None for a
                request that repeats nothing, which costs least.
            context_known: Whether the context of the running code names the call. If not, the request was matched with
                the call by its arguments, and a worker may send it that all calls share. Its loop is found all the
                same, but is given no depth: how it lies to the other loops of the call cannot be seen.
        """
        frame = sys._getframe(1)  # not this one: a frame that knows itself is garbage for the collector
        if call is None:
            own = own_frame(frame, self._own)
            return (self._sender(self._chains.of(frame, CALL.get())) if own is None else site_of(own)), None
        chain, spliced = self._chains.through_servers(frame, CALL.get())
        before = self._before.get(call)
        self._before[call] = {frame for _, frames in chain for frame in frames}
        loop = None if before is None else _innermost_shared(before, chain, context_known or spliced)
        return self._sender(chain), loop

    def _sender(self, chain: Chain) -> Site | None:
        """The innermost place in the client's own code, or the entry into the library where all is a library's."""
        frame = None
        for _, frames in chain:
            for frame in frames:
                if is_own(frame, self._own):
                    return site_of(frame)
        return None if frame is None else site_of(frame)

    def clear(self) -> None:
        """Let go of every frame and task."""
        self._before.clear()
        self._tree.clear()


def _innermost_shared(before: set[FrameType], chain: Chain, depth_known: bool) -> Loop | None:
    """The loop that came back: the innermost frame of a chain that was there before.

    The loop of a retry library says little of itself. It is named by the function that it retries.
    """
    for level, frames in chain:
        for place, frame in enumerate(frames):
            if frame in before:
                depth = (level, len(frames) - 1 - place) if depth_known else None
                found = retried(frame)
                if found is not None:
                    code, library = found
                    return Loop(code.co_filename, code.co_firstlineno, code.co_name, depth, library)
                code = frame.f_code
                return Loop(code.co_filename, frame.f_lineno, code.co_name, depth)
    return None
