"""The SDK's `ClientSession`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import ClientSession

import fuzzmcp
from clients.frameworks import ERROR, LAST, MCP_1, adapter, found, outcome, raised, reading, serves_every_tool
from fuzzmcp.clients import sdk_session
from fuzzmcp.core.trace import Outcome
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of

module = adapter("sdk_session")
PROTOCOL_ERROR = "McpError" if MCP_1 else "MCPError"


def test_every_tool_answers() -> None:
    serves_every_tool(module)


def test_an_execution_error_is_returned_with_its_flag() -> None:
    read = reading(module, "error")
    assert (read.is_error, read.text) == (True, ERROR)


def test_a_protocol_error_is_raised() -> None:
    assert raised(module, "rpc(-32603)") == (PROTOCOL_ERROR, "Internal error")


def test_drift_raises_a_runtime_error() -> None:
    kind, text = raised(module, "drift")
    assert kind == "RuntimeError"
    assert text.startswith("Invalid structured content returned by tool get_order")


def test_a_hang_is_waited_for_for_ever() -> None:
    assert outcome(module, "hang").status == "unfinished"
    assert "finishes" in found(module, "hang")


def test_a_result_that_had_arrived_is_lost_when_the_hidden_list_behind_it_fails() -> None:
    told = found(module, "list:rpc(-32603)")["valid_accepted"].message
    assert told == f"a valid answer to get_order arrived, but the call raised {PROTOCOL_ERROR}"


@pytest.mark.skipif(not MCP_1, reason="mended in mcp 2.x")
def test_a_cancellation_beside_its_answer_ends_the_session() -> None:
    assert "ClosedResourceError" in found(module, "cancel")["survives"].message


@pytest.mark.skipif(MCP_1, reason="mcp 1.x knows no server/discover")
def test_a_server_of_the_stateless_era_is_discovered() -> None:
    run = fuzzmcp.run(module.connect, "error", protocol="2026-07-28")
    assert [event.method for event in run.requests[:3]] == ["initialize", "server/discover", "tools/call"]
    assert fuzzmcp.violations(run, module.contract) == {}


@pytest.mark.skipif(not MCP_1, reason="mcp 2.x discovers the server")
def test_mcp_1_cannot_connect_to_a_server_of_the_stateless_era() -> None:
    run = drive(fuzzmcp.api.case_of(protocol="2026-07-28"), target_of(module.connect))
    assert not run.connected
    (error,) = Outcome(0, "raised", 0, 0, error=run.connect_error).exceptions
    assert (type(error).__name__, str(error)) == ("McpError", "Unsupported protocol version")


@pytest.mark.parametrize("script", ["list:pages", "list:loop", "list:fresh_loop"])
def test_every_tool_means_every_page_and_ends(script: str) -> None:
    listed: list[str] = []

    @asynccontextmanager
    async def connect(server: Any) -> AsyncIterator[Any]:
        async with server.connect() as streams, ClientSession(*streams) as session:
            await session.initialize()
            listed.extend(tool.name for tool in await sdk_session.every_tool(session))
            yield session.call_tool

    run = fuzzmcp.run(connect, script)
    assert {LAST[0], "get_order"} <= set(listed)
    assert sum(event.method == "tools/list" for event in run.requests) <= sdk_session.PAGES + 1
