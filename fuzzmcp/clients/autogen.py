"""AutoGen's MCP tools on a session of the SDK, run as an agent runs them.

    fuzzmcp run fuzzmcp.clients.autogen:connect

The defaults: a session that is handed in has the SDK's own, no timeout, so a call that is never answered waits for
ever; no retry. (Over stdio AutoGen opens a session with 5 seconds for every call.) It needs asyncio and mcp 1.x.

Execution errors raise a plain `Exception` whose text is the content as JSON. Protocol errors raise the SDK's
`McpError`, a result that is no result raises pydantic's `ValidationError`, and one that breaks the tool's
`outputSchema` a `RuntimeError`. A result is the list of its content blocks; structured content is dropped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from autogen_core import CancellationToken
from autogen_ext.tools.mcp import StdioServerParams, mcp_server_tools
from mcp import ClientSession

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract

contract = Contract()


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Make the tools of a session; a call runs one of them."""
    async with server.connect() as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        made = await mcp_server_tools(StdioServerParams(command="unused"), session=session)
        tools = {tool.name: tool for tool in made}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            return await offered(tools, tool).run_json(arguments, CancellationToken())

        yield call_tool
