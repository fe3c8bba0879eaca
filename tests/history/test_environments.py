"""Making environments: with a pip that only writes down what it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from installing import Done, reason_of, run

from history.environments import beside, ready

OLD = ["shop==1.0", "mcp==1.5.0"]
ROOT = Path(__file__).parents[2]


class Pip:
    """Writes down the commands; one that holds the bad word fails."""

    def __init__(self, bad: str = "\0") -> None:
        self.commands: list[list[str]] = []
        self.bad = bad

    def __call__(self, command: Sequence[str]) -> Done:
        self.commands.append(list(command))
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)
        return Done(1, "Collecting shop\nERROR: no such shop\n") if self.bad in command else Done(0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["mcp>=1.24,<3", "click>=8"]\n')
    return tmp_path


def test_the_library_comes_with_what_fuzzmcp_needs_and_fuzzmcp_beside_it_whatever_it_asks_for(root: Path) -> None:
    pip = Pip()
    found = ready(root / ".venv-old", OLD, root, pip)
    assert found.failure is None
    assert found.python.is_relative_to(root / ".venv-old")
    made, library, ours = pip.commands
    assert made[1:3] == ["-m", "venv"]
    assert library[-3:] == [*OLD, "click>=8"]
    assert ours[-3:] == ["--no-deps", "--editable", str(root)]


def test_the_second_time_nothing_is_run(root: Path) -> None:
    ready(root / ".venv-old", OLD, root, Pip())
    again = Pip()
    assert ready(root / ".venv-old", OLD, root, again).failure is None
    assert again.commands == []


def test_another_pin_makes_the_environment_anew(root: Path) -> None:
    ready(root / ".venv-old", OLD, root, Pip())
    again = Pip()
    again.bad = "venv"
    assert ready(root / ".venv-new", [*OLD, "pydantic<2.12"], root, again).failure is not None
    assert len(again.commands) == 1


@pytest.mark.parametrize("bad", ["venv", "shop==1.0", "--no-deps"])
def test_what_fails_says_why_and_is_tried_again(root: Path, bad: str) -> None:
    found = ready(root / ".venv-a", OLD, root, Pip(bad))
    assert found.failure == "not installed: no such shop (exit code 1)"
    again = Pip()
    assert ready(root / ".venv-b", OLD, root, again).failure is None
    assert len(again.commands) == 3


def test_what_fuzzmcp_needs_is_read_from_the_project_and_the_sdk_is_not_of_it() -> None:
    needs = beside(ROOT)
    assert any(need.startswith("hypothesis>=") for need in needs)
    assert not any(need.startswith("mcp") for need in needs)


def test_a_command_is_run_and_heard() -> None:
    done = run([sys.executable, "-c", "import sys; print('out'); sys.exit('ERROR: no')"])
    assert reason_of(done) == "no (exit code 1)"
    assert "no-such-command" in reason_of(run(["no-such-command-anywhere"]))
