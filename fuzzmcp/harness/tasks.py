"""The harness's own tasks: one interface for asyncio and trio. A key names a task, to cancel it as a caller would."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
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


class Backend(Protocol):
    """One of the event loops that a run can be on."""

    @property
    def waits(self) -> Waits:
        """How one waits on it."""

    def tasks(self) -> contextlib.AbstractAsyncContextManager[Any]:
        """The harness's own tasks, started by key; at the end of the block they are cancelled or left behind."""

    def is_cancellation(self, error: BaseException) -> bool:
        """Whether an exception is how it cancels a task."""

    def cancelled_from_outside(self, error: BaseException) -> bool:
        """Whether it is the cancellation of a scope around the code that it leaves."""


class AsyncioBackend:
    """Tasks are cancelled as callers do it, with `Task.cancel`."""

    waits = Waits(asyncio.Event, partial(asyncio.sleep, 0))

    def tasks(self) -> contextlib.AbstractAsyncContextManager[AsyncioTasks]:
        return contextlib.nullcontext(AsyncioTasks())

    def is_cancellation(self, error: BaseException) -> bool:
        return isinstance(error, asyncio.CancelledError)

    def cancelled_from_outside(self, error: BaseException) -> bool:
        return False  # anybody can raise it


class TrioBackend:
    """Tasks are cancelled by a scope around each."""

    @property
    def waits(self) -> Waits:
        import trio

        return Waits(trio.Event, anyio.lowlevel.checkpoint)  # a client may send from a loop of asyncio's in a thread

    @contextlib.asynccontextmanager
    async def tasks(self) -> Any:
        import trio

        async with trio.open_nursery() as nursery:
            yield TrioTasks(nursery, trio.CancelScope)

    def is_cancellation(self, error: BaseException) -> bool:
        import trio

        return isinstance(error, trio.Cancelled)

    def cancelled_from_outside(self, error: BaseException) -> bool:
        return self.is_cancellation(error)  # no other scope lets it through


BACKEND_TABLE: dict[str, Backend] = {"asyncio": AsyncioBackend(), "trio": TrioBackend()}
"""One row for each of `fuzzmcp.core.protocol.BACKENDS`."""


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
