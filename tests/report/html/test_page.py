"""The page, read with a parser; what a browser makes of it is tested in test_html_in_chromium."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from jinja2 import UndefinedError

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.faults import FAULTS
from fuzzmcp.report.escape import harmless
from fuzzmcp.report.html import page
from fuzzmcp.report.html.rendering import environment
from fuzzmcp.report.model import Report
from report.samples import NASTY, finding_of, report_with, reports, spoiled, texts

VOID = ("meta", "link", "br")


class Reader(HTMLParser):
    """The elements of a page in order, its texts, ids and links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def said(self) -> str:
        return " ".join("".join(self.texts).split())


@pytest.fixture(scope="module")
def report() -> Report:
    return report_with(finding_of("429cap", "spend_cap"))


def test_a_finding_is_told_with_script_reason_advice_and_command(report: Report) -> None:
    said = Reader(page(report)).said
    check = CHECKS["spend_cap"]
    for words in (
        "1 finding in examples/naive_agent.py:connect",
        "spend_cap-3f2a get_order was sent again 1.0 s after its spend cap was reached",
        "FAULTS=429cap",
        'get_order(order_id="A1")',
        check.why,
        check.advice,
        "fuzzmcp replay examples/naive_agent.py:connect 429cap",
    ):
        assert words in said


def test_the_diagram_shows_what_the_console_shows(report: Report) -> None:
    reader = Reader(page(report))
    said = reader.said
    for words in ("◀ the second request", "again from naive_agent.py:", "1 s later", "0.000", "1.000"):
        assert words in said
    kinds = [value for tag, name, value in reader.attributes if tag == "line" and name == "class"]
    assert [kind for kind in kinds if kind.startswith("arrow")] == [
        "arrow plain",
        "arrow fault",
        "arrow plain",
        "arrow plain",
    ]


def test_the_whole_timeline_is_a_table_that_marks_the_evidence(report: Report) -> None:
    text = page(report)
    table = text[text.index('<table class="timeline">') :].partition("</table>")[0]
    (finding,) = report.findings
    assert table.count("<tr") == len(finding.requests) + 1
    assert table.count(">evidence<") == sum(moment.evidence for moment in finding.requests)


def test_faults_that_were_never_injected_are_named(report: Report) -> None:
    said = Reader(page(report)).said
    usable = sum("2025-11-25" in fault.versions and "memory" in fault.transports for fault in FAULTS)
    assert f"2 of {usable} faults that 2025-11-25 over memory can carry were injected." in said
    never = said.partition("Never: ")[2].partition(" Answers")[0].split(", ")
    assert "hang" in never
    assert not {"429cap", "ping"} & set(never)
    assert len(never) == usable - 2


def test_the_matrix_has_a_row_for_each_fault_that_was_answered(report: Report) -> None:
    text = page(report)
    table = text[text.index('<table class="matrix">') :].partition("</table>")[0]
    assert re.findall(r"<t[dh]\b[^>]*>(?:<code>)?([^<]*)", table) == [
        "fault", "sent again", "raised RuntimeError", "429cap", "5", "3",
    ]  # fmt: skip


def test_known_findings_are_folded_and_stale_ones_are_named(report: Report) -> None:
    (finding,) = report.findings
    known = replace(finding, known=True, saved="regressions/spend_cap-3f2a.toml")
    text = page(replace(report, findings=(known,), stale=("backoff-85e1",)))
    assert re.search(r'<details class="finding known" id="finding-1">', text)
    said = Reader(text).said
    assert "0 new findings, 1 known in" in said
    assert "saved regressions/spend_cap-3f2a.toml" in said
    assert "stale no longer failing: backoff-85e1." in said


def test_a_search_that_found_nothing_has_a_page_too() -> None:
    bare = report_with(checks={}, faults={})
    said = Reader(page(bare)).said
    assert "Nothing found in examples/naive_agent.py:connect" in said
    assert "No fault was injected." in said


def test_nothing_is_loaded_and_no_script_runs(report: Report) -> None:
    reader = Reader(page(report_with(*(spoiled(report.findings[0], text) for text in NASTY))))
    assert "script" not in [tag for tag, _ in reader.elements]
    links = [value for _, name, value in reader.attributes if name in ("href", "src", "marker-end")]
    assert all(link.startswith(("#", "data:,", "url(#head-")) for link in links)
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    policy = next(value for tag, name, value in reader.attributes if value.startswith("default-src"))
    assert policy.startswith("default-src 'none';")


def test_every_anchor_leads_somewhere_and_every_id_is_unique(report: Report) -> None:
    reader = Reader(page(replace(report, findings=report.findings * 3)))
    assert len(set(reader.ids)) == len(reader.ids)
    pointers = [value for _, name, value in reader.attributes if name in ("href", "aria-labelledby")]
    assert {value.removeprefix("#") for value in pointers if value != "data:,"} <= set(reader.ids)


def test_landmarks_and_headings_are_in_order(report: Report) -> None:
    tags = [tag for tag, _ in Reader(page(report)).elements]
    for landmark in ("header", "nav", "main", "footer", "h1", "title"):
        assert tags.count(landmark) == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts.filter(lambda text: harmless(text).strip() != ""))
def test_no_text_in_a_finding_becomes_an_element(report: Report, text: str) -> None:
    (finding,) = report.findings
    tame = Reader(page(replace(report, findings=(spoiled(finding, "x"),))))
    wild = Reader(page(replace(report, findings=(spoiled(finding, text),))))
    assert wild.elements == tame.elements
    assert " ".join("\n".join(map(harmless, text.split("\n"))).split()) in wild.said


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_every_report_has_a_page_that_is_the_same_every_time(report: Report) -> None:
    text = page(report)
    assert text == page(report)
    reader = Reader(text)
    assert reader.open == []
    assert not {"script", "img"} & {tag for tag, _ in reader.elements}
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    text.encode("utf-8")


@given(texts, texts)
def test_a_template_says_its_text_and_nothing_else(text: str, value: str) -> None:
    template = (
        '{% macro bold(x) %}<b>{{ x }}</b>{% endmacro %}<p title="{{ value }}">{{ text }}{{ bold("x") }}{{ text }}</p>'
    )
    reader = Reader(environment().from_string(template).render(text=text, value=value))
    lines = "\n".join(map(harmless, text.split("\n")))
    assert [tag for tag, _ in reader.elements] == ["p", "b"]
    assert "".join(reader.texts) == f"{lines}x{lines}"
    assert reader.attributes == [("p", "title", "\n".join(map(harmless, value.split("\n"))))]


def test_a_name_that_a_page_was_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="forgotten"):
        environment().from_string("{{ forgotten }}").render()


def test_no_template_lets_text_through_unescaped() -> None:
    """Autoescape holds only where nobody switches it off, and inside quotes."""
    names = environment().list_templates(extensions=["j2"])
    assert {"base.html.j2", "page.html.j2", "stack_page.html.j2"} <= set(names)
    for name in names:
        source, *_ = environment().loader.get_source(environment(), name)  # type: ignore[union-attr]
        assert not re.search(r"\|\s*(safe|tojson|xmlattr|urlize)\b|autoescape|<[^>]*=\{\{", source), name


def test_the_template_engine_is_loaded_only_when_a_page_is_written() -> None:
    program = (
        "import sys, fuzzmcp.cli.stack, fuzzmcp.report.formats, fuzzmcp.pytest_plugin; print('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
