"""`fuzzmcp report`, and what `fuzzmcp run --report` writes and where."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from commands import NAIVE, ROOT, invoke
from report.samples import finding_of, report_with

from fuzzmcp.cli import main
from fuzzmcp.cli.output import Wanted, append_summary, found_writable, write_reports
from fuzzmcp.cli.usage import BadOption
from fuzzmcp.report.formats import FORMATS
from fuzzmcp.report.load import load
from fuzzmcp.report.model import Report

HUNT = ("run", NAIVE, "--runs", "40", "--seed", "1", "--check", "spend_cap")


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("COLUMNS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def report() -> Report:
    return report_with(finding_of("429cap", "spend_cap"))


@pytest.fixture
def file(report: Report, tmp_path: Path) -> Path:
    path = tmp_path / "report.json"
    path.write_text(report.dumps())
    return path


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """A short search with a report of each kind, and a summary as in GitHub Actions."""
    folder = tmp_path_factory.mktemp("hunt")
    wanted = [word for kind in FORMATS for word in ("--report", f"{kind}={folder / kind}")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("COLUMNS", raising=False)
        patch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary"))
        (folder / "summary").write_text("before\n")
        return invoke("run", str(ROOT / NAIVE), *HUNT[2:], *wanted), folder


# -- run ---------------------------------------------------------------------------------------------------------------


def test_a_search_writes_every_kind_of_report_from_the_same_data(hunt: tuple[Result, Path]) -> None:
    result, folder = hunt
    assert result.exit_code == 1, result.output
    saved = load(folder / "json")
    assert [finding.check for finding in saved.findings] == ["spend_cap"]
    for kind in FORMATS:
        assert (folder / kind).read_text("utf-8") == FORMATS[kind].written(saved)


def test_a_report_read_back_is_shown_as_the_search_showed_it(hunt: tuple[Result, Path]) -> None:
    result, folder = hunt
    assert invoke("report", str(folder / "json")).stdout == result.stdout


def test_in_github_actions_the_summary_is_appended_by_itself(hunt: tuple[Result, Path]) -> None:
    _, folder = hunt
    assert (folder / "summary").read_text("utf-8") == "before\n" + (folder / "markdown").read_text("utf-8")


def test_a_summary_that_cannot_be_written_is_a_warning_and_nothing_more(
    report: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for place in ("/no/such/summary", "/"):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", place)
        append_summary(report)
        assert capsys.readouterr().err.startswith("fuzzmcp: warning: no summary: cannot write to '")


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        (["yunit=x"], "--report: unknown kind of report 'yunit'; did you mean 'junit'?"),
        (["qqqqqq=x"], "--report: unknown kind of report 'qqqqqq': one of json, junit, sarif, markdown, html"),
        (["html"], "--report: expected html=FILE, or html=- for stdout"),
        (["sarif=/no/such/file"], "--report: cannot write to '/no/such/file'"),
        (["junit=tests"], "--report: cannot write to 'tests'"),
        (["json=-", "html=-"], "--report: json and html cannot both go to stdout"),
        (["json=x.out", "html=./x.out"], "--report: json and html cannot both go to './x.out'"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_search(reports: list[str], message: str) -> None:
    result = invoke(*HUNT, *(word for text in reports for word in ("--report", text)))
    assert result.exit_code == 2
    assert result.stderr == f"fuzzmcp: {message}\n"
    assert not Path("x.out").exists()


# -- report ------------------------------------------------------------------------------------------------------------


def test_a_saved_report_is_shown_and_the_exit_code_is_0_whatever_it_says(file: Path) -> None:
    result = invoke("report", str(file))
    assert result.exit_code == 0
    assert "spend_cap-3f2a   get_order was sent again 1.0 s after its spend cap was reached" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("1 finding · 2,000 runs")


def test_other_forms_are_written_to_files_and_nothing_is_shown(file: Path, report: Report, tmp_path: Path) -> None:
    kinds = ("html", "junit", "sarif", "markdown")
    result = invoke("report", str(file), *(word for kind in kinds for word in (f"--{kind}", str(tmp_path / kind))))
    assert (result.exit_code, result.output) == (0, "")
    for kind in kinds:
        assert (tmp_path / kind).read_text("utf-8") == FORMATS[kind].written(report)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kinds, "report.json"])


def test_one_form_may_go_to_stdout(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = ElementTree.fromstring(invoke("report", str(file), "--junit", "-").stdout)
    assert root.tag == "testsuites"
    with pytest.MonkeyPatch.context() as patch, open(1, "w", encoding="ascii", closefd=False) as stdout:
        for name in ("stdout", "__stdout__"):
            patch.setattr(sys, name, stdout)
        with pytest.raises(SystemExit, match="0"):
            main(["report", str(file), "--html", "-"])
    printed = capfd.readouterr()
    assert printed.out.startswith("<!doctype html>")
    assert printed.out.rstrip().endswith("</html>")
    assert printed.err == ""


def test_a_report_may_come_from_stdin(report: Report) -> None:
    result = CliRunner().invoke(main, ["report", "-"], input=report.dumps())
    assert result.exit_code == 0, result.output
    wrong = CliRunner().invoke(main, ["report", "-"], input="{}")
    assert (wrong.exit_code, wrong.stderr) == (
        2, "fuzzmcp: stdin: $.version: expected a whole number from 1, found nothing\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "$.version: expected at most 1, found 2: a newer fuzzmcp wrote this"),
        ({"findings": 3}, "$.findings: expected an array, found 3"),
        ({"client": "\ud800", "runs": "\x1b[2J"}, '$.runs: expected a whole number from 0, found "\\x1b[2J"'),
    ],
)
def test_a_file_that_is_no_report_is_one_line_and_exit_code_2(
    file: Path, change: dict[str, object], message: str
) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    result = invoke("report", str(file), "--html", "-")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"fuzzmcp: {file}: {message}\n"


def test_a_file_that_is_missing_or_binary_is_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x00\xff")
    for name, message in (("x", "expected UTF-8, found byte 0xff"), ("y", "cannot be read: No such file or directory")):
        result = invoke("report", str(tmp_path / name))
        assert (result.exit_code, result.stderr) == (2, f"fuzzmcp: {tmp_path / name}: {message}\n")


def test_a_wrong_place_is_named_with_its_option(file: Path) -> None:
    result = invoke("report", str(file), "--sarif", "/no/such/x")
    assert (result.exit_code, result.stderr) == (2, "fuzzmcp: --sarif: cannot write to '/no/such/x'\n")
    result = invoke("report", str(file), "--sarif", "-", "--html", "-")
    assert (result.exit_code, result.stderr) == (2, "fuzzmcp: --html: sarif and html cannot both go to stdout\n")


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_report_is_never_seen_half_written(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "report.json"
    place.write_text("before")

    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(BadOption, match="No space left on device"):
        write_reports(report, [Wanted("json", str(place))], io.StringIO())
    assert place.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_link_stays_a_link_and_a_device_a_device(report: Report, tmp_path: Path) -> None:
    place, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(place)
    write_reports(report, [Wanted("json", str(link)), Wanted("html", os.devnull)], io.StringIO())
    assert link.is_symlink()
    assert place.read_text() == report.dumps()
    assert not Path(os.devnull).is_file()


def test_two_names_of_one_file_are_one_place(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "file")
    with pytest.raises(BadOption, match="json and html cannot both go to"):
        found_writable([Wanted("json", str(tmp_path / "file")), Wanted("html", str(link))])


def test_a_known_finding_is_shown_as_such(file: Path, report: Report) -> None:
    (finding,) = report.findings
    saved = replace(finding, known=True, saved="regressions/spend_cap-3f2a.toml")
    file.write_text(replace(report, findings=(saved,), stale=("backoff-85e1",)).dumps())
    said = invoke("report", str(file)).stdout
    assert "known · minimal" in said
    assert "saved regressions/spend_cap-3f2a.toml" in said
    assert "stale no longer failing: backoff-85e1." in said
