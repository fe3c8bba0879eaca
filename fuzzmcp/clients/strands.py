"""Strands Agents: an `MCPClient`, whose session lives on an event loop in a thread of its own.

    fuzzmcp run fuzzmcp.clients.strands:connect
    fuzzmcp run fuzzmcp.clients.strands:blocking

The defaults: a timeout of 30 s for the start of the session, none for a list or a call, no retry. `connect` loads the
tools of a client and runs them as an agent does; `blocking` uses the client itself, by methods that block their caller.

No call raises. Execution errors, protocol errors and results that break the `outputSchema` all come back as a result
with `status="error"`: the server's own content where it says `isError`, else a text "Tool execution failed: …". So
protocol errors come back as results, which the contract allows. A session that cannot be started, and a list that
fails, is a `ValueError` for an agent; without one it is `MCPClientInitializationError` or the SDK's `MCPError`. A call
once the session has ended raises `MCPClientInitializationError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from strands.tools.mcp import MCPClient
from strands.tools.registry import ToolRegistry

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract
from fuzzmcp.harness.blocking import in_thread

contract = Contract(
    protocol_errors_as_results=True,
    accepts=("ValueError", "MCPClientInitializationError", "MCPError", "McpError"),
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Give a client to the tools of an agent, which starts it; a call is a tool use as a model makes it."""
    agent = ToolRegistry()
    try:
        await in_thread(agent.process_tools, [MCPClient(server.connect)])

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            use: Any = {"toolUseId": "1", "name": tool, "input": arguments}
            events = [event async for event in offered(agent.registry, tool).stream(use, {})]
            return events[-1].tool_result

        yield call_tool
    finally:
        await in_thread(agent.cleanup)


@contextmanager
def blocking(server: Any) -> Iterator[Any]:
    """Start a client, list its tools, and make calls that block."""
    with MCPClient(server.connect) as client:
        client.list_tools_sync()
        yield lambda tool, arguments: client.call_tool_sync("1", tool, arguments)
