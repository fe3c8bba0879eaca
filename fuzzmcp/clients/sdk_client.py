"""The MCP Python SDK 2.x, `Client`, both eras.

    fuzzmcp run fuzzmcp.clients.sdk_client:connect
    fuzzmcp run fuzzmcp.clients.sdk_client:connect --protocol 2026-07-28

The defaults: it asks `server/discover` first, for 10 seconds, and falls back to the handshake; after that no timeout at
all, so a call that is never answered waits for ever; no retry.

Execution errors are returned with their error flag. Protocol errors raise `MCPError`, a result that is no result raises
pydantic's `ValidationError`, and one that breaks the tool's `outputSchema` a `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client

from fuzzmcp.core.contract import Contract

contract = Contract(
    accepts=("MCPError", "ValidationError", "RuntimeError", "ClosedResourceError", "BrokenResourceError")
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a client on the server, which is what the SDK calls a transport, and hand out its `call_tool`."""
    async with Client(server.connect()) as client:
        yield client.call_tool
