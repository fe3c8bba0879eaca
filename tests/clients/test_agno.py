"""Agno's MCP tools."""

from __future__ import annotations

from clients.frameworks import ERROR, adapter, found, outcome, reading, serves_every_tool

module = adapter("agno")


def test_every_tool_answers() -> None:
    serves_every_tool(module)


def test_an_execution_error_is_told_in_words() -> None:
    read = reading(module, "error")
    assert read.is_error is None
    assert read.text.startswith("Error from MCP tool 'get_order'")
    assert ERROR in read.text
    assert found(module, "error") == {}


def test_a_protocol_error_is_told_in_words() -> None:
    assert reading(module, "rpc(-32603)").text.startswith("MCP tool 'get_order' failed: Internal error")
    assert found(module, "rpc(-32603)") == {}


def test_a_hang_ends_after_10_seconds() -> None:
    assert outcome(module, "hang").ended == 10


def test_a_failed_list_leaves_an_agent_without_tools() -> None:
    told = found(module, "list:rpc(-32603)")["expected_errors"].message
    assert told == "get_order raised ToolNotOffered: get_order is not among the 0 tools that the framework found"
