"""The OpenAI Agents SDK's server object."""

from __future__ import annotations

from clients.frameworks import ERROR, MCP_1, adapter, found, outcome, raised, reading, serves_every_tool

module = adapter("openai_agents")
PROTOCOL_ERROR = "McpError" if MCP_1 else "MCPError"


def test_every_tool_answers() -> None:
    serves_every_tool(module)


def test_an_execution_error_is_returned_with_its_flag() -> None:
    read = reading(module, "error")
    assert (read.is_error, read.text) == (True, ERROR)


def test_a_protocol_error_is_raised() -> None:
    assert raised(module, "rpc(-32603)") == (PROTOCOL_ERROR, "Internal error")


def test_a_hang_ends_after_5_seconds() -> None:
    assert outcome(module, "hang").ended == 5


def test_a_result_that_had_arrived_is_lost_when_the_hidden_list_behind_it_fails() -> None:
    assert "valid_accepted" in found(module, "list:rpc(-32603)")
