"""Pydantic AI 2: an agent with an `MCPToolset`, whose model calls one tool. What a server refuses, the model hears."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from fuzzmcp import Contract
from fuzzmcp.clients.fastmcp import Transport

contract = Contract(accepts=(UnexpectedModelBehavior,))


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """One agent run for each call; the model says what came back."""
    async with MCPToolset(Transport(server)) as toolset:

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
                last = messages[-1].parts[-1]
                if last.part_kind == "tool-return":
                    return ModelResponse(parts=[TextPart(str(last.content))])
                return ModelResponse(parts=[ToolCallPart(tool, arguments)])

            return (await Agent(FunctionModel(model), toolsets=[toolset]).run("go")).output

        yield call_tool
