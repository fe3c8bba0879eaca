import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import ClientSession

from fuzzmcp.api import case_of, contract_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.examples import careful_agent, naive_agent, sdk_client
from fuzzmcp.harness.run import HarnessError
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, CannotRun, Search
from fuzzmcp.search import engine as engine_module
from fuzzmcp.search import job as job_module
from fuzzmcp.search.job import Job


def search(client, runs, checks=tuple(CHECKS), **options):
    job = Job(target_of(client), case_of(), contract_of(client), tuple(checks))
    return Search(job, budget=Budget(runs=runs), **options)


def scripts(result):
    return {(finding.check, str(finding.case.script)) for finding in result.findings}


@pytest.fixture(scope="module")
def naive():
    """What a short search finds in the naive agent."""
    return search(naive_agent.connect, 180, seed=1, phases=("calibrate", "sweep")).run()


def test_the_canary_is_found(naive):
    """If this fails, the search is blind: trust no silence of it."""
    assert ("spend_cap", "429cap") in scripts(naive)


def test_planted_bugs_end_in_their_known_smallest_scripts(naive):
    assert {
        ("retry_after", "429"),
        ("drift_caught", "drift(created>Created)"),
        ("no_pointless_retry", "error"),
        ("relists", "list_changed"),
    } <= scripts(naive)


def test_a_budget_of_requests_is_crossed_in_the_fewest_steps(naive):
    finding = next(f for f in naive.findings if f.check == "request_budget")
    assert sum(step.count for step in finding.case.script.steps) == contract_of(naive_agent.connect).max_requests


def test_findings_are_minimal_and_deterministic(naive):
    assert all(finding.minimal and finding.deterministic for finding in naive.findings)


def test_every_finding_has_evidence_that_belongs_to_its_run(naive):
    for finding in naive.findings:
        assert finding.violation.evidence
        assert all(event in finding.run.events for event in finding.violation.evidence)


def test_no_two_findings_have_the_same_name(naive):
    names = [finding.name for finding in naive.findings]
    assert len(set(names)) == len(names)


@asynccontextmanager
async def raises_types_that_collide(server):
    """A client that answers two faults by two exceptions, so that both bugs have the digits 5a5ae816."""
    async with sdk_client.connect(server) as call_tool:

        async def call(name, arguments):
            result = await call_tool(name, arguments)
            if result.isError if hasattr(result, "isError") else result.is_error:
                late = "timed out" in result.content[0].text
                raise type("E15874" if late else "E52781", (Exception,), {})
            return result

        yield call


def test_two_bugs_whose_names_collide_are_both_told():
    contract = replace(contract_of(naive_agent.connect), accepts=())
    found = Search(
        Job(target_of(raises_types_that_collide), case_of(), contract, ("expected_errors",)),
        budget=Budget(runs=100),
        phases=("calibrate", "sweep"),
    ).run()
    names = {finding.bug: finding.name for finding in found.findings if finding.fingerprint.startswith("5a5ae816")}
    assert names == {
        "expected_errors|error|E52781": "expected_errors-5a5ae816",
        "expected_errors|504|E15874": "expected_errors-5a5ae816-2",
    }


def test_a_careful_client_is_not_accused_and_the_checks_were_exercised():
    result = search(careful_agent.connect, 220, seed=2).run()
    assert result.findings == []
    checks, _ = result.tally.as_json()
    assert [name for name in CHECKS if not checks[name]["held"]] == []


def test_the_same_seed_brings_the_same_findings_and_counts():
    def result():
        found = search(naive_agent.connect, 40, seed=7, phases=("fuzz",)).run()
        assert len(found.findings) > 2
        return scripts(found), found.runs, json.dumps(found.tally.as_json())

    assert result() == result()


def test_another_seed_draws_other_cases():
    tallies = {
        json.dumps(search(careful_agent.connect, 15, seed=n, phases=("fuzz",)).run().tally.as_json()) for n in (1, 2)
    }
    assert len(tallies) == 2


def test_the_fuzz_phase_alone_finds_and_shrinks():
    result = search(naive_agent.connect, 300, seed=3, phases=("fuzz",), checks=["spend_cap"], until=bool).run()
    assert scripts(result) == {("spend_cap", "429cap")}


def test_calibration_learns_when_the_client_gives_up():
    result = search(careful_agent.connect, 10, phases=("calibrate",)).run()
    assert careful_agent.ATTEMPT_SECONDS in result.moments


def test_only_the_checks_that_were_asked_for_accuse():
    result = search(naive_agent.connect, 40, checks=["spend_cap"], phases=("sweep",)).run()
    assert {finding.check for finding in result.findings} == {"spend_cap"}


def test_the_budget_of_runs_is_kept_but_for_a_violation_in_work():
    result = search(naive_agent.connect, 30, seed=1).run()
    assert 30 <= result.runs <= 230


def test_a_client_that_cannot_connect_cannot_be_run():
    @asynccontextmanager
    async def broken(server):
        raise OSError("no such key")
        yield

    with pytest.raises(CannotRun, match=r"before the first call.*no such key") as caught:
        search(broken, 10).run()
    assert "OSError" in caught.value.run.connect_traceback


def test_an_interrupt_of_the_user_ends_the_search_with_what_was_found():
    def press(progress):
        if progress.findings >= 2:
            raise KeyboardInterrupt

    result = search(naive_agent.connect, 2_000, on_progress=press).run()
    assert result.interrupted
    assert len(result.findings) >= 2


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_client_that_raises_what_ends_programs_is_a_finding(error):
    @asynccontextmanager
    async def rash(server):
        async with naive_agent.connect(server) as call:

            async def call_tool(tool, arguments):
                result = await call(tool, arguments)
                if result.get("order_id") is None:
                    raise error
                return result

            yield call_tool

    result = search(rash, 40, checks=["expected_errors"], phases=("sweep",)).run()
    assert {finding.check for finding in result.findings} == {"expected_errors"}
    assert any(error.__name__ in finding.violation.message for finding in result.findings)


def test_a_failure_of_the_harness_is_never_a_finding(monkeypatch):
    drive = job_module.drive

    def failing(case, *args, **options):
        if "hang" in str(case.script):
            raise HarnessError("out of order")
        return drive(case, *args, **options)

    monkeypatch.setattr(job_module, "drive", failing)
    with pytest.raises(HarnessError, match="out of order"):
        search(naive_agent.connect, 400, phases=("fuzz",)).run()


def test_a_violation_without_any_fault_is_found_as_ok():
    @asynccontextmanager
    async def blocking(server):
        import time

        async with careful_agent.connect(server) as call:

            async def call_tool(tool, arguments):
                time.sleep(1)  # noqa: ASYNC251 - the planted bug
                return await call(tool, arguments)

            yield call_tool

    result = search(blocking, 30, checks=["never_blocks"]).run()
    assert scripts(result) == {("never_blocks", "ok")}


def test_an_interrupt_while_a_violation_shrinks_still_reports_it(monkeypatch):
    calls = 0
    minimize = engine_module.minimize

    def interrupted(case, violates):
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return minimize(case, violates)

    monkeypatch.setattr(engine_module, "minimize", interrupted)
    result = search(naive_agent.connect, 2_000).run()
    assert result.interrupted
    assert [finding.minimal for finding in result.findings].count(False) == 1


def test_a_search_ends_with_the_finding_that_was_asked_for_and_tells_when_it_was_exposed(naive):
    cut = search(naive_agent.connect, 180, seed=1, until=lambda finding: finding.check == "spend_cap").run()
    assert "spend_cap" in {finding.check for finding in cut.findings}
    assert 0 < cut.exposed["spend_cap"].runs <= cut.runs < naive.runs
    for met in (cut, naive):
        assert met.exposed["spend_cap"].cases == cut.exposed["spend_cap"].cases


@asynccontextmanager
async def two_mistakes(server: Any) -> AsyncIterator[Any]:
    """Raises one mistake when a result is no success, another when none comes."""
    async with server.connect() as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            try:
                with anyio.fail_after(5):
                    result = await session.call_tool(tool, arguments)
            except TimeoutError:
                raise UnboundLocalError("result") from None
            except Exception as error:
                raise KeyError("structured") from error
            return result

        yield call_tool


def test_another_type_of_exception_is_another_finding() -> None:
    findings = search(two_mistakes, 40, seed=1, checks=["expected_errors"], phases=("sweep",)).run().findings
    told = {finding.violation.exception: str(finding.case.script) for finding in findings}
    assert set(told) == {"UnboundLocalError", "KeyError"}
    assert all(finding.minimal for finding in findings)
    for finding in findings:
        assert type(finding.run.outcomes[0].error).__name__ == finding.violation.exception


def test_what_was_only_seen_by_the_way_becomes_a_finding_too() -> None:
    """A budget of one run ends the search at once; the run of the saved case breaks two checks."""
    job = Job(target_of(naive_agent.connect), case_of("429cap"))
    search = Search(job, seed=1, budget=Budget(1), corpus=[("spend_cap", job.case)])
    result = search.run()
    seen = {name for name, counts in result.tally.checks.items() if counts["violated"]}
    assert seen - {"spend_cap"} == {finding.check for finding in result.findings}


def test_a_ctrl_c_that_python_has_swallowed_ends_the_search_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(Job(target_of(naive_agent.connect), case_of()), seed=1, budget=Budget(500))

    class Swallows:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def on_progress(progress: Any) -> None:
        if progress.runs >= 20 and not pressed:
            pressed.append(Swallows())
            with contextlib.suppress(IndexError):
                pressed[:] = [None]

    pressed: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: None)
    search._on_progress = on_progress
    result = search.run()
    assert result.interrupted
    assert result.runs < 100


def test_what_comes_to_light_while_leftovers_shrink_has_its_turn_as_well(monkeypatch):
    found = search(naive_agent.connect, 40, seed=1)
    case, shrunk = case_of("429"), []
    found._glimpsed = {("retry_after", ""): case}

    def shows_another(check, case):
        shrunk.append(check)
        found._glimpsed.setdefault(("backoff", ""), case)
        raise engine_module.StopSearch

    monkeypatch.setattr(found, "_minimal", shows_another)
    found._follow_up()
    assert shrunk == ["retry_after", "backoff"]
