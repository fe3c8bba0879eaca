"""OpenAI Agents SDK, any version: the server of `agents.mcp`, and its function tool, over streams of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents.mcp import MCPServerStdio

from fuzzmcp import Contract

contract = Contract(deadline=60)


def _server(server: Any) -> Any:
    class Memory(MCPServerStdio):
        def create_streams(self) -> Any:
            return server.connect()

    return Memory({"command": "unused"})


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """The server, as it is by default."""
    async with _server(server) as mcp:
        yield mcp.call_tool


@asynccontextmanager
async def listed(server: Any) -> AsyncIterator[Any]:
    """The server, asked only for tools that its own list had."""
    async with _server(server) as mcp:
        known = {found.name: found for found in await mcp.list_tools()}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return await mcp.call_tool(known[tool].name, arguments)

        yield call_tool
