"""What a client is given for its server, and the ways in which it can be joined to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, asynccontextmanager
from typing import Any, NoReturn

from anyio.abc import Process

from fuzzmcp.core.protocol import MEMORY, STDIO
from fuzzmcp.harness.transports.fake_process import open_process
from fuzzmcp.harness.transports.sdk_stdio import over_stdio, process_of
from fuzzmcp.harness.transports.streams import LINES, MESSAGES, Form, Inbox, Outbox
from fuzzmcp.harness.transports.wire import Wire

Connection = AbstractAsyncContextManager[tuple[Any, Any]]
"""An async context manager of `(read, write)`: what SDK 2.x calls a Transport."""
Connect = Callable[[Wire, ExitStack], Connection]
"""Makes a connection of a run; what is pushed on the stack is done at the end of the run."""


@asynccontextmanager
async def over_streams(wire: Wire, form: Form) -> AsyncIterator[tuple[Inbox, Outbox]]:
    """A connection of two streams within this process, which carry items of that form."""
    inbox = Inbox(form, wire.main_thread.event_maker())
    outbox, _ = wire.attach(inbox, lambda connection: Outbox(wire, connection, form))
    try:
        yield inbox, outbox
    finally:
        outbox.close()
        inbox.close()


CONNECT: dict[str, Connect] = {
    MEMORY: lambda wire, ends: over_streams(wire, MESSAGES),
    STDIO: over_stdio,
}
"""How `server.connect()` joins client and server, by the name of the case's transport: one row for each transport of
`fuzzmcp.core.protocol.TRANSPORT_TABLE`."""


class Server:
    """The fake server of a run, as a client is given it.

    Args:
        wire: Joins it to the client.
        ends: Closed at the end of the run: it ends what a client has begun and not ended.
    """

    def __init__(self, wire: Wire, ends: ExitStack) -> None:
        self._wire, self._ends, self._transport = wire, ends, wire.case.transport

    def connect(self) -> Connection:
        """A new connection to the same fake, by the transport of the case."""
        return CONNECT[self._transport](self._wire, self._ends)

    def lines(self) -> AbstractAsyncContextManager[tuple[Inbox, Outbox]]:
        """The same for a client without the SDK: every item is a line of text, one JSON text each, as over stdio."""
        return over_streams(self._wire, LINES)

    def process(self) -> AbstractContextManager[None]:
        """A block in which the SDK's stdio client, in whichever thread it is used, starts a fake process.

        For frameworks that start their server themselves: the command that they are given is never run.
        """
        return process_of(self._wire, self._ends)

    async def open_process(self, *_: Any, **__: Any) -> Process:
        """A fake child process, for a client that starts its server itself: in place of `anyio.open_process`."""
        return await open_process(self._wire)

    def transport(self, *_: Any) -> NoReturn:
        """Not here but on an `Upstream`: say so to a function of an HTTP backend that was taken for an MCP client."""
        hint = "a function of an HTTP backend says so by its parameter's annotation, as 'backend: Upstream'"
        raise TypeError(f"this is an MCP server, with connect(), lines() and process(): {hint}")

    adapter = transport
