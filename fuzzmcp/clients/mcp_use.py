"""mcp-use 1.7's `MCPClient` and its sessions, over stdio (on mcp 1.x). It needs asyncio.

    fuzzmcp run fuzzmcp.clients.mcp_use:connect

mcp-use starts its servers itself, so it meets the fake one as a process that is never started. The defaults: no
timeout of a call, so one that is never answered waits for ever; no retry. A call on a session that is known to be dead
connects again.

Execution errors are returned with their error flag. Protocol errors raise the SDK's `McpError`, a result that is no
result raises pydantic's `ValidationError`, one that breaks the tool's `outputSchema` a `RuntimeError`, and so does a
call whose connection was lost.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fuzzmcp.core.contract import Contract

os.environ.setdefault("MCP_USE_ANONYMIZED_TELEMETRY", "false")  # read when it is imported, and sent from a thread

from mcp_use import MCPClient
from mcp_use.logging import Logger

Logger.configure(log_to_console=False)  # its records reach whoever listens to the root logger

contract = Contract(
    accepts=("McpError", "ValidationError", "RuntimeError", "ClosedResourceError", "BrokenResourceError"),
)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Open a session with the one server of a client, and hand out its `call_tool`."""
    with server.process():
        client = MCPClient.from_dict({"mcpServers": {"fake": {"command": "fuzzmcp", "args": []}}})
        try:
            session = await client.create_session("fake")
            yield session.call_tool
        finally:
            await client.close_all_sessions()
