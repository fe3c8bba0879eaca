"""Haystack: one event loop for the process, in a thread of its own, over the process seam."""

from __future__ import annotations

import pytest

import fuzzmcp
from fuzzmcp.checks.interpret import interpret

pytest.importorskip("haystack_integrations.tools.mcp", reason="mcp-haystack is not installed")
module = pytest.importorskip("fuzzmcp.clients.haystack", reason="mcp-haystack needs another SDK")
TWO = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0.5']


def test_an_execution_error_is_raised_and_a_result_is_returned_whole() -> None:
    run = fuzzmcp.run(module.connect, "error@3", calls=TWO)
    assert [outcome.ended for outcome in run.outcomes] == [3.0, 0.5]
    assert type(run.outcomes[0].error).__name__ == "ToolInvocationError"
    assert interpret(run.outcomes[1].value).structured["order_id"] == "A2"
    assert fuzzmcp.violations(run, module.contract) == {}


def test_a_protocol_error_is_raised() -> None:
    run = fuzzmcp.run(module.connect, "rpc(-32603)")
    assert type(run.outcomes[0].error).__name__ == "ToolInvocationError"
    assert fuzzmcp.violations(run, module.contract) == {}


def test_a_call_is_given_up_after_30_seconds() -> None:
    run = fuzzmcp.run(module.connect, "hang")
    assert (type(run.outcomes[0].error).__name__, run.outcomes[0].ended) == ("ToolInvocationError", 30.0)
    assert fuzzmcp.violations(run, module.contract) == {}


def test_tools_that_cannot_be_loaded_are_an_error_of_its_own_and_leave_nothing_behind() -> None:
    run = fuzzmcp.run(module.connect, "list:rpc(-32603)")
    assert type(run.connect_error).__name__ == "MCPConnectionError"
    assert run.leaks == ()


def test_the_loop_of_the_process_is_still_where_the_adapter_lets_go_of_it() -> None:
    from haystack_integrations.tools.mcp.mcp_tool import AsyncExecutor

    assert "_singleton_instance" in vars(AsyncExecutor)
