"""LlamaIndex's MCP tools over the process seam."""

from __future__ import annotations

import importlib
import importlib.util
import warnings

import pytest

import fuzzmcp

if importlib.util.find_spec("llama_index") is None:
    pytest.skip("llama-index-tools-mcp is not installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a framework says while it is imported is its own affair
    adapter = importlib.import_module("fuzzmcp.clients.llama_index")


def test_it_starts_a_server_for_each_request() -> None:
    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
    run = fuzzmcp.check(adapter.connect, "split,odd", calls=calls, contract=adapter.contract)
    assert run.case.transport == "stdio"
    assert sum(event.kind == "open" for event in run.events) == 1 + len(calls) + 1  # the list, the calls, the probe
    assert [len(run.requests_of(call)) for call in (0, 1)] == [1, 1]
    assert "async_tool_fn" in str(run.requests_of(0)[0].site) or run.requests_of(0)[0].site is not None


def test_an_execution_error_comes_back_without_its_flag() -> None:
    """Seen in 0.6.0: `ToolOutput.is_error` is False, and only the `repr` of the result tells."""
    run = fuzzmcp.run(adapter.connect, "error")
    assert run.outcomes[0].value.is_error is False
    assert "validation failed" in run.outcomes[0].value.content
    assert "error_channels" in fuzzmcp.violations(run, adapter.contract)


def test_a_protocol_error_is_raised_in_a_group() -> None:
    (error,) = fuzzmcp.run(adapter.connect, "rpc(-32603)").outcomes[0].exceptions
    assert type(error).__name__ == "MCPError"


def test_it_waits_30_seconds() -> None:
    outcome = fuzzmcp.run(adapter.connect, "hang").outcomes[0]
    assert (outcome.status, outcome.ended - outcome.started) == ("raised", 30.0)


def test_it_reads_the_first_page_only() -> None:
    run = fuzzmcp.run(adapter.connect, "list:pages", calls=['find_customer(email="ada@example.com")'])
    assert "ToolNotOffered" in fuzzmcp.violations(run, adapter.contract)["expected_errors"].message
