"""The table of formats: each row is an option, a pure writer, a test and a line of the README."""

from __future__ import annotations

import ast
import copy
import re
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from hypothesis import given, settings

from fuzzmcp.cli import main
from fuzzmcp.cli.report import report as command
from fuzzmcp.report.formats import FORMATS, Format
from fuzzmcp.report.load import loads
from fuzzmcp.report.model import Report
from report.samples import reports

HERE = Path(__file__).parent
README = (HERE.parents[1] / "README.md").read_text("utf-8")
each_format = pytest.mark.parametrize("row", FORMATS.values(), ids=lambda row: row.name)


@each_format
@settings(max_examples=15)
@given(report=reports)
def test_the_same_report_is_the_same_text_and_stays_as_it_was(row: Format, report: Report) -> None:
    before = copy.deepcopy(report)
    text = row.written(report)
    assert text.endswith("\n")
    assert text == row.written(report) == row.written(copy.deepcopy(report))
    assert report == before


@each_format
@settings(max_examples=15)
@given(report=reports)
def test_a_report_that_was_saved_is_written_as_at_first(row: Format, report: Report) -> None:
    assert row.written(loads(report.dumps())) == row.written(report)


@each_format
def test_what_it_is_for_is_one_sentence(row: Format) -> None:
    assert row.about[0].isupper()
    assert row.about.endswith(".")
    assert len(row.about) <= 80


@each_format
def test_the_command_has_an_option_for_it_but_for_the_format_that_it_reads(row: Format) -> None:
    options = {option: parameter for parameter in command.params for option in parameter.opts}
    assert (row.option in options) is row.converts
    assert row.converts is (row.name != "json")
    if row.converts:
        assert getattr(options[row.option], "help", None) == row.about


@each_format
def test_the_readme_shows_how_to_ask_for_it(row: Format) -> None:
    assert re.search(rf"^fuzzmcp .*({row.option} |--report {row.name}=)", README, re.MULTILINE)


@each_format
def test_its_writer_has_a_test_of_its_own(row: Format) -> None:
    module, name = row.writer.replace(".dumps", "").split(":")
    imports = (
        node
        for file in HERE.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == module
    )
    assert any(name in {alias.name for alias in node.names} for node in imports), f"no test imports {row.writer}"


def test_the_shell_offers_the_formats_then_files() -> None:
    def offered(typed: str) -> list[tuple[str, str, str | None]]:
        found = ShellComplete(main, {}, "fuzzmcp", "_FUZZMCP_COMPLETE").get_completions(["run", "x", "--report"], typed)
        return [(item.type, item.value, item.help) for item in found]

    assert [value for _, value, _ in offered("")] == [f"{name}=" for name in FORMATS]
    assert offered("ju") == [("plain", "junit=", FORMATS["junit"].about)]
    assert offered("junit=x") == [("file", "junit=x", None)]
