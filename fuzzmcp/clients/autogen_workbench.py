"""AutoGen's `McpWorkbench` 0.7, over stdio (on mcp 1.x). It needs asyncio.

    fuzzmcp run fuzzmcp.clients.autogen_workbench:connect

The workbench starts its server itself, so it meets the fake one as a process that is never started. The defaults:
5 seconds for a request, no retry.

Nothing raises: execution errors, protocol errors, results that are none and those that break the tool's `outputSchema`
all come back as a `ToolResult` with `is_error`, whose text is the server's or the exception's. Of a good result it
keeps text and images; structured content is dropped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

from fuzzmcp.core.contract import Contract

contract = Contract(protocol_errors_as_results=True)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a workbench, and hand out its `call_tool`, the results of which are told in the words of MCP."""
    with server.process():
        async with McpWorkbench(StdioServerParams(command="fuzzmcp")) as workbench:
            await workbench.list_tools()

            async def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
                result = await workbench.call_tool(name, arguments)
                texts = [part.content for part in result.result if isinstance(part.content, str)]
                return {"content": [{"type": "text", "text": text} for text in texts], "isError": result.is_error}

            yield call_tool
