"""FastMCP's client, 3.x and 4.x."""

from __future__ import annotations

from clients.frameworks import ERROR, MCP_1, adapter, found, outcome, raised, serves_every_tool

module = adapter("fastmcp")
PROTOCOL_ERROR = "McpError" if MCP_1 else "MCPError"


def test_every_tool_answers() -> None:
    serves_every_tool(module)


def test_an_execution_error_raises_tool_error() -> None:
    assert raised(module, "error") == ("ToolError", ERROR)
    assert found(module, "error") == {}


def test_a_protocol_error_is_raised() -> None:
    assert raised(module, "rpc(-32603)") == (PROTOCOL_ERROR, "Internal error")


def test_a_hang_is_waited_for_for_ever() -> None:
    assert outcome(module, "hang").status == "unfinished"


def test_a_result_that_had_arrived_is_lost_when_the_hidden_list_behind_it_fails() -> None:
    assert found(module, "list:rpc(-32603)").keys() == {"valid_accepted"}
