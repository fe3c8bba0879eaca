"""Pydantic AI 0.2: an agent whose model calls one tool. What the tool's server refuses, the model is to hear."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.mcp import MCPServerStdio
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from fuzzmcp import Contract

contract = Contract(accepts=(UnexpectedModelBehavior,))


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """One agent run for each call; the model says what came back."""

    class Memory(MCPServerStdio):
        def client_streams(self) -> Any:
            return server.connect()

    async with Memory("unused", []) as mcp:

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
                last = messages[-1].parts[-1]
                if last.part_kind == "tool-return":
                    return ModelResponse(parts=[TextPart(str(last.content))])
                return ModelResponse(parts=[ToolCallPart(tool, arguments)])

            return (await Agent(FunctionModel(model), mcp_servers=[mcp]).run("go")).output

        yield call_tool
