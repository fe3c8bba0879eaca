"""DSPy's tools made of the MCP tools of a session.

    fuzzmcp run fuzzmcp.clients.dspy:connect

The defaults: the session's, so no timeout: a call that is never answered waits for ever; no retry.

Execution errors raise `RuntimeError` ("Failed to call a MCP tool: …" with the server's text). Protocol errors raise
`McpError` or `MCPError`, a result that is no result raises pydantic's `ValidationError`, and one that breaks the tool's
`outputSchema` a `RuntimeError`. A result is its text (a list of several), or its other blocks where it has none;
structured content is dropped unless asked for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dspy import Tool
from mcp import ClientSession

from fuzzmcp.clients._table import offered
from fuzzmcp.clients.sdk_session import every_tool, greet
from fuzzmcp.core.contract import Contract

contract = Contract(
    accepts=(
        "McpError",
        "MCPError",
        "ValidationError",
        "RuntimeError",
        "ValueError",
        "ClosedResourceError",
        "BrokenResourceError",
    )
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Make the tools of a session; a call awaits one of them."""
    async with server.connect() as (read, write), ClientSession(read, write) as session:
        await greet(session)
        tools = {tool.name: Tool.from_mcp_tool(session, tool) for tool in await every_tool(session)}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return await offered(tools, tool).acall(**arguments)

        yield call_tool
