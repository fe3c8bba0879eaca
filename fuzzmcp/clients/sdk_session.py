"""The MCP Python SDK, `ClientSession`, both majors and both eras.

    fuzzmcp run fuzzmcp.clients.sdk_session:connect
    fuzzmcp run fuzzmcp.clients.sdk_session:connect --protocol 2026-07-28

The defaults: no timeout at all, so a call that is never answered waits for ever; no retry.

Execution errors are returned with their error flag. Protocol errors raise `McpError` (1.x) or `MCPError` (2.x), a
result that is no result raises pydantic's `ValidationError`, and one that breaks the tool's `outputSchema` a
`RuntimeError`.

Servers of 2026-07-28 refuse the handshake with -32022; a session of mcp 2.x then discovers them, one of 1.x cannot.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import ClientSession
from mcp.types import PaginatedRequestParams

from fuzzmcp.core.contract import Contract

UNSUPPORTED_VERSION = -32022
PAGES = 100

contract = Contract(
    accepts=("McpError", "MCPError", "ValidationError", "RuntimeError", "ClosedResourceError", "BrokenResourceError")
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a session on the server's streams and hand out its `call_tool`."""
    async with server.connect() as (read, write), ClientSession(read, write) as session:
        await greet(session)
        yield session.call_tool


async def greet(session: Any) -> None:
    """The handshake, or what stands in its place from 2026-07-28 on."""
    try:
        await session.initialize()
    except Exception as error:
        code = getattr(getattr(error, "error", None), "code", None)
        if code != UNSUPPORTED_VERSION or not hasattr(session, "discover"):
            raise
        await session.discover()


async def every_tool(session: Any) -> list[Any]:
    """The tools on all pages of the catalogue, for frameworks that leave listing to their user."""
    found: list[Any] = []
    cursors: list[str] = []
    while len(cursors) < PAGES:
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursors[-1]) if cursors else None)
        found += page.tools
        cursor = page.model_dump(by_alias=True).get("nextCursor")
        if cursor is None or cursor in cursors:
            break
        cursors.append(cursor)
    return found
