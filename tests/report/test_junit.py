"""JUnit XML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings

from fuzzmcp.report.junit import junit
from fuzzmcp.report.model import Report
from report.samples import finding_of, report_with, reports

XSD = Path(__file__).parent / "schemas" / "junit-10.xsd"


@pytest.fixture(scope="module")
def report() -> Report:
    return report_with(finding_of("429cap", "spend_cap"))


@pytest.fixture(scope="module")
def schema() -> Any:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed: JUnit is not held against its schema")
    return etree.XMLSchema(etree.parse(str(XSD)))


def cases_of(report: Report) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(junit(report))
    return {f"{case.get('classname')}.{case.get('name')}": case for case in root.iter("testcase")}


def outcome(case: ElementTree.Element) -> str:
    return next((child.tag for child in case if child.tag in ("failure", "skipped")), "passed")


def test_there_is_a_test_case_for_each_check_and_each_finding(report: Report) -> None:
    assert {name: outcome(case) for name, case in cases_of(report).items()} == {
        "fuzzmcp.checks.spend_cap": "failure",
        "fuzzmcp.checks.backoff": "skipped",
        "fuzzmcp.checks.survives": "passed",
        "fuzzmcp.findings.spend_cap-3f2a": "failure",
    }


def test_a_check_that_was_never_exercised_says_why_it_is_skipped(report: Report) -> None:
    (skipped,) = cases_of(report)["fuzzmcp.checks.backoff"]
    assert skipped.get("message") == "not exercised: none of 10 runs came to a moment where it applies"


def test_a_finding_carries_sentence_script_timeline_and_replay_command(report: Report) -> None:
    (failure,) = cases_of(report)["fuzzmcp.findings.spend_cap-3f2a"]
    assert failure.get("type") == "spend_cap"
    assert failure.get("message") == ("get_order was sent again 1.0 s after its spend cap was reached (FAULTS=429cap)")
    text = failure.text or ""
    assert "FAULTS=429cap" in text
    assert "◀ the second request" in text
    assert "again fuzzmcp replay examples/naive_agent.py:connect 429cap" in text


def test_known_findings_do_not_make_the_build_red(report: Report) -> None:
    (finding,) = report.findings
    known = replace(finding, known=True)
    cases = cases_of(replace(report, findings=(known,)))
    assert "failure" not in map(outcome, cases.values())
    (skipped,) = cases["fuzzmcp.checks.spend_cap"]
    assert skipped.get("message") == "known: spend_cap-3f2a"
    both = cases_of(replace(report, findings=(known, replace(finding, fingerprint="aaaa"))))
    assert outcome(both["fuzzmcp.checks.spend_cap"]) == "failure"
    assert outcome(both["fuzzmcp.findings.spend_cap-3f2a"]) == "skipped"
    assert outcome(both["fuzzmcp.findings.spend_cap-aaaa"]) == "failure"


def test_the_suites_count_their_cases(report: Report) -> None:
    root = ElementTree.fromstring(junit(report))
    counts = [[suite.get(key) for key in ("tests", "failures", "errors", "skipped")] for suite in root]
    assert counts == [["3", "1", "0", "1"], ["1", "1", "0", "0"]]
    assert [root.get(key) for key in ("tests", "failures", "errors")] == ["4", "2", "0"]


def test_the_schema_is_one_that_can_reject(schema: Any, report: Report) -> None:
    etree = pytest.importorskip("lxml.etree")
    wrong = junit(report).replace("<testcase ", "<test ").replace("</testcase>", "</test>")
    wrong = wrong.replace('name="survives" time="0" />', 'name="survives" time="0"></test>')
    assert schema.validate(etree.fromstring(junit(report).encode()))
    with pytest.raises(etree.XMLSyntaxError):
        etree.fromstring(b"<a>\x00</a>")
    assert not schema.validate(etree.fromstring(b"<testsuites><testcase name='x'/></testsuites>"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_every_report_is_valid_against_the_schema(schema: Any, report: Report) -> None:
    etree = pytest.importorskip("lxml.etree")
    text = junit(report)
    schema.assertValid(etree.fromstring(text.encode("utf-8")))
    root = ElementTree.fromstring(text)
    names = [case.get("name") for case in root.iter("testcase") if case.get("classname") == "fuzzmcp.findings"]
    assert len(names) == len(report.findings)
    assert text == junit(report)
