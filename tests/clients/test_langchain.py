"""LangChain's MCP adapters."""

from __future__ import annotations

from clients.frameworks import ERROR, adapter, found, outcome, raised, reading, returned, serves_every_tool

module = adapter("langchain")


def test_every_tool_answers_with_its_data_as_the_artifact() -> None:
    serves_every_tool(module)
    assert returned(module).artifact["structured_content"]["order_id"] == "A1"


def test_an_execution_error_is_a_message_with_the_status_error() -> None:
    assert returned(module, "error").status == "error"
    read = reading(module, "error")
    assert (read.is_error, read.text) == (True, ERROR)


def test_a_protocol_error_is_raised() -> None:
    assert raised(module, "rpc(-32603)") == ("McpError", "Internal error")


def test_a_hang_is_waited_for_for_ever() -> None:
    assert outcome(module, "hang").status == "unfinished"


def test_a_thousand_pages_are_within_the_contract() -> None:
    assert "traffic" not in found(module, "list:loop")


def test_tools_are_loaded_once_whatever_changes() -> None:
    assert "relists" in found(module, "list_changed")
