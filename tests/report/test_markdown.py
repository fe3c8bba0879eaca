"""The Markdown summary, read with a Markdown parser."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt

from fuzzmcp.report.escape import harmless
from fuzzmcp.report.markdown import code, markdown, plain
from fuzzmcp.report.model import Report
from report.samples import finding_of, report_with, reports, spoiled, texts


@pytest.fixture(scope="module")
def report() -> Report:
    return report_with(finding_of("429cap", "spend_cap"))


def rendered(text: str) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)


def elements(text: str) -> list[str]:
    """The elements that the Markdown becomes, in order."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.append(tag)

        def handle_comment(self, data: str) -> None:
            found.append("comment")

    reader = Reader()
    reader.feed(rendered(text))
    reader.close()
    return found


def test_the_summary_has_headline_findings_and_the_folded_checks(report: Report) -> None:
    text = markdown(report)
    assert text.startswith(
        "### fuzzmcp: 1 finding\n\n<code>examples/naive_agent.py:connect</code> · mcp 2.3.0 · crm (4 tools)"
    )
    row = next(line for line in text.splitlines() if "spend_cap-3f2a" in line)
    assert row == (
        "| **spend_cap-3f2a**<br>minimal · deterministic "
        "| get_order was sent again 1.0 s after its spend cap was reached "
        "| <code>FAULTS=429cap</code> "
        "| <code>fuzzmcp replay examples/naive_agent.py:connect 429cap</code> |"
    )
    assert "<details><summary>Checks: 1 violated, 1 held, 1 not exercised</summary>" in text
    assert "| <code>survives</code> | held | 1,234 | 0 | 0 |" in text


def test_known_saved_and_stale_are_said(report: Report) -> None:
    (finding,) = report.findings
    known = replace(finding, known=True, saved="regressions/spend_cap-3f2a.toml")
    text = markdown(replace(report, findings=(known,), stale=("backoff-85e1",)))
    assert text.startswith("### fuzzmcp: 0 new findings, 1 known\n")
    assert "<br>known · minimal" in text
    assert "saved as <code>regressions/spend_cap-3f2a.toml</code>" in text
    assert "**stale** no longer failing: backoff-85e1." in text


def test_nothing_found_is_a_summary_too() -> None:
    assert markdown(report_with()).startswith("### fuzzmcp: nothing found\n")


def test_a_summary_stays_far_below_the_megabyte_that_a_step_may_have(report: Report) -> None:
    long = "|" * 20_000
    (finding,) = report.findings
    wild = replace(finding, message=long, faults=long, replay=(long,), saved=long)
    text = markdown(replace(report, findings=(wild,) * 500))
    assert 300_000 < len(text.encode()) < 600_000
    rows = text.count("FAULTS=")
    assert f"… and {500 - rows} more in the full report." in text


@given(texts)
def test_text_comes_out_of_the_parser_as_it_went_in(text: str) -> None:
    shown = " ".join(harmless(text).split())
    for cell in (plain(text), code(text)):
        table = rendered(f"| a |\n|---|\n| x{cell}x |\n")
        found = re.search(r"<td>x(?:<code>)?(.*?)(?:</code>)?x</td>", table, re.DOTALL)
        assert found is not None, table
        assert " ".join(unescape(found[1]).split()) == shown


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts.filter(lambda text: harmless(text).strip()))
def test_no_text_in_a_finding_becomes_an_element(report: Report, text: str) -> None:
    (finding,) = report.findings
    tame = replace(report, findings=(spoiled(finding, "x"),))
    wild = replace(report, findings=(spoiled(finding, text),))
    assert elements(markdown(wild)) == elements(markdown(tame))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_every_report_has_a_summary_of_known_elements_only(report: Report) -> None:
    allowed = {"h3", "p", "code", "strong", "br", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
    assert set(elements(markdown(report))) <= allowed
    markdown(report).encode("utf-8")
