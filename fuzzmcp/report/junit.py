"""JUnit XML, which every CI shows as test results: one test case for each check, and one for each finding."""

from __future__ import annotations

import io
from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from rich.console import Console

from fuzzmcp.report.escape import counted, harmless
from fuzzmcp.report.model import Report, SavedFinding
from fuzzmcp.report.phrases import about, status
from fuzzmcp.report.terminal.console import show_finding

_WIDTH = 110


def junit(report: Report) -> str:
    """The report as JUnit XML: new findings make the build red.

    A check passes if it held at least once and was never violated. Three things are skipped, each with its reason: a
    check that was never exercised, a finding of the baseline, and a check that only such findings violate.
    """
    root = Element("testsuites", name="fuzzmcp", time=f"{report.seconds:.3f}")
    suites = [_suite(root, report, "checks"), _suite(root, report, "findings")]
    for name, counts in report.checks.items():
        _check(suites[0], name, counts, [finding for finding in report.findings if finding.check == name])
    for finding in report.findings:
        _finding(suites[1], finding)
    for suite in suites:
        _count(suite)
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, report: Report, what: str) -> Element:
    name = f"fuzzmcp {what}: {report.subject.client}"
    suite = SubElement(root, "testsuite", name=harmless(name), time=f"{report.seconds if what == 'checks' else 0:.3f}")
    properties = SubElement(suite, "properties")
    facts = {
        "client": report.subject.client,
        "fuzzmcp": report.fuzzmcp,
        "mcp": report.subject.mcp,
        "catalogue": report.subject.catalogue,
        "protocol": report.protocol,
        "transport": report.transport,
        "backend": report.backend,
        "seed": str(report.seed),
        "runs": str(report.runs),
        "virtual_seconds": str(report.virtual_seconds),
        "interrupted": str(report.interrupted).lower(),
    }
    for key, value in facts.items():
        SubElement(properties, "property", name=key, value=harmless(value))
    return suite


def _check(suite: Element, name: str, counts: Mapping[str, int], findings: list[SavedFinding]) -> None:
    case = SubElement(suite, "testcase", classname="fuzzmcp.checks", name=harmless(name), time="0")
    what = status(counts)
    if what == "not exercised":
        tried = counted(counts["not_exercised"], "run")
        SubElement(case, "skipped", message=f"not exercised: none of {tried} came to a moment where it applies")
    elif what == "violated" and findings and all(finding.known for finding in findings):
        SubElement(case, "skipped", message=f"known: {', '.join(harmless(finding.name) for finding in findings)}")
    elif what == "violated":
        names = ", ".join(harmless(finding.name) for finding in findings) or "no finding was kept"
        failure = SubElement(case, "failure", type=harmless(name))
        failure.set("message", f"violated in {counted(counts['violated'], 'run')}: {names}")
        check = about(name)
        failure.text = f"demands {check.demands}\nwhy     {check.why}\ndo      {check.advice}"


def _finding(suite: Element, finding: SavedFinding) -> None:
    case = SubElement(suite, "testcase", classname="fuzzmcp.findings", name=harmless(finding.name), time="0")
    message = harmless(f"{finding.message} (FAULTS={finding.faults})")
    if finding.known:
        SubElement(case, "skipped", message=f"known: {message}").text = _shown(finding)
    else:
        SubElement(case, "failure", type=harmless(finding.check), message=message).text = _shown(finding)


def _shown(finding: SavedFinding) -> str:
    """The finding as the console shows it, without colour."""
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        show_finding(finding, console)
    return captured.get()


def _count(suite: Element) -> None:
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", "0")
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
