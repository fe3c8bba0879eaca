"""smolagents 1.26's `MCPClient`, by mcpadapt, whose session lives on an event loop in a thread of its own (mcp 1.x).

    fuzzmcp run fuzzmcp.clients.smolagents:connect

mcpadapt starts its servers itself, so it meets the fake one as a process that is never started. The defaults: 30 s
(`connect_timeout`) until the session is ready and for the list of tools. A call has no timeout: mcpadapt's own default
of 5 s is an int, and only floats and timedeltas are heeded. No retry. Calls block their caller, who cannot cancel them.

A result is the text of its first content block; structured content counts only with `structured_output=True`. Execution
errors come back as an ordinary text. Protocol errors raise the SDK's `McpError`, a result that is no result raises
pydantic's `ValidationError`, one that breaks the tool's `outputSchema` a `RuntimeError`, and one without content a
`ValueError`. A session that does not get ready is a `TimeoutError`, whatever went wrong in its thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp import StdioServerParameters
from smolagents import MCPClient

from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract

contract = Contract(
    accepts=("McpError", "ValidationError", "RuntimeError", "ValueError", "TimeoutError", "ClosedResourceError"),
)


@contextmanager
def connect(server: Any) -> Iterator[Any]:
    """Connect a client; a call is one of its tools, called as an agent's code calls it."""
    with server.process(), MCPClient(StdioServerParameters(command="fuzzmcp"), structured_output=False) as tools:
        named = {tool.name: tool for tool in tools}
        yield lambda tool, arguments: offered(named, tool)(**arguments)
