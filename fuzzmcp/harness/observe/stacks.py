"""Where the requests of a client come from, seen without its help: code locations, and the places that loop."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

from fuzzmcp.core.package import is_ours
from fuzzmcp.core.trace import Loop, Site
from fuzzmcp.harness.observe.retry_libraries import retried
from fuzzmcp.harness.observe.stack_frames import (
    asked_by_a_thread,
    asking_thread,
    coroutine_of,
    coroutines,
    is_own,
    own_frame,
    running,
    site_of,
    suspended,
)

CALL: ContextVar[int | None] = ContextVar("fuzzmcp_call", default=None)
"""The call that the running code works for. Set around each call, inherited by the tasks it starts."""

STACKS: ContextVar[Stacks | None] = ContextVar("fuzzmcp_stacks", default=None)
"""The stacks of the run that the running code belongs to, for whoever else records requests in it."""


class Stacks:
    """Takes the stack of each request, and names the code that sent it and the place that came back to send it again.

    Of a coroutine the frame object stays the same for as long as it lives. So the innermost frame that two successive
    requests of one call share is the one that looped. A stack goes on into the task that started the running one, and
    from a thread into the call that the thread works for, from a server in this process into the request that it
    serves. Frames are compared while both are alive, and let go with `clear`: no frame outlives its run.

    The task factory of the run says who made a task, on every Python and on both loops, also when the maker has gone on
    or has ended since. `asyncio.capture_call_graph` of Python 3.14 would tell less: it knows who awaits a task at this
    moment, and a task that nobody awaits has no caller there.
    """

    def __init__(self, own_files: tuple[str, ...] = ()) -> None:
        self._own = own_files
        self._births: dict[Any, _Birth] = {}
        self._roots: dict[int | None, weakref.ref[Any]] = {}
        self._before: dict[Hashable, set[FrameType]] = {}
        self._served: list[_Served] = []
        self._born = 0

    def call_started(self) -> None:
        """The running task begins with the call that its context names."""
        task = _current_task()
        if task is not None:
            self._roots[CALL.get()] = weakref.ref(task)

    def task_started(self, task: Any, parent: Any) -> None:
        """Remember who started a task, so that a stack can go on across tasks.

        Args:
            task: The new task, of either loop.
            parent: The task that was running when it was made, or None.
        """
        code = getattr(coroutine_of(task), "cr_code", None)
        if code is not None and is_ours(code.co_filename):
            return
        self._born += 1
        if parent is not None:
            frames = coroutines(sys._getframe(1))
            self._births[task] = _Birth(weakref.ref(parent), frames, self._level(parent) + 1, self._born)
        elif CALL.get() is not None:  # a thread has asked the loop for it
            self._births[task] = _Birth(None, 0, 2, self._born)

    def watch_trio(self) -> None:
        """Be told of each new task of the trio run that is going on."""
        import trio

        stacks = self

        class Births(trio.abc.Instrument):
            def task_spawned(self, task: Any) -> None:
                with suppress(RuntimeError):  # nobody runs: trio itself has made it
                    stacks.task_started(task, trio.lowlevel.current_task())

        trio.lowlevel.add_instrument(Births())

    @contextmanager
    def serving(self, call: int | None) -> Iterator[None]:
        """While the block runs, the running task waits for a server in this process: what that sends lies below it.

        Args:
            call: The call that the request belongs to.
        """
        served = _Served(weakref.ref(_current_task()), call, self._born)
        self._served.append(served)
        try:
            yield
        finally:
            self._served.remove(served)

    def call_served(self) -> int | None:
        """The call of the one request that is being served; None where there is none, or more than one."""
        served = self._being_served()
        return None if served is None else served.call

    def take(self, call: Hashable | None, *, context_known: bool = True) -> tuple[Site | None, Loop | None]:
        """Where the running request comes from, and the place that looped if its call has sent one before.

        Args:
            call: The call that the request belongs to, or None. Whoever counts requests of another kind has another
                key for them.
            context_known: Whether the running code works for the call, as its context says. One that does not, such as a worker
                behind a queue, is not below what asked for the request.
        """
        frame = sys._getframe(1)
        if call is None:
            own = own_frame(frame, self._own)
            return (self._sender(self._chain(frame)) if own is None else site_of(own)), None
        chain = self._chain(frame)
        if self._served:
            chain, spliced = self._spliced(chain)
            context_known = context_known or spliced
        site = self._sender(chain)
        before = self._before.get(call)
        self._before[call] = {frame for _, frames in chain for frame in frames}
        return site, None if before is None else _innermost_shared(before, chain, context_known)

    def _sender(self, chain: _Chain) -> Site | None:
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
        self._births.clear()

    def _chain(self, frame: FrameType | None) -> _Chain:
        """The client's frames, innermost first, task by task: the running one, and those that it comes from."""
        task = _current_task()
        here = running(frame)
        if task is None:  # a thread
            return [(1, here), *self._root()]
        level = self._level(task)
        asked = None if isinstance(task, asyncio.Task) else asked_by_a_thread(frame)
        if asked is None:
            return [(level, here), *self._above(task)]
        return [(level + 2, asked[0]), (level + 1, asking_thread()), (level, asked[1]), *self._above(task)]

    def _above(self, task: Any) -> _Chain:
        """The client's frames above a task: of the tasks that it comes from."""
        chain: _Chain = []
        for child, parent in self._lineage(task):
            birth = self._births[child]
            if parent is None:
                return [*chain, (1, asking_thread()), *self._root()]
            frames = list(suspended(coroutine_of(parent)))[: birth.frames]
            chain.append((birth.level - 1, frames[::-1]))
        return chain

    def _lineage(self, task: Any) -> Iterator[tuple[Any, Any]]:
        """Each task that this one comes from, behind the one that it has started; None for a thread that asked."""
        while (birth := self._births.get(task)) is not None:
            parent = None if birth.parent is None else birth.parent()
            if birth.parent is not None and parent is None:
                return
            yield task, parent
            if parent is None:
                return
            task = parent

    def _spliced(self, chain: _Chain) -> tuple[_Chain, bool]:
        """The chain of a server in this process, down from what asked for the request that it serves.

        A server that does not run its tools in the asking task has one of its own, older than the request. What it
        started for the request is below it; the loop in which it waits for requests is no layer of anybody.
        """
        task, served = _current_task(), self._being_served()
        asking = None if served is None else served.task()
        lineage = [] if task is None else list(self._lineage(task))
        above = [task, *(parent for _, parent in lineage)]
        if asking in above or any(root() in above for root in self._roots.values() if task is not None):
            return chain, False
        if served is None or asking is None:
            return chain, False
        younger = sum(1 for one in above if one is None or self._number(one) > served.number)
        if not younger:
            return chain, False
        own = chain[: younger - 1 + (1 if task is None else len(chain) - len(self._above(task)))]
        base = self._level(asking) + 1 - own[-1][0]
        own = [(level + base, frames) for level, frames in own]
        frames = list(suspended(coroutine_of(asking)))[::-1]
        return [*own, (self._level(asking), frames), *self._above(asking)], True

    def _being_served(self) -> _Served | None:
        """The request that is being served for the running code, if there is just one that it can be."""
        call = CALL.get()
        found = [served for served in self._served if call is None or served.call == call]
        return found[0] if len(found) == 1 else None

    def _number(self, task: Any) -> int:
        birth = self._births.get(task)
        return 0 if birth is None else birth.number

    def _root(self) -> _Chain:
        """The task that the call of the running thread began in."""
        reference = self._roots.get(CALL.get())
        task = None if reference is None else reference()
        return [] if task is None else [(0, list(suspended(coroutine_of(task)))[::-1])]

    def _level(self, task: Any) -> int:
        birth = self._births.get(task)
        return 0 if birth is None else birth.level


@dataclass(frozen=True, slots=True)
class _Birth:
    """How a task came into being: by whom, how many frames of that one lay above it, how deep it lies, in what turn."""

    parent: weakref.ref[Any] | None
    frames: int
    level: int
    number: int


@dataclass(frozen=True, slots=True)
class _Served:
    """A request that a server in this process works on: the task that waits, its call, and the tasks there were."""

    task: weakref.ref[Any]
    call: int | None
    number: int


_Chain = list[tuple[int, list[FrameType]]]
"""The frames of each task that a request comes from, innermost first, each with the number of tasks above it."""


def _current_task() -> Any:
    """The running task of this thread, asyncio's or trio's, or None."""
    with suppress(RuntimeError):
        return asyncio.current_task()
    trio = sys.modules.get("trio")
    if trio is not None:
        with suppress(RuntimeError):
            return trio.lowlevel.current_task()
    return None


def _innermost_shared(before: set[FrameType], chain: _Chain, context_known: bool) -> Loop | None:
    """The innermost frame that was there before: by a retry library's loop, the function that it retries."""
    for level, frames in chain:
        for place, frame in enumerate(frames):
            if frame in before:
                depth = (level, len(frames) - 1 - place) if context_known else None
                found = retried(frame)
                if found is not None:
                    code, library = found
                    return Loop(code.co_filename, code.co_firstlineno, code.co_name, depth, library)
                code = frame.f_code
                return Loop(code.co_filename, frame.f_lineno, code.co_name, depth)
    return None
