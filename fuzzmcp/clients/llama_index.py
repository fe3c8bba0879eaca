"""LlamaIndex's MCP tools 0.6, as an agent has them, over stdio (on mcp 2.x).

    fuzzmcp run fuzzmcp.clients.llama_index:connect

`BasicMCPClient` starts a server for every single request, so it meets the fake one as processes that are never started.
The defaults: 30 seconds for a request, no retry. Tools are listed once, at the beginning.

Execution errors come back as a `ToolOutput` whose `is_error` is False: only its text, the `repr` of the SDK's result,
tells. Everything else raises, as an `ExceptionGroup` of the one exception: protocol errors `MCPError`, a result that is
no result pydantic's `ValidationError`, one that breaks the tool's `outputSchema` a `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract

contract = Contract(
    accepts=("MCPError", "ValidationError", "RuntimeError", "ClosedResourceError", "BrokenResourceError")
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """List the tools, and hand out what calls one of them as an agent does."""
    with server.process():
        listed = await McpToolSpec(BasicMCPClient("fuzzmcp")).to_tool_list_async()
        tools = {tool.metadata.name: tool for tool in listed}

        async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
            return await offered(tools, name).acall(**arguments)

        yield call_tool
