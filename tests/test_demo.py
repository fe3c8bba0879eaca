"""`make demo`: its first screen says what broke and where to read on."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT

from fuzzmcp.examples import demo

LINES, COLUMNS = 24, 80


def finding(check: str, faults: str, message: str = "it was sent again") -> dict[str, Any]:
    return {"check": check, "faults": faults, "message": message, "replay": f"fuzzmcp replay client:connect {faults}"}


def shown(findings: list[dict[str, Any]]) -> list[str]:
    return demo.summary({"findings": findings, "runs": 1001}, Path("demo.json"), Path("demo.html"), COLUMNS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to run the demo in: what it keeps lies there, not in the checkout."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": str(COLUMNS)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def first_screen(folder: Path) -> list[str]:
    done = run(folder, sys.executable, "examples/demo.py")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_planted_bug_is_found_and_told_on_one_screen(first_screen: list[str]) -> None:
    assert len(first_screen) <= LINES
    assert all(len(line) <= COLUMNS for line in first_screen if sys.prefix not in line)
    assert set(demo.PLANTED) <= {line.split()[0] for line in first_screen if line}
    assert "8 of 8 planted bugs" in "\n".join(first_screen)


def test_the_commands_that_it_names_read_on(first_screen: list[str], folder: Path) -> None:
    one, whole, page = (line[14:] for line in first_screen if re.match(r"(one of them|all of them|as a page) ", line))
    for command, code in ((one, 1), (whole, 0)):
        done = run(folder, *shlex.split(command))
        assert (done.returncode, "FAULTS=429cap" in done.stdout) == (code, True), done.stderr
    assert "429cap" in (folder / page).read_text("utf-8")


def test_more_findings_than_a_screen_has_lines_are_counted() -> None:
    lines = shown([finding("spend_cap", f"429*{n}") for n in range(1, 31)])
    assert len(lines) <= LINES - 1  # and the line above them that says what is searched
    assert f"and {30 - demo.ROWS} more" in lines


def test_a_long_sentence_is_cut_where_the_screen_ends() -> None:
    (line,) = (line for line in shown([finding("spend_cap", "429cap", "so " * 40)]) if line.startswith("spend_cap"))
    assert (len(line), line[-1]) == (COLUMNS, "…")


def test_a_planted_bug_that_was_not_found_is_named_with_its_script() -> None:
    absent = demo.missing([finding("spend_cap", "429"), finding("backoff", "504*2")])
    assert "spend_cap with FAULTS=429cap" in absent
    assert not any(line.startswith("backoff") for line in absent)
