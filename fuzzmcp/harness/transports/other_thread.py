"""Connections that are used by an event loop of another thread: what comes from the main one must be handed over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import get_ident
from typing import Any, Protocol, TypeVar

import anyio

T = TypeVar("T")


class Home(Protocol):
    """What is needed of the virtual clock."""

    def on_loop(self, callback: Callable[[], None]) -> None: ...


class ThreadEvent:
    """An event for the event loop of the thread that makes it, which any other may set."""

    def __init__(self) -> None:
        self._event, self._thread, self._call_soon = anyio.Event(), get_ident(), _call_soon()

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        if get_ident() == self._thread:
            self._event.set()
        else:
            with suppress(RuntimeError):  # that loop is closed: nobody waits any more
                self._call_soon(self._event.set)

    async def wait(self) -> None:
        await self._event.wait()


def _call_soon() -> Callable[..., Any]:
    """Of the running loop: what another thread may call to have something called there."""
    try:
        return asyncio.get_running_loop().call_soon_threadsafe
    except RuntimeError:
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon


async def ask_at_home(home: Home, ask: Callable[[dict[str, Any]], Awaitable[T]], parameters: dict[str, Any]) -> T:
    """Await `ask(parameters)` on the main loop, from the loop of another thread."""
    answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    soon = asyncio.get_running_loop().call_soon_threadsafe

    async def job() -> None:
        try:
            value = await ask(parameters)
        except BaseException as error:
            _settle(soon, answer.set_exception, answer, error)
            if not isinstance(error, Exception):
                raise
        else:
            _settle(soon, answer.set_result, answer, value)

    home.on_loop(lambda: _start(job))
    return await answer


def _settle(soon: Callable[..., Any], settle: Callable[[Any], None], answer: asyncio.Future[Any], value: Any) -> None:
    with suppress(RuntimeError):  # that loop is closed: nobody waits any more
        soon(_unless_done, settle, answer, value)


def _unless_done(settle: Callable[[Any], None], answer: asyncio.Future[Any], value: Any) -> None:
    if not answer.done():
        settle(value)


_jobs: set[asyncio.Task[None]] = set()


def _start(job: Callable[[], Any]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        trio.lowlevel.spawn_system_task(job)
        return
    task = loop.create_task(job())
    _jobs.add(task)
    task.add_done_callback(_jobs.discard)
