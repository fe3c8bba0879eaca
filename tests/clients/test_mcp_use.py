"""mcp-use over the process seam."""

from __future__ import annotations

import importlib.util
import logging
import sys
import warnings

import pytest

import fuzzmcp
from fuzzmcp.clients._table import ADAPTERS

if importlib.util.find_spec("mcp_use") is None:  # to import it before the adapter would switch its telemetry on
    pytest.skip("mcp-use is not installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a framework says while it is imported is its own affair
    adapter = importlib.import_module("fuzzmcp.clients.mcp_use")


def test_it_calls_tools_over_stdio() -> None:
    run = fuzzmcp.check(adapter.connect, "split,odd", contract=adapter.contract)
    assert (run.case.transport, run.outcomes[0].status) == ("stdio", "returned")
    assert "fuzzmcp.clients.mcp_use:connect" in {each.client for each in ADAPTERS}


def test_an_execution_error_is_returned_and_a_protocol_error_is_raised() -> None:
    assert fuzzmcp.run(adapter.connect, "error").outcomes[0].value.isError
    assert type(fuzzmcp.run(adapter.connect, "rpc(-32603)").outcomes[0].error).__name__ == "McpError"


def test_it_leaves_the_process_behind_that_has_closed_its_stdout() -> None:
    """Seen in 1.7.1: `disconnect` returns at once where the connection is known to be lost."""
    broken = fuzzmcp.violations(fuzzmcp.run(adapter.connect, "close"), adapter.contract)
    assert "_connection_task" in broken["cleans_up"].message


def test_it_skips_the_handshake_when_it_connects_again() -> None:
    """Seen in 1.7.1: `_ensure_connected` opens a session and never initializes it."""
    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
    broken = fuzzmcp.violations(fuzzmcp.run(adapter.connect, "exit", calls=calls), adapter.contract)
    assert "before the handshake" in broken["wire_valid"].message


def test_it_prints_nothing_and_phones_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    run = fuzzmcp.run(adapter.connect, "list:rpc(-32603)")
    assert [log.logger for log in run.logs if log.logger == "mcp_use"]
    assert capfd.readouterr() == ("", "")
    assert not any(isinstance(h, logging.StreamHandler) for h in logging.getLogger("mcp_use").handlers)
    assert not vars(sys.modules["mcp_use.telemetry.telemetry"])["Telemetry"]()._posthog_client
