"""The stack of a request beyond the running task: up through the tasks and threads that it comes from.

A chain has one segment for each task or thread, the innermost first. A segment has a level, the number of tasks and
threads above it, and the client's frames there, again the innermost first. This code

    async def call_tool(...):                     # the task of the call: level 0
        async with anyio.create_task_group() as group:
            group.start_soon(fetch)               # a task of its own: level 1

sends from `fetch`, and its chain is `(1, [fetch]), (0, [call_tool])`. A level and a place in its segment say how deep a
frame lies in the whole of the call, however many tasks there are. The five ways from one segment to the next outer one:

* **A task** goes on in the task that started it (`TaskTree`). That one is suspended, or this one would not run, so its
  frames are those of its coroutine and of what that awaits. It may have gone deeper since. So only as many frames count
  as it had when it started this one.
* **A thread** goes on in the task in which its call began. A thread has no parent that could be asked, but it inherits
  the number of its call by its context.
* **A task for which a thread asked**, by `run_coroutine_threadsafe` and its kind, goes on in that thread, and from
  there in the task of the call. Which thread asked is not recorded. So it is shown only if just one is at work.
* **A trio task for which a thread asked** is special: trio runs what the thread asks for in the task that waits for
  this thread, on top of its stack. So one stack has both ends there: the frames inside, the thread, the frames outside.
* **A server in this process** goes on in the request that it serves: see `Chains._spliced`.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from fuzzmcp.harness.observe.stack_frames import asked_by_a_thread, asking_thread, coroutine_of, running, suspended
from fuzzmcp.harness.observe.task_tree import Ancestor, TaskTree, current_task

Segment = tuple[int, list[FrameType]]
"""One task or thread: its level, and the client's frames in it, innermost first."""

Chain = list[Segment]
"""Where a request comes from, innermost segment first."""


class Chains:
    """Builds the chain of the running code.

    Args:
        tree: Which task started which, for as long as the run lasts.
    """

    def __init__(self, tree: TaskTree) -> None:
        self._tree = tree
        self._roots: dict[int | None, weakref.ref[Any]] = {}
        self._served: list[_Served] = []

    def call_started(self, call: int | None) -> None:
        """The running task begins with a call."""
        task = current_task()
        if task is not None:
            self._roots[call] = weakref.ref(task)

    @contextmanager
    def serving(self, call: int | None) -> Iterator[None]:
        """While the block runs, the running task waits for a server in this process, on behalf of a call."""
        served = _Served(weakref.ref(current_task()), call, self._tree.started)
        self._served.append(served)
        try:
            yield
        finally:
            self._served.remove(served)

    def served(self, call: int | None) -> _Served | None:
        """The request that is being served for a call, or for any call if None. None unless it is just one."""
        found = [served for served in self._served if call is None or served.call == call]
        return found[0] if len(found) == 1 else None

    def of(self, frame: FrameType, call: int | None) -> Chain:
        """The chain of the running code, as far as its task and its threads lead.

        Args:
            frame: Where its stack begins.
            call: The call that its context names.
        """
        task = current_task()
        return [*self._segments(task, frame), *self._outside(task, call)]

    def through_servers(self, frame: FrameType, call: int | None) -> tuple[Chain, bool]:
        """The same, and on from a server in this process into the request that it serves; says whether it went on."""
        if self._served:
            chain = self._spliced(frame, call)
            if chain is not None:
                return chain, True
        return self.of(frame, call), False

    def _segments(self, task: Any, frame: FrameType) -> Chain:
        """The segments of the running code itself: one, but three where a trio task runs something for a thread."""
        if task is None:
            return [(1, running(frame))]
        level = self._tree.level(task)
        both_ends = None if isinstance(task, asyncio.Task) else asked_by_a_thread(frame)
        if both_ends is None:
            return [(level, running(frame))]
        inside, outside = both_ends
        return [(level + 2, inside), (level + 1, asking_thread()), (level, outside)]

    def _outside(self, task: Any, call: int | None) -> Chain:
        """The segments outside of the running task, or of the running thread if there is no task."""
        if task is None:
            return self._root(call)
        chain = []
        for ancestor in self._tree.lineage(task):
            chain.append(_segment(ancestor))
            if ancestor.task is None:
                chain += self._root(call)
        return chain

    def _root(self, call: int | None) -> Chain:
        """The task in which a call began."""
        reference = self._roots.get(call)
        task = None if reference is None else reference()
        return [] if task is None else [(0, _waiting(task))]

    def _spliced(self, frame: FrameType, call: int | None) -> Chain | None:
        """The chain of a server in this process, spliced onto that of the request which it serves.

        A fuzzed agent may ask a real server that runs in the same loop. The tool of that server sends requests of its
        own, over HTTP perhaps, with retry layers of its own. They multiply with those of the agent, so the chain has
        to lead from the tool into the agent. Nothing in the runtime connects the two: between them is a queue.

            the task of the call                       tasks of the server
            --------------------                       -------------------
            agent's retry loop         (0)             main loop: "take the next request"      (0)
              waits for the server  - - - queue - - ->    |
                                                          +-- a task for this request          (1)
                                                                tool's retry loop
                                                                  sends over HTTP

        The harness knows both ends. `serving` has noted the waiting task, and how many tasks there were at that time.
        So the server's tasks split in two. Those that are younger than the request work for it, and hang below the
        waiting task. The older ones wait for requests all day. Their frames are layers of no call, and are cut off. The
        chain of the drawing becomes: the task for this request (1), the task of the call (0).

        None, for nothing to splice, where

        * none or several requests are being served for this call: which one it is would be a guess;
        * the chain leads into the waiting task, or into the task of any call, by itself;
        * the running task is older than the request: a worker that serves all requests. What it does now may be for
          any of them, so its frames must not be shown below the agent's.
        """
        served = self.served(call)
        waiting = None if served is None else served.task()
        if served is None or waiting is None:
            return None
        task = current_task()
        ancestors = [] if task is None else list(self._tree.lineage(task))
        tasks = [task, *(ancestor.task for ancestor in ancestors)]
        roots = [] if task is None else [root() for root in self._roots.values()]
        if waiting in tasks or any(root is not None and root in tasks for root in roots):
            return None
        # None is a thread. What a thread does, or asks for, while one request is served, it does for that request.
        younger = [one is None or self._tree.is_younger(one, served.tasks_before) for one in tasks].count(True)
        if not younger:
            return None
        own = [*self._segments(task, frame), *map(_segment, ancestors[: younger - 1])]
        level = self._tree.level(waiting)
        outermost, _ = own[-1]
        lower = level + 1 - outermost
        return [
            *((own_level + lower, frames) for own_level, frames in own),
            (level, _waiting(waiting)),
            *self._outside(waiting, call),
        ]


@dataclass(frozen=True, slots=True)
class _Served:
    """A request that a server in this process works on.

    Attributes:
        task: Waits for the answer.
        call: The request belongs to it.
        tasks_before: How many tasks the run had started when the request was sent.
    """

    task: weakref.ref[Any]
    call: int | None
    tasks_before: int


def _waiting(task: Any) -> list[FrameType]:
    """The client's frames in a task that is suspended, innermost first."""
    return list(suspended(coroutine_of(task)))[::-1]


def _segment(ancestor: Ancestor) -> Segment:
    if ancestor.task is None:
        return ancestor.level, asking_thread()
    frames = list(suspended(coroutine_of(ancestor.task)))[: ancestor.frames]
    return ancestor.level, frames[::-1]
