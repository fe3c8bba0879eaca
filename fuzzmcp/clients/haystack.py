"""Haystack 3's `MCPToolset`, whose sessions live on one event loop in a thread of the process.

    fuzzmcp run fuzzmcp.clients.haystack:connect

Haystack starts its servers itself, so it meets the fake one as a process that is never started. The defaults: a timeout
of 30 s until the tools are loaded, and of 30 s for a call; no retry over stdio. Calls block their caller, who cannot
cancel them.

A result is the JSON of the whole result. Execution errors, protocol errors and results that are no result raise
`ToolInvocationError`, and so do a lost connection and a call that takes too long. A server whose tools cannot be loaded
is an `MCPConnectionError`, or a `TimeoutError`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo
from haystack_integrations.tools.mcp.mcp_tool import AsyncExecutor

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract

contract = Contract(accepts=("ToolInvocationError", "MCPConnectionError", "TimeoutError"))


@contextmanager
def connect(server: Any) -> Iterator[Any]:
    """Load the tools of a server; a call is one of them, invoked as an agent invokes it."""
    # The event loop of the process would outlive its run, and there is no public way to let go of it.
    AsyncExecutor._singleton_instance = None
    try:
        with server.process():
            toolset = MCPToolset(StdioServerInfo(command="fuzzmcp"), eager_connect=True)
            try:
                named = {tool.name: tool for tool in toolset}
                yield lambda tool, arguments: json.loads(offered(named, tool).invoke(**arguments))
            finally:
                toolset.close()
    finally:
        AsyncExecutor.get_instance().shutdown()
