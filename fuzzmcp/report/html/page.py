"""The page itself: header, findings, and the tables of the search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from fuzzmcp.report.escape import counted, duration
from fuzzmcp.report.html.diagram import diagram, markers
from fuzzmcp.report.html.document import document, facts, section
from fuzzmcp.report.html.element import Child, E
from fuzzmcp.report.html.tables import check_table, coverage, in_words, matrix, timeline_table
from fuzzmcp.report.model import Report, SavedFinding
from fuzzmcp.report.phrases import about, catalogue, headline, hints, qualities, status

_OPEN = 3
"""Findings that are unfolded at first."""


def page(report: Report) -> str:
    """The report as one page of HTML in UTF-8; the same report gives the same page."""
    title = f"{headline(report)} · {report.subject.client} · fuzzmcp"
    sections = (
        ("findings", "Findings", _findings(report)),
        ("reactions", "Faults and reactions", _reactions(report)),
        ("checks", "Checks", _checks(report)),
        ("vocabulary", "Coverage of the vocabulary", coverage(report)),
    )
    links = (E("li", E("a", name, href=f"#{anchor}")) for anchor, name, _ in sections)
    body = E(
        "body",
        E("a", "Skip to the findings", href="#findings", class_="skip"),
        markers(),
        _header(report, E("nav", E("ul", links), aria_label="Sections")),
        E("main", (section(*part) for part in sections), id="main"),
        E("footer", E("p", f"Made by fuzzmcp {report.fuzzmcp} from the report of seed {report.seed}.")),
    )
    return document(title, body)


# -- the header --------------------------------------------------------------------------------------------------------


def _header(report: Report, nav: Element) -> Element:
    subject = report.subject
    rate = f" ({report.runs / report.seconds:,.0f} a second)" if report.seconds else ""
    named = {
        "SDK": f"mcp {subject.mcp}",
        "catalogue": catalogue(report),
        "protocol": f"{report.protocol} over {report.transport}, {report.backend}",
        "runs": f"{report.runs:,}{rate}",
        "time": f"{duration(report.virtual_seconds)} of virtual time in {duration(report.seconds)}",
        "seed": str(report.seed),
    }
    notes = (E("p", E("strong", f"{label} "), text, class_="note") for label, text in hints(report))
    return E(
        "header",
        E("p", "fuzzmcp", class_="brand"),
        E("h1", headline(report)[:1].upper() + headline(report)[1:], " in ", E("code", subject.client)),
        facts(named),
        nav,
        E("div", notes, class_="notes"),
    )


# -- findings ----------------------------------------------------------------------------------------------------------


def _findings(report: Report) -> list[Child]:
    if not report.findings:
        return [E("p", "Nothing was found. What was never exercised proves nothing: see the checks below.")]
    return [_finding(finding, place) for place, finding in enumerate(report.findings, 1)]


def _finding(finding: SavedFinding, place: int) -> Element:
    kind = "finding known" if finding.known else "finding"
    return E(
        "details",
        E(
            "summary",
            E("h3", E("code", finding.name), " ", E("span", finding.message, class_="sentence")),
            E("span", ([" ", E("span", word, class_="badge")] for word in qualities(finding)), class_="badges"),
        ),
        E("dl", _facts(finding), class_="about"),
        E("figure", E("figcaption", "What happened, in virtual seconds"), diagram(finding)),
        _again(finding),
        E(
            "details",
            E("summary", f"Request timeline: {counted(len(finding.requests), 'moment')}"),
            timeline_table(finding.requests),
            class_="more",
        ),
        E("details", E("summary", "The case as JSON"), _block("The case as JSON", _case(finding)), class_="more"),
        class_=kind, id=f"finding-{place}", open=place <= _OPEN and not finding.known,
    )  # fmt: skip


def _facts(finding: SavedFinding) -> Iterator[Element]:
    yield E("dt", "script")
    yield E("dd", E("code", f"FAULTS={finding.faults}", class_="script"))
    if finding.calls:
        yield E("dt", "calls" if len(finding.calls) > 1 else "call")
        yield E("dd", ([E("br") if i else None, E("code", call)] for i, call in enumerate(finding.calls)))
    if finding.saved is not None:
        yield E("dt", "saved")
        yield E("dd", E("code", finding.saved))
    check = about(finding.check)
    yield from (E("dt", "why"), E("dd", in_words(check.why)), E("dt", "do"), E("dd", in_words(check.advice)))


def _again(finding: SavedFinding) -> Element:
    return E("div", E("p", "Repeat it"), _block("Command that repeats it", finding.command), class_="again")


def _case(finding: SavedFinding) -> str:
    return json.dumps(dict(finding.case), indent=2)


def _block(name: str, text: str) -> Element:
    """Text to copy, in a box that scrolls and that the keyboard can reach."""
    return E("pre", E("code", text), class_="scroll", role="region", tabindex="0", aria_label=name)


# -- the tables --------------------------------------------------------------------------------------------------------


def _reactions(report: Report) -> list[Child]:
    if not any(row["reactions"] for row in report.faults.values()):
        return [E("p", "No fault was injected.")]
    said = "How often the client reacted in which way to each fault; the stronger the colour, the larger the share."
    return [E("p", said), matrix(report)]


def _checks(report: Report) -> list[Child]:
    found = [status(counts) for counts in report.checks.values()]
    parts = [f"{found.count(word)} {word}" for word in ("violated", "held", "not exercised") if word in found]
    return [E("p", f"Of {counted(len(found), 'check')}: {', '.join(parts)}."), check_table(report)] if found else []
