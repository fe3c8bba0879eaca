"""DSPy's tools."""

from __future__ import annotations

from clients.frameworks import ERROR, MCP_1, adapter, found, outcome, raised, reading, returned, serves_every_tool

module = adapter("dspy")
PROTOCOL_ERROR = "McpError" if MCP_1 else "MCPError"


def test_every_tool_answers_with_its_text() -> None:
    serves_every_tool(module)
    assert isinstance(returned(module), str)


def test_an_execution_error_raises_a_runtime_error() -> None:
    assert raised(module, "error") == ("RuntimeError", f"Failed to call a MCP tool: {ERROR}")
    assert found(module, "error") == {}


def test_a_protocol_error_is_raised() -> None:
    assert raised(module, "rpc(-32603)") == (PROTOCOL_ERROR, "Internal error")


def test_several_texts_are_a_list_of_them() -> None:
    assert isinstance(returned(module, "odd"), list)
    assert reading(module, "odd").structured["order_id"] == "A1"


def test_a_hang_is_waited_for_for_ever() -> None:
    assert outcome(module, "hang").status == "unfinished"


def test_tools_are_made_once_whatever_changes() -> None:
    assert "relists" in found(module, "list_changed")
