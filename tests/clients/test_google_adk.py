"""Google's Agent Development Kit."""

from __future__ import annotations

from clients.frameworks import ERROR, LAST, adapter, found, outcome, raised, reading, returned, serves_every_tool

module = adapter("google_adk")


def test_every_tool_answers() -> None:
    serves_every_tool(module)


def test_an_execution_error_is_a_dict_with_its_flag() -> None:
    read = reading(module, "error")
    assert (read.is_error, read.text) == (True, ERROR)


def test_a_protocol_error_is_a_dict_with_an_error() -> None:
    assert returned(module, "rpc(-32603)") == {"error": "MCP tool execution failed: Internal error"}
    assert found(module, "rpc(-32603)") == {}


def test_drift_is_a_dict_with_an_error() -> None:
    assert "Invalid structured content" in returned(module, "drift")["error"]


def test_a_hang_ends_after_5_seconds() -> None:
    assert outcome(module, "hang").ended == 5


def test_a_failed_list_is_tried_twice_and_raised() -> None:
    assert outcome(module, "list:rpc(-32603)").status == "returned"
    assert raised(module, "list:rpc(-32603)*")[0] == "ConnectionError"


def test_only_the_first_page_of_the_catalogue_is_read() -> None:
    told = found(module, "list:pages*", calls=[LAST])["expected_errors"].message
    assert told.startswith("list_open_invoices raised ToolNotOffered: list_open_invoices is not among the ")
