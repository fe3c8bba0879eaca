"""Agno's `MCPTools`, its functions called as an agent calls them.

    fuzzmcp run fuzzmcp.clients.agno:connect

The client is made as `MCPTools` makes it for a command or a URL: FastMCP's, 10 seconds for every request, by the
handshake. It pings before each call, and does not retry. It needs asyncio.

A function answers with a `ToolResult` in words for a model, without an error flag: "Error from MCP tool …" with the
server's text for execution errors, "MCP tool … failed" for protocol errors and timeouts, "Error: …" for everything
else. The contract takes these words as telling of an error. Nothing is raised but by connecting, which is FastMCP's.

A failed `tools/list` is logged and not raised, and the agent runs without tools until its next run tries again. A call
of such a tool raises `ToolNotOffered` here, which the contract does not accept.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agno.tools.mcp import MCPTools
from fastmcp import Client

from fuzzmcp.clients import fastmcp
from fuzzmcp.clients._table import offered
from fuzzmcp.clients.fastmcp import Transport
from fuzzmcp.core.contract import Contract

contract = Contract(
    error_words=("Error from MCP tool", "MCP tool", "Error: "),
    protocol_errors_as_results=True,
    accepts=fastmcp.contract.accepts,
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Give the tools a connected client; a call connects them if need be, as a run does, and calls one function."""
    async with Client(Transport(server), timeout=10, mode="legacy") as client:
        tools = MCPTools(session=client)

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            await tools.connect()
            return await offered(tools.functions, tool).entrypoint(**arguments)

        yield call_tool
