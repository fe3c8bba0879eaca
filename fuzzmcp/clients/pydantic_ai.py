"""Pydantic AI's `MCPToolset` over a FastMCP transport, as an agent calls it: without the agent and its retries.

    fuzzmcp run fuzzmcp.clients.pydantic_ai:connect

The defaults: 5 seconds to connect, 300 seconds for every request; no retry of its own. A call may cost two requests,
for the SDK lists the tools behind the first result, so the contract's deadline is above 600. It needs asyncio.

Execution errors raise `ModelRetry` with the server's text, which an agent gives to its model. So do protocol errors, by
its documented default (`tool_error_behavior="retry"`), without their code: the model is told of both alike, which is
the contract's to decide here and no defect. A result that is no result raises pydantic's `ValidationError`, and one
that breaks the tool's `outputSchema` a `RuntimeError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.mcp import MCPToolset

from fuzzmcp.clients.fastmcp import Transport
from fuzzmcp.core.contract import Contract

contract = Contract(
    deadline=700.0,
    accepts=("ModelRetry", "ValidationError", "RuntimeError", "ClosedResourceError", "BrokenResourceError"),
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a toolset and hand out its `direct_call_tool`."""
    async with MCPToolset(Transport(server)) as toolset:
        yield toolset.direct_call_tool
