"""Clients that block their caller: each of their calls gets a thread of its own."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any

import anyio.to_thread


class BlockingCall:
    """`call_tool` of a client that blocks: the harness awaits it while it works in a thread.

    A thread cannot be cancelled, so the harness never cancels such a call. If it gives a call up, the thread goes on
    until the run ends.
    """

    cancellable = False

    def __init__(self, call_tool: Callable[[str, dict[str, Any]], Any]) -> None:
        self._call_tool = call_tool

    async def __call__(self, tool: str, arguments: dict[str, Any]) -> Any:
        return await in_thread(self._call_tool, tool, arguments)


def threaded(
    connect: Callable[..., AbstractContextManager[Callable[[str, dict[str, Any]], Any]]],
) -> Callable[..., AbstractAsyncContextManager[BlockingCall]]:
    """Make a client of a synchronous context manager that yields a synchronous `call_tool`.

    Entering, leaving and each call run in a thread. Their waits take virtual time. The client may run event loops in
    threads of its own.

    Args:
        connect: A client, with the decorator `contextlib.contextmanager`.

    >>> from contextlib import contextmanager
    >>> @contextmanager
    ... def connect(server):
    ...     yield lambda tool, arguments: f"{tool} was called"
    >>> async def main():
    ...     async with threaded(connect)(None) as call_tool:
    ...         return await call_tool("get_order", {})
    >>> anyio.run(main)
    'get_order was called'
    """

    @functools.wraps(connect)
    @asynccontextmanager
    async def connected(*given: Any, **more: Any) -> AsyncIterator[BlockingCall]:
        session = connect(*given, **more)
        call_tool = await in_thread(session.__enter__)
        if not callable(call_tool):
            raise TypeError(
                f"a client yields call_tool, (tool, arguments); this one yields: {type(call_tool).__name__}"
            )
        try:
            yield BlockingCall(call_tool)
        except BaseException as error:
            if not await in_thread(session.__exit__, type(error), error, error.__traceback__):
                raise
        else:
            await in_thread(session.__exit__, None, None, None)

    return connected


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a thread. The thread goes on by itself if the caller is cancelled."""
    return await anyio.to_thread.run_sync(functools.partial(function, *arguments), abandon_on_cancel=True)
