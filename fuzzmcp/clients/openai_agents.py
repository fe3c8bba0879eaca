"""The OpenAI Agents SDK: its MCP server object, on streams instead of a process. Both majors of mcp.

    fuzzmcp run fuzzmcp.clients.openai_agents:connect

The defaults: 5 seconds for every request, no retry. It needs asyncio.

Execution errors are returned with their error flag. Protocol errors raise `McpError` or `MCPError`, a result that is no
result raises pydantic's `ValidationError`, and one that breaks the tool's `outputSchema` a `RuntimeError`. Misuse and a
lost session raise `UserError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents.mcp import MCPServerStdio

from fuzzmcp.core.contract import Contract

contract = Contract(
    accepts=(
        "McpError",
        "MCPError",
        "ValidationError",
        "RuntimeError",
        "UserError",
        "ClosedResourceError",
        "BrokenResourceError",
    )
)


class Server(MCPServerStdio):
    """An MCP server as an agent takes it; the command is never started."""

    def __init__(self, server: Any) -> None:
        super().__init__({"command": "unused"})
        self.server = server

    def create_streams(self) -> Any:
        """The streams of the fake, where others start a process."""
        return self.server.connect()


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Connect and hand out the server's `call_tool`."""
    async with Server(server) as connected:
        yield connected.call_tool
