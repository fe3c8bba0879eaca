"""The README's code blocks are executed, and what it lists is complete."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from fuzzmcp.checks import CHECKS
from fuzzmcp.cli import main
from fuzzmcp.core.faults import FAULTS
from fuzzmcp.core.script import Script
from fuzzmcp.examples.zoo import ZOO
from fuzzmcp.report.model import Report, Subject

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)
REPORT = Report(Subject("client:connect"), 0, 0, 0.0, 0.0, "2025-11-25", "memory", "asyncio", 4, {}, (), {}, {}).dumps()


def blocks(language):
    return [text for name, text in BLOCKS if name == language]


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run_and_their_tests_pass(code, capsys, tmp_path):
    file = tmp_path / "block.py"
    file.write_text(code, "utf-8")
    space = runpy.run_path(str(file))
    for name, value in list(space.items()):
        if name.startswith("test_"):
            value()
    printed = [line.removeprefix("# ") for line in code.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == printed


@pytest.mark.parametrize(
    "line", [line for text in blocks("sh") for line in text.splitlines() if line.startswith("fuzzmcp ")]
)
def test_fuzzmcp_commands_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "report.json").write_text(REPORT)
    words = shlex.split(line)[1:]
    if "--runs" in words:
        words += ["--runs", "40"]  # the last one counts: that the careful agent holds for longer is shown elsewhere
    assert CliRunner().invoke(main, words).exit_code == 0


def test_make_commands_exist():
    named = {line.split()[1] for text in blocks("sh") for line in text.splitlines() if line.startswith("make ")}
    named |= set(re.findall(r"`make ([\w-]+)`", README))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert named
    assert all(re.search(rf"^{name}:", makefile, re.M) for name in named)


def test_console_blocks_show_what_is_really_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    for text in blocks("console"):
        command, _, shown = text.partition("\n")
        result = CliRunner().invoke(main, shlex.split(command)[2:], env={"COLUMNS": "110"})
        assert lines_of(result.output) == lines_of(shown)


def lines_of(text):
    """Printed lines, without the SDK's version and the ids that depend on it."""
    text = re.sub(r"mcp \d+\.\d+\.\d+", "mcp", text)
    text = re.sub(r"tools/call \d+", "tools/call N", text)
    return [line.rstrip() for line in text.splitlines()]


def test_the_tables_name_every_fault():
    tables = " ".join(line for line in README.splitlines() if line.startswith("|"))
    words = {word for spelling in re.findall(r"`([^`]*)`", tables) for word in re.findall(r"\w+", spelling)}
    assert {fault.name for fault in FAULTS} - words == set()


def test_every_script_in_the_tables_can_be_read():
    tables = " ".join(line for line in README.splitlines() if line.startswith("|"))
    for spelling in re.findall(r"`([^`]*)`", tables):
        if spelling.startswith("("):
            continue
        Script.parse(spelling.replace("SECONDS", "5"))


def test_it_counts_the_checks_and_the_bugs_of_the_zoo():
    assert set(re.findall(r"(\d+) checks\b", README)) - {"0"} == {str(len(CHECKS))}
    assert f"{len(ZOO)} variants" in README
