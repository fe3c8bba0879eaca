"""LangChain MCP adapters, any version: the tools that were loaded from a session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """The tools are loaded once; those that were not found cannot be called."""
    patience = timedelta(seconds=30)
    async with server.connect() as streams, ClientSession(*streams, read_timeout_seconds=patience) as session:
        await session.initialize()
        known = {found.name: found for found in await load_mcp_tools(session)}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return await known[tool].ainvoke(arguments)

        yield call_tool
