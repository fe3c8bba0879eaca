"""Which task started which: a stack goes on from a task into the one that started it."""

from __future__ import annotations

import asyncio
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

from fuzzmcp.harness.observe.stack_frames import coroutines


class TaskTree:
    """The tasks of a run, each with what started it: another task, or a thread.

    The loop of the run reports each new task. So the tree is the same on every Python and on both loops, and it still
    knows a parent that does something else by now. `asyncio.capture_call_graph` of Python 3.14 would tell less: it
    knows who awaits a task at this moment, and a task that nobody awaits has no caller there.
    """

    def __init__(self) -> None:
        self._origins: dict[Any, _Origin] = {}
        self.started = 0
        """How many tasks were added so far."""

    def add(self, task: Any, parent: Any, frame: FrameType) -> None:
        """Another task has started this one.

        Args:
            task: The new task.
            parent: The task that was running then.
            frame: The innermost frame of the parent.
        """
        self.started += 1
        self._origins[task] = _Origin(weakref.ref(parent), coroutines(frame), self.level(parent) + 1, self.started)

    def add_for_thread(self, task: Any) -> None:
        """A thread has asked the loop for this task. The thread lies below the call, and the task below the thread."""
        self.started += 1
        self._origins[task] = _Origin(None, 0, 2, self.started)

    def level(self, task: Any) -> int:
        """How many tasks and threads lie above a task; 0 for one that is not in the tree."""
        origin = self._origins.get(task)
        return 0 if origin is None else origin.level

    def is_younger(self, task: Any, than: int) -> bool:
        """Whether a task was added when there were `than` already. One that is not in the tree is as old as the run."""
        origin = self._origins.get(task)
        return origin is not None and origin.number > than

    def lineage(self, task: Any) -> Iterator[Ancestor]:
        """The ancestors of a task, from its parent outwards, up to a thread or to a task that is not in the tree."""
        while (origin := self._origins.get(task)) is not None:
            if origin.parent is None:
                yield Ancestor(None, origin.level - 1, 0)
                return
            task = origin.parent()
            if task is None:
                return
            yield Ancestor(task, origin.level - 1, origin.parent_frames)

    def clear(self) -> None:
        """Let go of every task."""
        self._origins.clear()


class Ancestor(NamedTuple):
    """A task, or a thread, that a task comes from.

    Attributes:
        task: None for a thread: which one it is was not recorded.
        level: How many tasks and threads lie above it.
        frames: How many coroutines of its client lay on its stack when it started the next one.
    """

    task: Any
    level: int
    frames: int


@dataclass(frozen=True, slots=True)
class _Origin:
    """How a task came to be.

    Attributes:
        parent: The task that started it; None for a thread.
        parent_frames: How many coroutines of the client lay on the parent's stack then.
        level: How many tasks and threads lie above it.
        number: It was the task of this number.
    """

    parent: weakref.ref[Any] | None
    parent_frames: int
    level: int
    number: int


def current_task() -> Any:
    """The running task of this thread, asyncio's or trio's, or None."""
    with suppress(RuntimeError):
        return asyncio.current_task()
    trio = sys.modules.get("trio")
    if trio is not None:
        with suppress(RuntimeError):
            return trio.lowlevel.current_task()
    return None
