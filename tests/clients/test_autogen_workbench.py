"""AutoGen's workbench over the process seam."""

from __future__ import annotations

import importlib
import importlib.util
import warnings

import pytest

import fuzzmcp

if importlib.util.find_spec("autogen_ext") is None:
    pytest.skip("autogen-ext is not installed", allow_module_level=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a framework says while it is imported is its own affair
    adapter = importlib.import_module("fuzzmcp.clients.autogen_workbench")


def test_it_calls_tools_over_stdio() -> None:
    run = fuzzmcp.check(adapter.connect, "split,odd", contract=adapter.contract)
    assert (run.case.transport, run.outcomes[0].status) == ("stdio", "returned")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("error", "validation failed"),
        ("rpc(-32603)", "Internal error"),
        ("drift", "Invalid structured content"),
        ("malformed", "validation error"),
        ("hang", "Timed out"),
        ("exit", "Connection closed"),
    ],
)
def test_whatever_goes_wrong_comes_back_as_an_error_result(script: str, said: str) -> None:
    run = fuzzmcp.run(adapter.connect, script)
    assert run.outcomes[0].value["isError"] is True
    assert said in run.outcomes[0].value["content"][0]["text"]
    broken = fuzzmcp.violations(run, adapter.contract)
    assert not {"error_channels", "expected_errors", "drift_caught", "finishes"} & set(broken)


def test_it_takes_a_resource_link_for_an_error() -> None:
    """Seen in 0.7.5: `Unknown content type from server`."""
    run = fuzzmcp.run(adapter.connect, "odd(links)")
    assert "came back as an error" in fuzzmcp.violations(run, adapter.contract)["valid_accepted"].message


def test_it_stays_dead_once_its_session_has_ended() -> None:
    """Seen in 0.7.5: the actor ends with the session, and nothing starts it again."""
    run = fuzzmcp.run(adapter.connect, "badutf8")
    assert "survives" in fuzzmcp.violations(run, adapter.contract)
    assert run.probe is not None
    assert "MCP Actor not running" in run.probe.value["content"][0]["text"]
