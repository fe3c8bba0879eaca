"""A real in-process server behind the fake: it gives the catalogue and the `ok` answers, the fake gives the faults.

`MCPServer`/`Server` of SDK 2.x, `FastMCP`/`Server` of SDK 1.x, and `FastMCP` of the fastmcp package.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.errors import FuzzmcpError
from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.observe.logs import collected_logs


class BackingServerError(FuzzmcpError):
    """An object that is no MCP server, or one that cannot list its tools."""


class BackingServer:
    """The real server of one run.

    Args:
        server: The server object.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self._session: Any = None

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connect to the server for the length of a run."""
        async with _session(self._server) as self._session:
            yield

    async def call(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """The server's own result for a `tools/call`, or None where it refuses the request."""
        try:
            result = await self._session.call_tool(params.get("name"), params.get("arguments") or {})
        except Exception as error:
            return {"content": [{"type": "text", "text": f"{type(error).__name__}: {error}"}], "isError": True}
        dumped: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {key: value for key, value in dumped.items() if key in ("content", "structuredContent", "isError")}

    async def list_tools(self) -> list[dict[str, Any]]:
        """The server's tools as `tools/list` names them."""
        listed = await self._session.list_tools()
        return [
            tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in getattr(listed, "tools", listed)
        ]


def is_server(value: Any) -> bool:
    """Whether an object looks like a server that can stand behind the fake."""
    return any(kind.__name__ in ("FastMCP", "MCPServer", "Server") for kind in type(value).__mro__)


_SERVERS = "an object MCPServer, FastMCP or Server"


def _named(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def catalogue_and_server(tools: Any) -> tuple[catalogue.Catalogue, BackingServer | None]:
    """The catalogue that is meant, and the real server behind it if that is one.

    Args:
        tools: The path of a JSON file, as text or as anything with `__fspath__`; tool definitions or tools in a list
            or as `tools/list` answers; a server object; None for the bundled catalogue.

    Raises:
        BackingServerError: It is none of these, or the server's tools cannot be listed.
        fuzzmcp.core.catalogue.tools.ToolsError: The file or one of the tools cannot be used.

    >>> catalogue_and_server([{"name": "echo", "inputSchema": {"type": "object"}}])[0][0].name
    'echo'
    """
    if is_server(tools):
        return catalogue_of(tools), BackingServer(tools)
    if tools is not None and not isinstance(tools, (str, os.PathLike, list, tuple, Mapping)):
        expected = f"{_SERVERS}, a JSON file or a list of tools"
        raise BackingServerError(f"{_named(tools)} is no MCP server: expected {expected}")
    return catalogue.load(tools), None


def catalogue_of(server: Any) -> catalogue.Catalogue:
    """The tools of a real server.

    Raises:
        BackingServerError: It is no server, or its tools cannot be listed.
        fuzzmcp.core.catalogue.tools.ToolsError: One of its tools cannot be used.
    """
    if not is_server(server):
        raise BackingServerError(f"{_named(server)} is no MCP server: expected {_SERVERS}")
    backing = BackingServer(server)
    entries: list[dict[str, Any]] = []

    async def ask() -> None:
        async with backing.opened():
            entries.extend(await backing.list_tools())

    clock = VirtualClock()
    try:
        with collected_logs(clock.now):
            clock.run(ask)
    except Exception as error:
        raise BackingServerError(f"the server's tools cannot be listed: {type(error).__name__}: {error}") from error
    return catalogue.load(entries)


def _session(server: Any) -> Any:
    """A client session with the server, by its own library."""
    module = type(server).__module__.partition(".")[0]
    if module == "fastmcp":
        return _fastmcp_session(server)
    from fuzzmcp.harness import sdk

    if sdk.MAJOR >= 2:
        from mcp import Client

        return Client(server)
    from mcp.shared import memory

    return vars(memory)["create_connected_server_and_client_session"](getattr(server, "_mcp_server", server))


@contextlib.asynccontextmanager
async def _fastmcp_session(server: Any) -> AsyncIterator[Any]:
    import fastmcp  # type: ignore[import-not-found,unused-ignore]

    async with fastmcp.Client(server) as client:
        yield client.session
