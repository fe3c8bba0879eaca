"""Pydantic AI's toolset."""

from __future__ import annotations

from clients.frameworks import ERROR, adapter, found, outcome, raised, returned, serves_every_tool

module = adapter("pydantic_ai")


def test_every_tool_answers_with_its_data() -> None:
    serves_every_tool(module)
    assert returned(module)["order_id"] == "A1"


def test_both_kinds_of_error_ask_the_model_to_retry() -> None:
    assert raised(module, "error") == ("ModelRetry", ERROR)
    assert raised(module, "rpc(-32603)") == ("ModelRetry", "Internal error")
    assert found(module, "error") == found(module, "rpc(-32603)") == {}


def test_a_hang_ends_after_300_seconds() -> None:
    ended = outcome(module, "hang")
    assert (type(ended.error).__name__, ended.ended) == ("ModelRetry", 300)


def test_a_result_that_had_arrived_is_lost_when_the_hidden_list_behind_it_fails() -> None:
    told = found(module, "list:rpc(-32603)")["valid_accepted"].message
    assert told == "a valid answer to get_order arrived, but the call raised ModelRetry"
