"""The OpenAI Agents SDK's function tools."""

from __future__ import annotations

from clients.frameworks import ERROR, adapter, found, outcome, reading, serves_every_tool

module = adapter("openai_agents_tool")


def test_every_tool_answers() -> None:
    serves_every_tool(module)


def test_an_execution_error_is_its_text_without_a_flag_and_the_contract_takes_it_so() -> None:
    read = reading(module, "error")
    assert (read.is_error, read.looks_failed, read.text) == (None, False, ERROR)
    assert found(module, "error") == {}


def test_a_protocol_error_is_one_general_sentence() -> None:
    read = reading(module, "rpc(-32603)")
    assert read.text == "An error occurred while running the tool. Please try again."
    assert found(module, "rpc(-32603)") == {}


def test_drift_never_reaches_the_model() -> None:
    assert module.contract.is_error(reading(module, "drift"))


def test_a_hang_ends_after_5_seconds() -> None:
    assert outcome(module, "hang").ended == 5


def test_ever_new_cursors_are_followed_for_ever() -> None:
    assert "tools/list" in found(module, "list:fresh_loop")["traffic"].message
    assert "traffic" not in found(module, "list:loop")
