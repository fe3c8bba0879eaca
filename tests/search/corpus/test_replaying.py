"""What became of a saved case."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.examples import careful_agent, naive_agent
from fuzzmcp.harness.target import target_of
from fuzzmcp.search.corpus import SavedCase, replayed
from fuzzmcp.search.job import Job


def fate(client: Any, check: str, script: str, checks: list[str] | None = None, contract: Any = None) -> Any:
    saved = SavedCase(check, case_of(script))
    asked = tuple(CHECKS if checks is None else checks)
    return replayed(saved, Job(target_of(client), saved.case, contract or fuzzmcp.Contract(), asked))


def test_a_client_that_was_mended_has_fixed_it() -> None:
    seen = fate(careful_agent.connect, "spend_cap", "429cap")
    assert (seen.status, seen.message, seen.violations) == ("fixed", "spend_cap holds", {})


def test_a_client_that_was_not_still_fails() -> None:
    seen = fate(naive_agent.connect, "spend_cap", "429cap")
    assert seen.status == "still fails"
    assert seen.message == "get_order was sent again 1.0 s after its spend cap was reached"
    assert next(iter(seen.violations)) == "spend_cap"


def test_a_client_that_breaks_another_promise_fails_differently() -> None:
    seen = fate(naive_agent.connect, "never_blocks", "429cap")
    assert seen.status == "fails differently"
    assert seen.message.startswith("spend_cap: get_order was sent again")


def test_checks_that_nobody_asked_for_do_not_count() -> None:
    assert fate(naive_agent.connect, "never_blocks", "429cap", ["survives"]).status == "fixed"
    assert fate(naive_agent.connect, "spend_cap", "429cap", ["survives"]).status == "still fails"


@asynccontextmanager
async def silent(server: Any) -> AsyncIterator[Any]:
    async def call_tool(tool: str, arguments: dict[str, Any]) -> None:
        return None

    yield call_tool


@asynccontextmanager
async def broken(server: Any) -> AsyncIterator[Any]:
    raise OSError("no such host")
    yield


@pytest.mark.parametrize("script", ["list:hang", "ok*3,429cap"])
def test_a_script_that_never_fired_proves_nothing(script: str) -> None:
    seen = fate(silent, "survives", script, ["survives"])
    assert seen.status == "error"
    assert seen.message.startswith("the fault never fired: this proves nothing")


@pytest.mark.parametrize("script", ["", "ok", "ok*3"])
def test_a_script_without_a_fault_proves_nothing(script: str) -> None:
    seen = fate(careful_agent.connect, "spend_cap", script)
    assert (seen.status, seen.message) == ("error", "the script has no fault: this proves nothing")


def test_a_client_that_never_gets_ready_is_an_error() -> None:
    seen = fate(broken, "spend_cap", "429cap")
    assert (seen.status, seen.message) == ("error", "the client never got ready")
