"""SARIF 2.1.0, which code hosts show beside the code: one rule for each check, one result for each finding."""

from __future__ import annotations

import json
from typing import Any

from fuzzmcp.checks import CHECKS
from fuzzmcp.report.code_places import CodePlace, client_file, line_of_loop, line_of_request
from fuzzmcp.report.escape import harmless
from fuzzmcp.report.model import Report, SavedFinding
from fuzzmcp.report.phrases import about
from fuzzmcp.search.findings import short

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"


def sarif(report: Report) -> str:
    """The report as a SARIF log in ASCII.

    A result stands at the line of code that sent the request. If that line is unknown, it stands in the file of the
    client, because code hosts refuse a log in which one result has no place.
    """
    rules = list(dict.fromkeys((*CHECKS, *(finding.check for finding in report.findings))))
    driver: dict[str, Any] = {
        "name": "fuzzmcp",
        "rules": [_rule(name) for name in rules],
    }
    if report.fuzzmcp:
        driver["version"] = harmless(report.fuzzmcp)
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"fuzzmcp/{harmless(report.subject.client)}/"},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which fuzzmcp was started."}}},
        "results": [_result(report, finding, rules.index(finding.check)) for finding in report.findings],
        "properties": {
            "client": report.subject.client,
            "mcp": report.subject.mcp,
            "protocol": report.protocol,
            "seed": report.seed,
            "runs": report.runs,
            "interrupted": report.interrupted,
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(name: str) -> dict[str, Any]:
    check = about(name)
    return {
        "id": name,
        "name": "".join(part.capitalize() for part in name.split("_")),
        "shortDescription": _message(check.demands or name),
        "fullDescription": _message(f"{check.demands} Why: {check.why}".strip()),
        "help": {
            "text": _text(f"{check.demands}\n\nWhy: {check.why}\n\nWhat to do: {check.advice}".strip()),
            "markdown": _text(f"{check.demands}\n\n**Why:** {check.why}\n\n**What to do:** {check.advice}".strip()),
        },
        "defaultConfiguration": {"level": "error"},
    }


def _result(report: Report, finding: SavedFinding, rule: int) -> dict[str, Any]:
    lines = (finding.message, f"FAULTS={finding.faults}", "; ".join(finding.calls), f"Repeat it: {finding.command}")
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": "note" if finding.known else "error",
        "message": _message("\n".join(harmless(line) for line in lines if line)),
        "locations": [_location(line_of_request(finding) or client_file(report.subject))],
        "properties": {
            "faults": finding.faults,
            "calls": list(finding.calls),
            "minimal": finding.minimal,
            "deterministic": finding.deterministic,
            "replay": finding.command,
        },
    }
    again = line_of_loop(finding)
    if again is not None:
        message = _message("The code that came back to send the request again.")
        result["relatedLocations"] = [{"id": 1, **_location(again), "message": message}]
    if finding.fingerprint:
        # The short name is what older versions said: a code scanning that has the finding still knows it.
        names = {"finding/v1": short(finding.name), "finding/v2": finding.name}
        result["partialFingerprints"] = {key: harmless(name) for key, name in names.items()}
    return result


def _location(place: CodePlace) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": place.uri, "uriBaseId": _ROOT}}
    if place.line:
        physical["region"] = {"startLine": place.line}
    location: dict[str, Any] = {"physicalLocation": physical}
    if place.function:
        location["logicalLocations"] = [{"name": harmless(place.function), "kind": "function"}]
    return location


def _message(text: str) -> dict[str, str]:
    return {"text": _text(text)}


def _text(text: str) -> str:
    """Text without markup: braces are doubled, as the standard demands, and nothing can become a link."""
    return text.replace("{", "{{").replace("}", "}}").replace("](", "] (")
