"""Leaks: tasks, threads, streams and unretrieved exceptions that are left when a client's session is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Literal

from fuzzmcp.core.trace import Leak
from fuzzmcp.harness.clock import failed_unseen


class Leaks:
    """Keeps the tasks that a client starts in one run, and finds its leaks."""

    def __init__(self) -> None:
        self.found: list[Leak] = []
        self._tasks: list[Any] = []

    def note(self, kind: Literal["task", "thread", "stream", "exception", "shutdown"], what: str) -> None:
        """Add a leak."""
        self.found.append(Leak(kind, what))

    def task_started(self, task: Any) -> None:
        """The client has started a task of asyncio. Trio needs no such list: its tasks cannot outlive their nursery."""
        self._tasks.append(task)

    def exception_unretrieved(self, context: dict[str, Any]) -> None:
        """Add an exception that was never retrieved.

        Args:
            context: As for an exception handler of asyncio.
        """
        error = context.get("exception")
        what = f"{type(error).__name__}: {error}" if error is not None else ""
        self.note("exception", f"{context.get('message', '')}: {what}".strip(": "))

    def running_tasks(self, ours: Callable[[Any], bool]) -> list[Any]:
        """The client's tasks that still run.

        Args:
            ours: Whether a task is the harness's.
        """
        running = [task for task in self._tasks if not task.done() and not ours(task)]
        return [task for task in running if task is not asyncio.current_task()]

    def look(self, ours: Callable[[Any], bool], threads: Iterable[str], streams: Iterable[tuple[Any, Any]]) -> None:
        """Add every task that still runs, every thread that lives and every stream that is open.

        Args:
            ours: Whether a task is the harness's.
            threads: Names of the client's threads that live.
            streams: Both ends of each connection.
        """
        for task in self.running_tasks(ours):
            self.note("task", _name(task))
        for name in threads:
            self.note("thread", name)
        for number, (inbox, outbox) in enumerate(streams):
            if not outbox.closed or not inbox.closed:
                self.note("stream", f"connection {number} was never closed")

    def forget_tasks(self) -> bool:
        """Let go of the tasks. True if one has failed and its exception was not retrieved yet."""
        failed = any(map(failed_unseen, self._tasks))
        self._tasks.clear()
        return failed


def _name(task: Any) -> str:
    coroutine = task.get_coro()
    code = getattr(coroutine, "cr_code", None)
    where = f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code else ""
    return f"{getattr(coroutine, '__qualname__', coroutine)}{where}"
