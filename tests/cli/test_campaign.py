"""`fuzzmcp campaign`, as a job runs it every night."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from commands import invoke, signalled
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.cli.campaign import time_left
from fuzzmcp.report.load import loads
from fuzzmcp.search.corpus import case_files, read

NAIVE = "fuzzmcp.examples.naive_agent:connect"
CAREFUL = "fuzzmcp.examples.careful_agent:connect"
NOW = datetime.datetime(2026, 11, 29, 2, 0, tzinfo=datetime.timezone.utc)
QUICK = ("--runs", "40", "--check", "spend_cap", "--check", "retry_after", "--no-canary", "--database", "none")
"""Both checks are violated before the sweep has had its share."""
AT_ONCE = (*QUICK, "--runs", "1")
"""What is saved is replayed, and next to nothing is searched."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    _nothing_of_ci(monkeypatch)
    return tmp_path


def _nothing_of_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_SHA", "GITHUB_STEP_SUMMARY", "CI_JOB_TIMEOUT", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """The first campaign of a project, and the folder in which it was started."""
    folder = tmp_path_factory.mktemp("night")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _nothing_of_ci(patch)
        return invoke("campaign", NAIVE, *QUICK, "--seed", "1"), folder


@pytest.fixture
def first(night: tuple[Result, Path], folder: Path) -> Result:
    """The first campaign; what it saved lies in the folder of the test."""
    shutil.copytree(night[1] / "regressions", folder / "regressions")
    return night[0]


def test_new_findings_fail_the_build_and_known_ones_do_not(first: Result) -> None:
    assert first.exit_code == 1
    assert "new                spend_cap-c8ce5282  429cap  saved as regressions/spend_cap-c8ce5282.toml" in first.stderr
    again = invoke("campaign", NAIVE, *QUICK, "--baseline", "regressions")
    assert again.exit_code == 0
    assert "still fails        spend_cap-c8ce5282  429cap  in the baseline" in again.stderr
    assert "0 new findings, 2 known" in again.stdout
    assert invoke("campaign", NAIVE, *AT_ONCE).exit_code == 1, "without a baseline, nothing may fail"


@pytest.mark.usefixtures("first")
def test_what_is_fixed_is_stale() -> None:
    mended = invoke("campaign", CAREFUL, *AT_ONCE, "--baseline", "regressions", "--report", "json=report.json")
    assert mended.exit_code == 0
    names = [path.stem for path in case_files(["regressions"])]
    assert loads(Path("report.json").read_bytes()).stale == tuple(names)
    assert len(names) == 2
    assert all(name in mended.stdout for name in names)


@pytest.mark.usefixtures("first")
def test_the_report_tells_known_from_new_and_where_they_are_saved() -> None:
    (unknown,) = Path("regressions").glob("retry_after-*.toml")
    unknown.unlink()
    invoke("campaign", NAIVE, *QUICK, "--fail-fast", "--baseline", "regressions", "--report", "json=report.json")
    findings = json.loads(Path("report.json").read_text())["findings"]
    assert [(f["check"], f.get("known", False)) for f in findings] == [("spend_cap", True), ("retry_after", False)]
    assert [read(f["saved"]).check for f in findings] == ["spend_cap", "retry_after"]
    assert findings[0]["replay"] == f"fuzzmcp replay {NAIVE} {findings[0]['saved']}"


def test_fail_fast_and_max_findings_end_it_early() -> None:
    invoke("campaign", NAIVE, *QUICK, "--fail-fast", "--save", "one")
    invoke("campaign", NAIVE, *QUICK, "--max-findings", "2", "--save", "two")
    assert (len(case_files(["one"])), len(case_files(["two"]))) == (1, 2)


def test_the_canary_is_looked_for_unless_it_is_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzzmcp.search.campaign.CANARY_RUNS", 1)
    dead = invoke("campaign", NAIVE, "--runs", "20", "--database", "none")
    assert dead.exit_code == 3
    assert (
        "the canary lives: a planted bug was not found in 1 runs: whatever this campaign does not find" in dead.stderr
    )
    assert invoke("campaign", NAIVE, *QUICK, "--fail-fast").exit_code == 1


def test_a_commit_is_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "c0ffee1234567890c0ffee1234567890c0ffee12")
    for seed in ("commit", "c0ffee1", "c0ffee1234567890c0ffee1234567890c0ffee12", "202374881"):
        assert "with seed 202374881" in invoke("campaign", CAREFUL, *AT_ONCE, "--seed", seed).stderr
    wrong = invoke("campaign", NAIVE, "--seed", "HEAD")
    assert (wrong.exit_code, "the hash of a commit, or 'commit', found 'HEAD'" in wrong.stderr) == (2, True)


def test_without_a_seed_each_campaign_has_a_new_one_and_prints_it() -> None:
    seeds = {invoke("campaign", CAREFUL, *AT_ONCE).stderr.splitlines()[0] for _ in range(2)}
    assert len(seeds) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--save", "pyproject.toml"), "--save: cannot write to 'pyproject.toml'"),
        (("--database", "github:owner"), "expected github:OWNER/REPO"),
        (("--report", "xml=x"), "--report: unknown kind of report 'xml'"),
    ],
)
def test_bad_usage_is_told_before_anything_runs(options: tuple[str, ...], message: str) -> None:
    Path("pyproject.toml").write_text("")
    seen = invoke("campaign", NAIVE, "--runs", "10", *options)
    assert (seen.exit_code, message in seen.stderr) == (2, True)
    assert "calibrate" not in seen.stderr


def test_it_ends_before_the_limit_of_ci() -> None:
    seen = invoke("campaign", CAREFUL, *AT_ONCE, "--time", "30m", "--limit", "10m")
    assert "the time is cut to 456 s: CI leaves 600 s" in seen.stderr


def test_gitlab_tells_what_is_left_github_has_its_default_and_others_none() -> None:
    gitlab = {"CI_JOB_TIMEOUT": "3600", "CI_JOB_STARTED_AT": "2026-11-29T01:50:00Z"}
    assert time_left(gitlab, NOW) == 3000.0
    assert time_left({"GITHUB_ACTIONS": "true"}, NOW) == 6 * 3600
    assert time_left({}, NOW) == float("inf")


@given(
    st.dictionaries(st.sampled_from(["CI_JOB_TIMEOUT", "CI_JOB_STARTED_AT", "GITHUB_ACTIONS"]), st.text(max_size=25))
)
def test_whatever_ci_says_there_is_some_time(environment: dict[str, str]) -> None:
    assert time_left(environment, NOW) > 0


def test_the_first_night_has_no_baseline_yet() -> None:
    seen = invoke("campaign", NAIVE, *QUICK, "--fail-fast", "--baseline", "none yet")
    assert seen.exit_code == 1
    assert "the baseline 'none yet' has no saved case yet: nothing may fail" in seen.stderr


def test_a_baseline_that_finds_itself_is_told() -> None:
    seen = invoke("campaign", NAIVE, *AT_ONCE, "--baseline", "regressions/")
    assert "findings are saved into the baseline itself: they fail this campaign" in seen.stderr
    assert "into the baseline itself" not in invoke("campaign", NAIVE, *AT_ONCE, "--baseline", "other").stderr


def test_examples_are_kept_in_a_folder_that_git_ignores() -> None:
    invoke("campaign", NAIVE, "--runs", "10", "--no-canary", "--check", "spend_cap")
    assert "*" in Path(".fuzzmcp/examples/.gitignore").read_text().splitlines()


# -- how it ends ------------------------------------------------------------------------------------------------------


def _started(*options: str) -> subprocess.Popen[str]:
    checks = ("--checks", "no_pointless_retry,retry_after,spend_cap")
    command = [sys.executable, "-m", "fuzzmcp", "campaign", NAIVE, "--runs", "3000", "--no-canary", *checks, *options]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def _told(process: subprocess.Popen[str], count: int) -> list[str]:
    """Read stderr until `count` findings are told, and the file of each as soon as it is; the names of the files."""
    files: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        if "saved as" in line:
            files.append(line.split()[-1])
            read(files[-1])
        if len(files) == count:
            break
    return files


def test_a_campaign_that_is_ended_reports_what_it_found() -> None:
    with _started("--report", "json=report.json") as process:
        files = _told(process, 2)
        process.send_signal(signal.SIGTERM)
        process.communicate()
    assert process.returncode == 1
    report = loads(Path("report.json").read_bytes())
    assert report.interrupted
    assert len(files) == 2
    assert set(files) <= {finding.saved for finding in report.findings}


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_campaign_that_is_ended_in_the_middle_of_a_run_reports_what_it_found(name: str) -> None:
    seen = invoke(
        "campaign", signalled(Path(), name, connection=50), *QUICK, "--runs", "300", "--report", "json=report.json"
    )
    assert seen.exit_code == 1
    report = loads(Path("report.json").read_bytes())
    assert report.interrupted
    assert report.runs < 100, "the client rings at its fiftieth connection"
    assert [finding.saved for finding in report.findings] == list(map(str, case_files(["regressions"])))
    assert len(report.findings) == 2


def test_a_campaign_that_is_killed_loses_nothing_that_it_told() -> None:
    with _started() as process:
        files = _told(process, 3)
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert len([read(file) for file in files]) == 3
    for file in case_files(["regressions"]):
        read(file)
