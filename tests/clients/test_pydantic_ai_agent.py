"""Pydantic AI's agent with a scripted model."""

from __future__ import annotations

from typing import Any

import pytest

import fuzzmcp
from clients.frameworks import CALLS, REFUND, adapter, found, outcome, raised, requests
from fuzzmcp.checks.interpret import interpret

module = adapter("pydantic_ai_agent")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_every_tool_answers(call: tuple[str, dict[str, Any]]) -> None:
    read = interpret(fuzzmcp.run(module.connect, "", calls=[call]).outcomes[0].value)
    key, value = next(iter(call[1].items()))
    assert read.structured[key] == value


@pytest.mark.parametrize("fault", ["error", "rpc(-32603)", "malformed"])
def test_a_failed_call_is_made_once_more(fault: str) -> None:
    run = fuzzmcp.run(module.connect, fault)
    assert (run.outcomes[0].status, requests(run)) == ("returned", 2)


def test_a_second_failure_ends_the_run() -> None:
    kind, text = raised(module, "error*")
    assert kind == "UnexpectedModelBehavior"
    assert "exceeded max retries count of 1" in text


def test_a_hang_is_given_up_after_300_seconds_and_tried_again() -> None:
    assert outcome(module, "hang").ended == 300
    assert outcome(module, "hang*").ended == 600


def test_what_the_model_does_with_a_retry_is_told() -> None:
    assert "spend_cap" in found(module, "429cap")
    assert "unsafe_retry" in found(module, "hang", calls=[REFUND])


def test_it_lists_the_tools_again_once_they_changed() -> None:
    assert "relists" not in found(module, "list_changed")


def test_a_failed_list_ends_the_run() -> None:
    assert raised(module, "list:rpc(-32603)")[1] == "Internal error"
    assert "expected_errors" not in found(module, "list:rpc(-32603)")
