"""A campaign: canary, saved cases, search, and what may fail."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from fuzzmcp.api import case_of
from fuzzmcp.examples import careful_agent, naive_agent
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, campaign
from fuzzmcp.search.campaign import CanaryMissed, Plan, keep, look_for_canary, run_campaign
from fuzzmcp.search.corpus import CaseFileError, SavedCase, case_files, read, save
from fuzzmcp.search.findings import short
from fuzzmcp.search.job import Job
from fuzzmcp.search.readiness import CannotRun

CHECKS = ("spend_cap", "retry_after", "drift_caught")
FEW = Budget(20)
"""Enough for the saved cases, which come first."""


def plan(client: Any = naive_agent.connect, **changes: Any) -> Plan:
    facts: dict[str, Any] = {"seed": 1, "budget": Budget(60), "canary": False}
    return Plan(Job(target_of(client), case_of(), checks=CHECKS), **facts | changes)


def names(folder: Path) -> list[str]:
    return [path.stem.partition("-")[0] for path in case_files([folder])]


@dataclasses.dataclass(frozen=True)
class First:
    """A first campaign: where it saved what it found, how it ended, and each finding as it was told and as saved."""

    folder: Path
    outcome: campaign.Outcome
    told: list[tuple[str, str]]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    folder, told = tmp_path_factory.mktemp("first"), []
    outcome = run_campaign(
        plan(folder=folder), on_finding=lambda finding, path: told.append((finding.name, read(path).name))
    )
    return First(folder, outcome, told)


@pytest.fixture
def saved(first: First, tmp_path: Path) -> Path:
    """A folder with what a first campaign saved."""
    return Path(shutil.copytree(first.folder, tmp_path / "saved"))


def test_what_is_found_is_saved_before_it_is_told(first: First) -> None:
    assert names(first.folder) == ["drift_caught", "retry_after", "spend_cap"]
    assert {name for name, _ in first.told} == {finding.name for finding in first.outcome.result.findings}
    assert all(name == saved for name, saved in first.told)
    assert {path.stem for path in first.outcome.files.values()} == set(first.outcome.unexpected)


def test_the_next_campaign_knows_them_and_finds_nothing_new(saved: Path) -> None:
    again = run_campaign(plan(folder=saved, seed=2))
    assert again.result.findings == []
    assert [seen.status for seen in again.replays] == ["still fails"] * 3
    assert sorted(again.result.known) == [0, 1, 2]
    assert again.unexpected == tuple(seen.saved.name for seen in again.replays)


def test_the_baseline_may_fail(saved: Path) -> None:
    again = run_campaign(plan(folder=saved, baseline=saved, budget=FEW))
    assert (again.unexpected, again.stale) == ((), ())


def test_what_is_not_in_the_baseline_is_still_a_failure(saved: Path) -> None:
    (old,) = [path for path in case_files([saved]) if path.stem.startswith("spend_cap")]
    again = run_campaign(plan(folder=saved, baseline=old, budget=FEW))
    assert sorted(name.partition("-")[0] for name in again.unexpected) == ["drift_caught", "retry_after"]


def test_saved_cases_that_fail_no_more_are_stale(saved: Path) -> None:
    mended = run_campaign(plan(careful_agent.connect, folder=saved, baseline=saved, budget=FEW))
    assert (mended.unexpected, mended.result.findings) == ((), [])
    assert sorted(name.partition("-")[0] for name in mended.stale) == ["drift_caught", "retry_after", "spend_cap"]


def test_a_bug_that_comes_back_is_found_by_its_saved_case_first(tmp_path: Path) -> None:
    save(tmp_path, "spend_cap-mine", SavedCase("spend_cap", case_of("ok,429cap", calls=["get_order()", "get_order()"])))
    outcome = run_campaign(plan(folder=tmp_path, budget=Budget(1)))
    assert outcome.unexpected == ("spend_cap-mine",)


def test_a_saved_case_that_fails_differently_becomes_a_finding_of_its_own(tmp_path: Path) -> None:
    save(tmp_path, "drift_caught-mine", SavedCase("drift_caught", case_of("429cap")))
    outcome = run_campaign(plan(folder=tmp_path, budget=Budget(2)))
    assert "spend_cap" in [finding.check for finding in outcome.result.findings]
    assert outcome.unexpected[0] == "drift_caught-mine"


def test_it_ends_after_so_many_findings(tmp_path: Path) -> None:
    outcome = run_campaign(plan(folder=tmp_path, max_findings=1))
    assert (len(outcome.result.findings), names(tmp_path)) == (1, names(tmp_path)[:1])


def test_nothing_is_saved_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run_campaign(plan())
    assert (len(outcome.result.findings), outcome.files, list(tmp_path.iterdir())) == (3, {}, [])


def test_a_bad_saved_case_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("check = 3\n")
    with pytest.raises(CaseFileError, match=r"bad\.toml"):
        run_campaign(plan(folder=tmp_path))


def test_a_baseline_that_is_not_there_yet_lets_nothing_fail(tmp_path: Path) -> None:
    assert len(run_campaign(plan(baseline=tmp_path / "none yet")).unexpected) == 3


def test_a_client_that_cannot_run_is_told_before_the_saved_cases(tmp_path: Path) -> None:
    async def broken(server: Any) -> None:
        raise OSError("no such host")

    save(tmp_path, "spend_cap-mine", SavedCase("spend_cap", case_of("429cap")))
    with pytest.raises(CannotRun, match="no such host"):
        run_campaign(plan(broken, folder=tmp_path))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("tools", [None, [{"name": "echo", "inputSchema": {"type": "object"}}]])
@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
def test_the_canary_is_found_with_any_catalogue_loop_and_protocol(backend: str, tools: Any, protocol: str) -> None:
    look_for_canary(case_of(backend=backend, tools=tools, protocol=protocol), seed=3)


CANARY_IS_FOUND = 40
"""Runs within which the canary is found where nothing is wrong."""


def test_the_canary_is_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, the canary dies in vain in the tests below."""
    monkeypatch.setattr(campaign, "CANARY_RUNS", CANARY_IS_FOUND)
    look_for_canary(case_of(), seed=1)


def test_a_dead_check_is_seen_by_the_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzmcp.checks import CHECKS, HELD

    dead = dataclasses.replace(CHECKS["spend_cap"], judge=lambda facts, contract: HELD)
    monkeypatch.setitem(CHECKS, "spend_cap", dead)
    monkeypatch.setattr(campaign, "CANARY_RUNS", CANARY_IS_FOUND)
    with pytest.raises(CanaryMissed, match="a planted bug was not found in"):
        run_campaign(plan(canary=True))


def test_a_dead_fault_is_seen_by_the_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzmcp.harness.server import answers

    monkeypatch.setattr(answers, "build", _always_ok(answers.build))
    monkeypatch.setattr(campaign, "CANARY_RUNS", CANARY_IS_FOUND)
    with pytest.raises(CanaryMissed):
        look_for_canary(case_of(), seed=1)


def _always_ok(build: Any) -> Any:
    from fuzzmcp.core.script import OK

    return lambda action, *arguments, **options: build(OK, *arguments, **options)


def test_a_case_that_is_lost_on_the_way_is_seen_by_the_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    saved_case = campaign.saved_case

    def lossy(finding: Any, role: str = "client") -> SavedCase:
        return dataclasses.replace(saved_case(finding, role), case=case_of())

    monkeypatch.setattr(campaign, "saved_case", lossy)
    with pytest.raises(CanaryMissed, match="the canary's case was saved as 'ok'; replayed: error"):
        look_for_canary(case_of(), seed=1)


# -- names of files ---------------------------------------------------------------------------------------------------


def test_a_finding_in_a_file_of_four_digits_is_the_same_finding(tmp_path: Path, first: First) -> None:
    """Older versions named findings by four digits: their files are found again, and no second file is written."""
    for finding in first.outcome.result.findings:
        path = keep(tmp_path, finding)
        assert path.stem == finding.name
        old = path.rename(tmp_path / f"{short(finding.name)}.toml")
        assert len(old.stem) == len(path.stem) - 4
        assert keep(tmp_path, finding) == old
    before = sorted(path.name for path in tmp_path.iterdir())
    again = run_campaign(plan(folder=tmp_path, seed=2))
    assert again.result.findings == []
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.parametrize("digits", [4, 8])
def test_a_file_of_another_finding_with_the_same_digits_does_not_swallow_one(
    tmp_path: Path, first: First, digits: int
) -> None:
    finding = next(finding for finding in first.outcome.result.findings if finding.check == "spend_cap")
    name = f"spend_cap-{finding.fingerprint[:digits]}"
    other, _ = save(tmp_path, name, SavedCase("spend_cap", case_of("list:hang,429cap"), "another"))
    path = keep(tmp_path, finding)
    assert path != other
    assert read(path).case.script == finding.case.script
    assert str(read(other).case.script) == "list:hang,429cap"
    assert keep(tmp_path, finding) == path


def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, first: First) -> None:
    finding = first.outcome.result.findings[0]
    path = keep(tmp_path, finding)
    path.write_text("a person is in the middle of something")
    assert keep(tmp_path, finding) == path
