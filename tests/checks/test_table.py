"""The table of checks: every row is documented, has a failure of its own, and is tested in all three verdicts."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import fuzzmcp
from fuzzmcp.checks import CHECKS, HELD, NOT_EXERCISED, CheckFailed, Violation

from .clients import client, plain, retrying

NAMES = list(CHECKS)
TESTS = {
    node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno])
    for path in sorted(Path(__file__).parent.glob("test_*.py"))
    for lines in [path.read_text("utf-8").splitlines()]
    for node in ast.parse("\n".join(lines)).body
    if isinstance(node, ast.FunctionDef)
}
DESIGN = (
    "finishes",
    "expected_errors",
    "right_answer",
    "drift_caught",
    "valid_accepted",
    "error_channels",
    "request_budget",
    "retry_after",
    "spend_cap",
    "no_pointless_retry",
    "backoff",
    "unsafe_retry",
    "relists",
    "cancels",
    "isolation",
    "traffic",
    "peer_duties",
    "survives",
    "cleans_up",
    "never_blocks",
    "wire_valid",
)


def test_the_checks_are_those_of_the_design_in_its_order() -> None:
    assert tuple(NAMES) == DESIGN


def test_every_function_that_reads_like_a_check_is_one() -> None:
    modules = {inspect.getmodule(check.judge) for check in CHECKS.values()}
    rules = {
        name for module in modules for name, rule in vars(module).items() if "\nWhy: " in (inspect.getdoc(rule) or "")
    }
    assert rules == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_check_says_what_it_demands_why_and_what_to_do(name: str) -> None:
    check = CHECKS[name]
    assert check.name == name
    for text in (check.demands, check.why, check.advice):
        assert text.strip() == text
        assert text.endswith((".", ")"))
        assert "\n" not in text
    assert not re.search(r"\b(Why|Do):", check.demands + check.why + check.advice)
    assert re.search(r"MCP|JSON-RPC|policy|requests are independent|a fault ends one request", check.why)


def test_each_check_has_a_failure_of_its_own() -> None:
    failures = [check.failure for check in CHECKS.values()]
    assert len(set(failures)) == len({failure.__name__ for failure in failures}) == len(CHECKS)
    for check in CHECKS.values():
        assert issubclass(check.failure, CheckFailed)
        assert issubclass(check.failure, AssertionError)
        assert str(check.failure(Violation("it broke"))) == f"{check.name}: it broke"


def expecting(name: str, verdict: str) -> list[str]:
    """The tests of a check, by what the name begins with and what the body asks for."""
    found = [(test, body) for test, body in TESTS.items() if test.startswith(f"test_{name}_")]
    if verdict == "violated":
        return [test for test, body in found if "_is_broken_by" in test or "violated(" in body or ".message" in body]
    return [test for test, body in found if f"== {verdict}" in body or f", {verdict}" in body]


@pytest.mark.parametrize("verdict", ["violated", "HELD", "NOT_EXERCISED"])
@pytest.mark.parametrize("name", NAMES)
def test_each_check_is_tested_in_all_three_verdicts(name: str, verdict: str) -> None:
    assert expecting(name, verdict), f"no test of {name} expects {verdict}"


def test_a_judgement_has_a_verdict_of_every_check_in_order() -> None:
    verdicts = fuzzmcp.judge(fuzzmcp.run(client(retrying(1.0)), "429cap"))
    assert list(verdicts) == NAMES
    assert {type(verdict) for verdict in verdicts.values()} == {str, Violation}
    assert {verdict for verdict in verdicts.values() if isinstance(verdict, str)} == {HELD, NOT_EXERCISED}


def test_no_check_accuses_or_is_exercised_without_a_fault() -> None:
    verdicts = fuzzmcp.judge(fuzzmcp.run(client(plain), ""))
    assert set(verdicts.values()) == {NOT_EXERCISED}


def test_only_the_checks_that_are_named_are_asked() -> None:
    run = fuzzmcp.run(client(plain), "429cap")
    assert list(fuzzmcp.judge(run, None, ["spend_cap", "finishes"])) == ["spend_cap", "finishes"]
    with pytest.raises(ValueError, match="unknown check 'no_such_check'"):
        fuzzmcp.judge(run, None, ["no_such_check"])


def test_a_run_without_any_event_can_be_judged() -> None:
    async def idle(server: object) -> None:
        return None

    run = fuzzmcp.run(idle, "429cap")
    assert not any(isinstance(verdict, Violation) for verdict in fuzzmcp.judge(run).values())
