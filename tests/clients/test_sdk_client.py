"""The SDK's `Client` of mcp 2.x."""

from __future__ import annotations

import pytest

import fuzzmcp
from clients.frameworks import ERROR, adapter, found, outcome, raised, reading, serves_every_tool

module = adapter("sdk_client")
ERAS = pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])


def test_every_tool_answers() -> None:
    serves_every_tool(module)


@ERAS
def test_it_asks_for_the_era_first(protocol: str) -> None:
    run = fuzzmcp.run(module.connect, "error", protocol=protocol)
    asked = [event.method for event in run.requests if event.call is None]
    assert asked == ["server/discover", *(["initialize"] if protocol < "2026" else [])]
    assert fuzzmcp.violations(run, module.contract) == {}


@ERAS
def test_an_execution_error_is_returned_with_its_flag(protocol: str) -> None:
    read = reading(module, "error", protocol=protocol)
    assert (read.is_error, read.text) == (True, ERROR)


@ERAS
def test_a_protocol_error_is_raised(protocol: str) -> None:
    assert raised(module, "rpc(-32603)", protocol=protocol) == ("MCPError", "Internal error")


def test_a_hang_is_waited_for_for_ever() -> None:
    assert outcome(module, "hang").status == "unfinished"


@ERAS
def test_a_result_that_had_arrived_is_lost_when_the_hidden_list_behind_it_fails(protocol: str) -> None:
    assert "valid_accepted" in found(module, "list:rpc(-32603)", protocol=protocol)
