"""The OpenAI Agents SDK: MCP tools as the function tools that an agent's model calls.

    fuzzmcp run fuzzmcp.clients.openai_agents_tool:connect

The defaults: 5 seconds for every request, no retry. It needs asyncio.

A function tool answers in words for a model. Execution errors are the server's own text, without an error flag: the
model reads them, so the contract takes them as told. Everything else (protocol errors, timeouts, results that break the
`outputSchema`) becomes the one sentence "An error occurred while running the tool. Please try again.", by design, with
the reason in the log: the contract takes that as telling of a failure. Structured content is dropped unless the server
object asks for it: what a model sees is the text block. Listing the tools raises as the server object does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, RunContextWrapper
from agents.tool_context import ToolContext

from fuzzmcp.clients import openai_agents
from fuzzmcp.clients._table import offered
from fuzzmcp.clients.openai_agents import Server
from fuzzmcp.core.contract import Contract

contract = Contract(
    error_words=("An error occurred while running the tool",),
    errors_as_text=True,
    protocol_errors_as_results=True,
    accepts=(*(openai_agents.contract.accepts or ()), "AgentsException"),
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Give a server to an agent; a call is one turn: the agent lists its tools, and one of them is invoked."""
    async with Server(server) as connected:
        agent = Agent(name="caller", mcp_servers=[connected])

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            tools = {made.name: made for made in await agent.get_mcp_tools(RunContextWrapper(None))}
            text = json.dumps(arguments)
            context = ToolContext(None, tool_name=tool, tool_call_id="1", tool_arguments=text)
            return await offered(tools, tool).on_invoke_tool(context, text)

        yield call_tool
