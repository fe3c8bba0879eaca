"""Strands Agents: a client with an event loop in a thread of its own."""

from __future__ import annotations

import pytest

import fuzzmcp
from fuzzmcp.checks.interpret import interpret

pytest.importorskip("strands", reason="strands is not installed")
module = pytest.importorskip("fuzzmcp.clients.strands", reason="strands needs another SDK")
ERROR = "order service: validation failed: unknown customer"
each = pytest.mark.parametrize("client", [module.connect, module.blocking], ids=["agent", "blocking"])


@each
def test_calls_return_results_of_bedrocks_form(client: object) -> None:
    run = fuzzmcp.run(client, "error@3", calls=['get_order(order_id="A1")', 'get_order(order_id="A2")@0.5'])
    first, second = (interpret(outcome.value) for outcome in run.outcomes)
    assert (first.is_error, first.text) == (True, ERROR)
    assert (second.is_error, second.structured["order_id"]) == (False, "A2")
    assert [outcome.ended for outcome in run.outcomes] == [3.0, 0.5]
    assert fuzzmcp.violations(run, module.contract) == {}


@each
def test_a_protocol_error_is_a_result_with_an_error_status(client: object) -> None:
    run = fuzzmcp.run(client, "rpc(-32603)")
    assert run.outcomes[0].value["content"] == [{"text": "Tool execution failed: Internal error"}]
    assert fuzzmcp.violations(run, module.contract) == {}


@each
def test_a_call_has_no_timeout(client: object) -> None:
    run = fuzzmcp.run(client, "hang")
    assert (run.outcomes[0].status, run.outcomes[0].ended, run.idle) == ("unfinished", 0.0, True)


@each
def test_a_session_that_never_starts_is_waited_for_for_ever(client: object) -> None:
    """After its 30 seconds `start` stops the session, and joins a thread that does not hear of it."""
    run = fuzzmcp.run(client, "init:hang")
    assert "connecting waits for ever: nothing was left that could wake it" in [leak.what for leak in run.leaks]
    assert run.ended >= 30


def test_the_catalogue_is_read_to_its_end_even_if_it_has_none() -> None:
    run = fuzzmcp.run(module.connect, "list:fresh_loop", contract=fuzzmcp.Contract(max_frames=50))
    assert run.stopped == "the frame budget of 50 is spent"
