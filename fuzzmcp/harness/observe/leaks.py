"""What a client leaves behind when its session is closed: tasks, threads, streams, exceptions that nobody retrieved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from fuzzmcp.core.trace import Leak
from fuzzmcp.harness.clock import failed_unseen


class Leftovers:
    """Keeps the tasks that a client starts in one run, and what it is found to leave behind."""

    def __init__(self) -> None:
        self.leaks: list[Leak] = []
        self._tasks: list[Any] = []

    def note(self, kind: Any, what: str) -> None:
        """Write down something that was left behind."""
        self.leaks.append(Leak(kind, what))

    def started(self, task: Any) -> None:
        """The client has started a task, of asyncio."""
        self._tasks.append(task)

    def raised(self, context: dict[str, Any]) -> None:
        """An exception that nobody retrieved, as asyncio tells its exception handler."""
        error = context.get("exception")
        what = f"{type(error).__name__}: {error}" if error is not None else ""
        self.note("exception", f"{context.get('message', '')}: {what}".strip(": "))

    def running(self, ours: Callable[[Any], bool]) -> list[Any]:
        """The client's tasks that still run; `ours` says which are not the client's."""
        running = [task for task in self._tasks if not task.done() and not ours(task)]
        return [task for task in running if task is not asyncio.current_task()]

    def look(self, ours: Callable[[Any], bool], threads: Iterable[str], streams: Iterable[tuple[Any, Any]]) -> None:
        """Write down every task that runs, every thread that lives and every stream that is open."""
        for task in self.running(ours):
            self.note("task", _name(task))
        for name in threads:
            self.note("thread", name)
        for number, (inbox, outbox) in enumerate(streams):
            if not outbox.closed or not inbox.closed:
                self.note("stream", f"connection {number} was never closed")

    def forget_tasks(self) -> bool:
        """Let go of the tasks; says whether one has failed and nobody has asked why."""
        failed = any(map(failed_unseen, self._tasks))
        self._tasks.clear()
        return failed


def _name(task: Any) -> str:
    coroutine = task.get_coro()
    code = getattr(coroutine, "cr_code", None)
    where = f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code else ""
    return f"{getattr(coroutine, '__qualname__', coroutine)}{where}"
