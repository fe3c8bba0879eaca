"""FastMCP's client, from 2.14: it lists the tools, and calls those that it found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client

from fuzzmcp import Contract
from fuzzmcp.clients.fastmcp import Transport

contract = Contract(max_frames=600)  # twice the pages that the client promises to stop at, and each run costs less


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """A client that waits 30 seconds for an answer."""
    async with Client(Transport(server), timeout=30) as client:
        known = {found.name: found for found in await client.list_tools()}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return await client.call_tool(known[tool].name, arguments)

        yield call_tool
