"""Google's Agent Development Kit: the tools of an `McpToolset`, run as an agent runs them.

    fuzzmcp run fuzzmcp.clients.google_adk:connect

The defaults: 5 seconds to connect and for every request over stdio. Setting up a session is tried twice, and so is
listing tools; a call is not. It needs asyncio.

A tool answers with a dict for a model: the result as on the wire, with `isError` for execution errors, or
`{"error": "…"}` for protocol errors, timeouts and results that break the `outputSchema`. By design nothing is raised,
so protocol errors come back as results of another shape, which the contract allows. A session that cannot be set up,
and a failed `tools/list`, raise `ConnectionError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract

contract = Contract(protocol_errors_as_results=True, accepts=("ConnectionError",))


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a toolset on the server's streams; a call is one turn: an agent lists its tools and runs one of them."""
    toolset = McpToolset(connection_params=StdioConnectionParams(server_params=StdioServerParameters(command="unused")))
    # The toolset has no seam for a transport of one's own: this is where it makes one.
    toolset._mcp_session_manager._create_client = lambda *args, **options: server.connect()
    try:
        sessions = InMemorySessionService()
        session = await sessions.create_session(app_name="fuzzmcp", user_id="caller")
        run = InvocationContext(session_service=sessions, session=session, invocation_id="1")

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            tools = {made.name: made for made in await toolset.get_tools()}
            return await offered(tools, tool).run_async(args=arguments, tool_context=ToolContext(run))

        yield call_tool
    finally:
        await toolset.close()
