"""SARIF 2.1.0."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from fuzzmcp.checks import CHECKS
from fuzzmcp.report.code_places import client_file, code_place_of
from fuzzmcp.report.model import Report, Subject
from fuzzmcp.report.sarif import sarif
from report.samples import finding_of, report_with, reports, texts

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0.json").read_text("utf-8"))
VALIDATOR = Draft7Validator(SCHEMA, format_checker=Draft7Validator.FORMAT_CHECKER)


@pytest.fixture(scope="module")
def report() -> Report:
    return report_with(finding_of("429cap", "spend_cap"))


def log_of(report: Report) -> Any:
    (run,) = json.loads(sarif(report))["runs"]
    return run


def test_there_is_one_rule_for_each_check_with_its_help(report: Report) -> None:
    rules = log_of(report)["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CHECKS)
    for rule in rules:
        check = CHECKS[rule["id"]]
        assert rule["shortDescription"]["text"] == check.demands
        assert check.why in rule["help"]["text"]
        assert check.advice in rule["help"]["markdown"]


def test_a_result_stands_at_the_line_that_sent_the_request(report: Report) -> None:
    (result,) = log_of(report)["results"]
    (finding,) = report.findings
    sent = code_place_of([moment.site for moment in finding.requests if moment.evidence and moment.site][-1])
    assert sent is not None
    (location,) = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": sent.path, "uriBaseId": "%SRCROOT%"}
    assert physical["region"] == {"startLine": sent.line}
    assert location["logicalLocations"] == [{"name": "ask", "kind": "function"}]
    (again,) = result["relatedLocations"]
    assert again["logicalLocations"][0]["name"] == "fetch"


def test_a_result_names_rule_level_and_fingerprint(report: Report) -> None:
    (result,) = log_of(report)["results"]
    assert (result["ruleId"], result["level"]) == ("spend_cap", "error")
    assert list(CHECKS)[result["ruleIndex"]] == "spend_cap"
    assert result["partialFingerprints"] == {"finding/v1": "spend_cap-3f2a", "finding/v2": "spend_cap-3f2a"}
    assert result["message"]["text"].splitlines() == [
        "get_order was sent again 1.0 s after its spend cap was reached",
        "FAULTS=429cap",
        'get_order(order_id="A1")',
        "Repeat it: fuzzmcp replay examples/naive_agent.py:connect 429cap",
    ]


def test_a_result_is_known_by_the_shorter_name_of_older_versions(report: Report) -> None:
    (finding,) = report.findings
    (result,) = log_of(replace(report, findings=(replace(finding, fingerprint="3f2a90bc"),)))["results"]
    names = {"finding/v1": "spend_cap-3f2a", "finding/v2": "spend_cap-3f2a90bc"}
    assert result["partialFingerprints"] == names


def test_a_known_finding_is_a_note(report: Report) -> None:
    (finding,) = report.findings
    (result,) = log_of(replace(report, findings=(replace(finding, known=True),)))["results"]
    assert result["level"] == "note"


def test_a_finding_without_a_line_stands_in_the_file_of_the_client(report: Report) -> None:
    (finding,) = report.findings
    bare = replace(report, findings=(replace(finding, requests=()),))
    (location,) = log_of(bare)["results"][0]["locations"]
    assert location == {
        "physicalLocation": {"artifactLocation": {"uri": "examples/naive_agent.py", "uriBaseId": "%SRCROOT%"}}
    }
    assert client_file(Subject("agents.crm:connect")).uri == "agents/crm.py"


def test_text_can_be_neither_a_placeholder_nor_a_link(report: Report) -> None:
    (finding,) = report.findings
    wild = replace(finding, message="got {0} and [a](https://example.com)")
    text = log_of(replace(report, findings=(wild,)))["results"][0]["message"]["text"]
    assert text.startswith("got {{0}} and [a] (https://example.com)\n")


def test_the_schema_is_one_that_can_reject(report: Report) -> None:
    log = json.loads(sarif(report))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert not VALIDATOR.is_valid(log)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_every_report_is_valid_against_the_official_schema(report: Report) -> None:
    text = sarif(report)
    VALIDATOR.validate(json.loads(text))
    assert text.isascii()
    assert len(log_of(report)["results"]) == len(report.findings)
    assert all(result["locations"] for result in log_of(report)["results"])


@given(st.none() | texts)
def test_a_site_is_read_or_refused(site: str | None) -> None:
    place = code_place_of(site)
    assert place is None or (site or "").startswith(f"{place.path}:")
    assert place is None or place.uri.isascii()
