"""The harness's own tasks: one interface for asyncio and trio. A key names a task, to cancel it as a caller would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import anyio
import anyio.lowlevel


class Settled(Protocol):
    """An event of either loop."""

    def is_set(self) -> bool: ...

    def set(self) -> None: ...

    async def wait(self) -> Any: ...


class Waits(NamedTuple):
    """How to wait on one loop.

    Attributes:
        event: Makes an event.
        checkpoint: Lets the other tasks have a turn.
    """

    event: Callable[[], Settled]
    checkpoint: Callable[[], Awaitable[None]]


ANY_LOOP = Waits(anyio.Event, anyio.lowlevel.checkpoint)
"""Works on both loops, but looks up the running one each time."""
_ASYNCIO = Waits(asyncio.Event, partial(asyncio.sleep, 0))


def waits_of(backend: str) -> Waits:
    """How to wait on the loop of that name."""
    if backend == "asyncio":
        return _ASYNCIO
    import trio

    return Waits(trio.Event, anyio.lowlevel.checkpoint)  # a client may send from an asyncio loop in a thread


class AsyncioTasks:
    """Tasks of asyncio, cancelled by `Task.cancel`."""

    def __init__(self) -> None:
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    def start(self, key: Any, function: Callable[[], Any]) -> None:
        self._tasks[key] = asyncio.get_running_loop().create_task(function())

    def cancel(self, key: Any) -> None:
        if key in self._tasks:
            self._tasks[key].cancel()

    def cancel_all(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def owns(self, task: Any) -> bool:
        return task in self._tasks.values()


class TrioTasks:
    """Tasks of one trio nursery, each cancelled by a scope of its own."""

    def __init__(self, nursery: Any, scope: Callable[[], Any]) -> None:
        self._nursery, self._new_scope = nursery, scope
        self._scopes: dict[Any, Any] = {}

    def start(self, key: Any, function: Callable[[], Any]) -> None:
        scope = self._scopes[key] = self._new_scope()

        async def run() -> None:
            with scope:
                await function()

        self._nursery.start_soon(run)

    def cancel(self, key: Any) -> None:
        if key in self._scopes:
            self._scopes[key].cancel()

    def cancel_all(self) -> None:
        self._nursery.cancel_scope.cancel()

    def owns(self, task: Any) -> bool:
        return True


@contextlib.asynccontextmanager
async def task_group(backend: str) -> AsyncIterator[Any]:
    """A block for tasks on the running loop.

    Its end does not wait for them on asyncio. A trio nursery does, so they have to be cancelled there first.
    """
    if backend == "asyncio":
        yield AsyncioTasks()
        return
    import trio

    async with trio.open_nursery() as nursery:
        yield TrioTasks(nursery, trio.CancelScope)


def is_cancellation(error: BaseException, backend: str) -> bool:
    """Whether an exception is the one with which this loop cancels a task."""
    if backend == "asyncio":
        return isinstance(error, asyncio.CancelledError)
    import trio

    return isinstance(error, trio.Cancelled)
