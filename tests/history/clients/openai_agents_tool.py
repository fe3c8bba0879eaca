"""OpenAI Agents SDK, any version: the function tool that an agent runs. What fails in it goes to the model as text."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool_context import ToolContext

from fuzzmcp import Contract

contract = Contract(deadline=60, accepts=(), protocol_errors_as_results=True)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """The function tools of one server, by name."""

    class Memory(MCPServerStdio):
        def create_streams(self) -> Any:
            return server.connect()

    async with Memory({"command": "unused"}) as mcp:
        found = await MCPUtil.get_function_tools(mcp, False, RunContextWrapper(None), Agent("assistant"))
        tools = {tool.name: tool for tool in found}

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            text = json.dumps(arguments)
            context = ToolContext(None, tool_name=tool, tool_call_id="1", tool_arguments=text)
            return await tools[tool].on_invoke_tool(context, text)

        yield call_tool
