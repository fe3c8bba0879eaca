"""LangChain's MCP adapters: the tools of a session, called as an agent's tool node calls them.

    fuzzmcp run fuzzmcp.clients.langchain:connect

The defaults: no timeout, so a call that is never answered waits for ever; no retry. (`MultiServerMCPClient` over HTTP
has one of 300 s, and opens a session for every call.) It needs asyncio and mcp 1.x.

Execution errors are returned as a `ToolMessage` with `status="error"`, whose content is the server's. Protocol errors
raise the SDK's `McpError`, a result that is no result raises pydantic's `ValidationError`, and one that breaks the
tool's `outputSchema` a `RuntimeError`. Structured content is the message's artifact. Audio raises `NotImplementedError`
by design (`tools.py`: "not yet supported"): a valid result is refused there. A catalogue may have 1,000 pages, which
the contract's frame budget leaves room for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract

contract = Contract(
    max_frames=1_100,
    accepts=(
        "McpError",
        "ValidationError",
        "RuntimeError",
        "NotImplementedError",
        "ClosedResourceError",
        "BrokenResourceError",
    ),
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Load the tools of a session; a call is a tool call as a model makes it, and its message comes back."""
    async with server.connect() as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return await offered(tools, tool).ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})

        yield call_tool
