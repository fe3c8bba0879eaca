"""Agno 2: what the model gets to read of a tool's result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from agno.tools.mcp import MCPTools
from mcp import ClientSession

from fuzzmcp import Contract

contract = Contract(protocol_errors_as_results=True)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """The tools of one session."""
    patience = timedelta(seconds=30)
    async with server.connect() as streams, ClientSession(*streams, read_timeout_seconds=patience) as session:
        tools = MCPTools(session=session)
        await tools.initialize()

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return (await tools.functions[tool].entrypoint(**arguments)).content

        yield call_tool
