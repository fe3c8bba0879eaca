"""Making environments: with a pip that only writes down what it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from installing import Done, reason_of, run

from survey.environments import Ready, ready
from survey.rows import MCP2

REFUSED = "Collecting bad\nERROR: ResolutionImpossible: bad wants mcp<1\n"


class Pip:
    """Writes down the commands, and fails for those that hold a bad word."""

    def __init__(self, *bad: str) -> None:
        self.commands: list[list[str]] = []
        self.bad = bad

    def __call__(self, command: Sequence[str]) -> Done:
        self.commands.append(list(command))
        if "venv" in command:
            python = Path(command[-1]) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
            python.parent.mkdir(parents=True)
            python.touch()
        return Done(1, REFUSED) if any(word in command for word in self.bad) else Done(0)

    @property
    def asked(self) -> list[list[str]]:
        """What each run of pip was to install, beside the project and the SDK."""
        return [command[command.index(MCP2.pin) + 1 :] for command in self.commands if MCP2.pin in command]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return tmp_path


def test_everything_is_installed_at_once(root: Path) -> None:
    pip = Pip()
    made = ready(MCP2, ["a>=1", "b>=1"], root, pip)
    assert pip.asked == [["a>=1", "b>=1"]]
    assert made.failures == {}
    assert made.python.is_relative_to(root / MCP2.folder)


def test_the_second_time_nothing_is_run(root: Path) -> None:
    ready(MCP2, ["a>=1"], root, Pip())
    again = Pip()
    assert ready(MCP2, ["a>=1"], root, again).failures == {}
    assert again.commands == []


def test_what_is_new_is_installed_beside_what_is_there(root: Path) -> None:
    ready(MCP2, ["a>=1"], root, Pip())
    again = Pip()
    ready(MCP2, ["b>=1"], root, again)
    assert again.asked == [["a>=1", "b>=1"]]
    ready(MCP2, ["a>=1", "b>=1"], root, again)
    assert len(again.asked) == 1


def test_a_framework_that_cannot_be_installed_stops_no_other(root: Path) -> None:
    pip = Pip("bad")
    made = ready(MCP2, ["a>=1", "bad", "b>=1"], root, pip)
    assert made.failures == {"bad": "ResolutionImpossible: bad wants mcp<1 (exit code 1)"}
    assert pip.asked[-1] == ["a>=1", "b>=1"]
    assert made.why_not(["a>=1"]) is None
    assert made.why_not(["a>=1", "bad"]) == made.failures["bad"]


def test_what_failed_is_tried_again_the_next_time(root: Path) -> None:
    ready(MCP2, ["a>=1", "bad"], root, Pip("bad"))
    again = Pip()
    assert ready(MCP2, ["a>=1", "bad"], root, again).failures == {}
    assert again.asked == [["a>=1", "bad"]]


@pytest.mark.parametrize("broken", ["venv", MCP2.pin])
def test_where_nothing_can_be_installed_no_client_can_run(root: Path, broken: str) -> None:
    made = ready(MCP2, ["a>=1"], root, Pip(broken))
    assert "bad wants mcp<1" in str(made.why_not(["a>=1"]))
    assert "bad wants mcp<1" in str(made.why_not([]))
    assert Pip().commands == []
    again = Pip()
    assert ready(MCP2, ["a>=1"], root, again).failures == {}


def test_another_pyproject_is_installed_anew(root: Path) -> None:
    ready(MCP2, ["a>=1"], root, Pip())
    (root / "pyproject.toml").write_text('[project]\ndependencies = ["other"]\n')
    again = Pip()
    ready(MCP2, ["a>=1"], root, again)
    assert again.asked == [["a>=1"]]


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"project": 1}', "\x00"])
def test_a_record_that_is_broken_is_no_record(root: Path, record: str) -> None:
    ready(MCP2, ["a>=1"], root, Pip())
    (root / MCP2.folder / "installed.json").write_text(record)
    again = Pip()
    ready(MCP2, ["a>=1"], root, again)
    assert again.asked == [["a>=1"]]


def test_a_command_that_is_not_there_is_a_failure_with_a_reason() -> None:
    done = run(["no-such-command-anywhere"])
    assert done.code
    assert "no-such-command-anywhere" in reason_of(done)


def test_a_command_is_run_and_heard() -> None:
    done = run([sys.executable, "-c", "import sys; print('out'); sys.exit('ERROR: no')"])
    assert reason_of(done) == "no (exit code 1)"


def test_silence_is_a_reason_too() -> None:
    assert reason_of(Done(9, " \n")) == "it said nothing (exit code 9)"


def test_an_environment_without_failures_refuses_nobody() -> None:
    assert Ready(Path("python")).why_not(["a"]) is None
