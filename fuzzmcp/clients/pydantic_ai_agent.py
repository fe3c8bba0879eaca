"""Pydantic AI's `Agent` around an `MCPToolset`, with a scripted model: one call is one run of the agent.

    fuzzmcp run fuzzmcp.clients.pydantic_ai_agent:connect

The model calls the tool that it is asked for, again when the agent tells it to, and then repeats what it was told.

The defaults: 5 seconds to connect, 300 seconds for a request; every failed tool call is given back to the model once,
which here calls again. It needs asyncio.

Execution errors and protocol errors are a retry for the model; a second one ends the run with `UnexpectedModelBehavior`
(the cause is `ModelRetry`). That a model is told to try again after any error, also after one that no retry can mend
and for a tool that must not run twice, is the framework's policy, and the model's to follow: `no_pointless_retry`,
`spend_cap`, `retry_after` and `unsafe_retry` tell what it costs. A failed `tools/list` raises the SDK's `McpError` or
`MCPError`, a result that breaks the tool's `outputSchema` a `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from fuzzmcp.clients.fastmcp import Transport
from fuzzmcp.core.contract import Contract

contract = Contract(
    deadline=700.0,
    accepts=(
        "UnexpectedModelBehavior",
        "McpError",
        "MCPError",
        "ValidationError",
        "RuntimeError",
        "ClosedResourceError",
        "BrokenResourceError",
    ),
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open an agent; a call is a run of it, and what its model says in the end comes back."""
    agent = Agent(toolsets=[MCPToolset(Transport(server))])
    async with agent:

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
                told = messages[-1].parts[-1]
                if isinstance(told, ToolReturnPart) and told.outcome != "retried":
                    return ModelResponse([TextPart(told.model_response_str())])
                return ModelResponse([ToolCallPart(tool, arguments)])

            return (await agent.run(f"Call {tool}.", model=FunctionModel(model))).output

        yield call_tool
