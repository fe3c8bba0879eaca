"""smolagents, by mcpadapt: an event loop in a thread of its own, over the process seam."""

from __future__ import annotations

import threading

import pytest

import fuzzmcp

pytest.importorskip("smolagents", reason="smolagents is not installed")
module = pytest.importorskip("fuzzmcp.clients.smolagents", reason="smolagents needs mcp 1.x")
ERROR = "order service: validation failed: unknown customer"
TWO = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0.5']


def test_a_result_is_the_text_of_its_first_block_and_so_is_an_execution_error() -> None:
    run = fuzzmcp.run(module.connect, "error@3", calls=TWO)
    assert [outcome.ended for outcome in run.outcomes] == [3.0, 0.5]
    assert run.outcomes[0].value == ERROR
    assert '"order_id": "A2"' in run.outcomes[1].value
    assert set(fuzzmcp.violations(run, module.contract)) == {"error_channels"}


def test_a_protocol_error_is_raised() -> None:
    run = fuzzmcp.run(module.connect, "rpc(-32603)")
    assert (type(run.outcomes[0].error).__name__, str(run.outcomes[0].error)) == ("McpError", "Internal error")
    assert fuzzmcp.violations(run, module.contract) == {}


def test_a_call_has_no_timeout() -> None:
    run = fuzzmcp.run(module.connect, "hang")
    assert (run.outcomes[0].status, run.outcomes[0].ended, run.idle) == ("unfinished", 0.0, True)


def test_a_session_that_never_gets_ready_is_a_timeout_and_leaves_its_thread() -> None:
    run = fuzzmcp.run(module.connect, "init:hang")
    assert type(run.connect_error).__name__ == "TimeoutError"
    assert ("thread", "Thread (_run_loop)") in [(leak.kind, leak.what) for leak in run.leaks]
    assert run.ended == 30
    assert [thread for thread in threading.enumerate() if "_run_loop" in thread.name] == []


def test_the_default_of_mcpadapts_session_timeout_is_still_one_that_it_ignores() -> None:
    import inspect

    from mcpadapt.core import MCPAdapt

    default = inspect.signature(MCPAdapt.__init__).parameters["client_session_timeout_seconds"].default
    assert isinstance(default, int)
