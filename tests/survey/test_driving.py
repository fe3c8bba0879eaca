"""Driving a row: once for real in this environment, and then with programs that stand for an environment's Python.

The search of the real one is in this process: the reactions are a process of their own, as are all the programs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from commands import invoke
from report.samples import finding_of, report_with

from fuzzmcp.checks import CHECKS
from fuzzmcp.clients._table import Adapter
from survey import driving
from survey.driving import Budget, Ended, Processes, survey
from survey.reactions import FAULTS
from survey.results import Result
from survey.rows import MCP2, Row

ROW = Row("sdk", Adapter("sdk_session", "The SDK", ("fastmcp[x]>=3",)), MCP2, "2026-07-28")
DAY = "2026-11-30"
SCRIPTS = [script for group in FAULTS.values() for script in group]

PROGRAM = """#!{python}
import json, pathlib, signal, sys, time
if sys.argv[1] != "-m":
    pathlib.Path({asked!r}).write_text(json.dumps(sys.argv[1:]))
    print(json.dumps({{"python": "3.12.1", "packages": {{"mcp": "2.3.0"}}}}))
    for script in {scripts!r}:
        print(json.dumps({{"faults": script, "status": "returned", "flag": False}}))
    {reactions}
    sys.exit(0)
report = pathlib.Path({report!r}).read_text()
{search}
"""
WRITE = "pathlib.Path('report.json').write_text(report)"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "saved.json"
    path.write_text(report_with(finding_of("429cap", "spend_cap")).dumps())
    return path


def surveyed(report: Path, search: str, scripts: list[str] = SCRIPTS, reactions: str = "", **budget: float) -> Result:
    """The result of a row whose Python is a program of a few lines."""
    program, asked = report.with_name("python"), report.with_name("asked.json")
    text = PROGRAM.format(
        python=sys.executable, asked=str(asked), scripts=scripts, reactions=reactions, report=str(report), search=search
    )
    program.write_text(text)
    program.chmod(0o755)
    return survey(ROW, program, Budget(5, 1, **budget), DAY, Processes())


class SearchedHere(Processes):
    """Runs a search in this process."""

    def run(self, command: Sequence[str], folder: Path, seconds: float) -> Ended:
        if list(command[1:4]) != ["-m", "fuzzmcp", "run"]:
            return super().run(command, folder, seconds)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            result = invoke(*command[3:])
        return Ended(result.exit_code, result.stdout, result.stderr)


def test_a_row_comes_home_with_versions_checks_findings_and_reactions() -> None:
    row = Row("sdk", Adapter("sdk_session", "The SDK"), MCP2)
    result = survey(row, Path(sys.executable), Budget(runs=5, seed=3), DAY, SearchedHere())
    assert result.failure is None, result.failure
    assert (result.row, result.date, result.seed, result.runs) == ("sdk", DAY, 3, 5)
    assert {"mcp", "fuzzmcp"} == set(result.packages)
    assert set(result.checks) == set(CHECKS)
    assert [one.faults for one in result.reactions] == SCRIPTS
    assert result.note == ""


@pytest.mark.parametrize("code", [0, 1])
def test_findings_or_none_a_report_is_a_result(report: Path, code: int) -> None:
    result = surveyed(report, f"{WRITE}; sys.exit({code})")
    assert (result.failure, result.python, result.packages) == (None, "3.12.1", {"mcp": "2.3.0"})
    assert [one.faults for one in result.findings] == ["429cap"]
    asked = report.with_name("asked.json").read_text()
    assert '"fuzzmcp.clients.sdk_session:connect", "--protocol", "2026-07-28", "--packages", "fastmcp"]' in asked


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (
            "print('fuzzmcp: cannot import x\\n\\nTraceback', file=sys.stderr); sys.exit(3)",
            "cannot import x (exit code 3)",
        ),
        (f"{WRITE}; sys.exit(2)", "it said nothing (exit code 2)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "it said nothing (exit code -9)"),
        ("sys.exit(1)", "it said nothing (exit code 1)"),
    ],
)
def test_a_search_that_fails_is_a_row_with_the_reason(report: Path, search: str, reason: str) -> None:
    result = surveyed(report, search)
    assert result.failure == reason
    assert result.packages == {"mcp": "2.3.0"}
    assert result.checks == {}


WAIT = "print('waits', flush=True); time.sleep(600)"


def test_a_search_that_does_not_end_is_interrupted_and_what_it_has_is_kept(report: Path) -> None:
    result = surveyed(report, f"try: {WAIT}\nexcept KeyboardInterrupt: {WRITE}", seconds=1)
    assert result.failure is None
    assert [one.faults for one in result.findings] == ["429cap"]


def test_a_search_that_cannot_be_interrupted_is_killed(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "GRACE", 0.5)
    result = surveyed(report, f"signal.signal(signal.SIGINT, signal.SIG_IGN); {WAIT}", seconds=1)
    assert result.failure == "not done after 1 s"


def test_reactions_that_stop_in_the_middle_are_kept_and_noted(report: Path) -> None:
    crash = "print('{\"faults'); print('worse', file=sys.stderr); sys.exit(7)"
    result = surveyed(report, WRITE, scripts=SCRIPTS[:3], reactions=crash)
    assert [one.faults for one in result.reactions] == SCRIPTS[:3]
    assert result.note == f"{len(SCRIPTS) - 3} faults were not tried: worse (exit code 7)"


def test_a_python_that_is_not_there_is_a_failure_too() -> None:
    result = survey(ROW, Path("no/such/python"), Budget(runs=5), DAY, Processes())
    assert result.failure == "no/such/python: No such file or directory (exit code 3)"


def test_nothing_is_started_after_a_stop() -> None:
    processes = Processes()
    processes.stop()
    assert processes.run([sys.executable, "-c", "print('began')"], Path.cwd(), 60).stdout == ""
