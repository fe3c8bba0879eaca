"""AutoGen's MCP tools."""

from __future__ import annotations

from clients.frameworks import ERROR, LAST, adapter, found, outcome, raised, reading, serves_every_tool

module = adapter("autogen")


def test_every_tool_answers() -> None:
    serves_every_tool(module)
    assert reading(module).structured["order_id"] == "A1"


def test_an_execution_error_raises_an_exception_with_the_content_as_json() -> None:
    kind, text = raised(module, "error")
    assert kind == "Exception"
    assert ERROR in text
    assert found(module, "error") == {}


def test_a_protocol_error_is_raised() -> None:
    assert raised(module, "rpc(-32603)") == ("McpError", "Internal error")


def test_a_hang_is_waited_for_for_ever() -> None:
    assert outcome(module, "hang").status == "unfinished"


def test_only_the_first_page_of_the_catalogue_is_read() -> None:
    assert "ToolNotOffered" in found(module, "list:pages", calls=[LAST])["expected_errors"].message
