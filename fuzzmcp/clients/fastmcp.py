"""FastMCP's `Client`, 3.x (on mcp 1.x) and 4.x (on mcp 2.x).

    fuzzmcp run fuzzmcp.clients.fastmcp:connect

The defaults: no timeout of a call, so one that is never answered waits for ever; no retry. It needs asyncio.

Execution errors raise `ToolError` with the server's text. Protocol errors raise the SDK's `McpError` or `MCPError`, a
result that is no result raises pydantic's `ValidationError`, and one that breaks the tool's `outputSchema` a
`RuntimeError`. Where the session is gone, a call raises `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import ClientTransport
from mcp import ClientSession

from fuzzmcp.core.contract import Contract

contract = Contract(
    accepts=(
        "ToolError",
        "McpError",
        "MCPError",
        "ValidationError",
        "RuntimeError",
        "ClosedResourceError",
        "BrokenResourceError",
    )
)


class Transport(ClientTransport):
    """Makes FastMCP's sessions on the server's streams."""

    def __init__(self, server: Any) -> None:
        self.server = server

    @asynccontextmanager
    async def connect_session(self, *, transport_options: Any = None, **session_options: Any) -> AsyncIterator[Any]:
        """A session of the class that FastMCP asks for, not yet initialized."""
        session_class = getattr(transport_options, "session_class", ClientSession)
        async with self.server.connect() as (read, write), session_class(read, write, **session_options) as session:
            yield session


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a client and hand out its `call_tool`."""
    async with Client(Transport(server)) as client:
        yield client.call_tool
