"""The page of a search: findings and tables, made ready for their template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fuzzmcp.core.fault_row import Fault
from fuzzmcp.core.faults import BY_NAME, FAULTS
from fuzzmcp.report.escape import duration
from fuzzmcp.report.html.diagram import Diagram, diagram
from fuzzmcp.report.html.rendering import render
from fuzzmcp.report.model import Report, SavedFinding
from fuzzmcp.report.phrases import About, about, catalogue, headline, hints, qualities, status

_OPEN = 3
"""Findings that are unfolded at first."""
_REACTIONS = ("sent again", "returned", "returned an error", "cancelled", "unfinished", "connecting failed")


def page(report: Report) -> str:
    """The report as one page of HTML in UTF-8; the same report gives the same page."""
    return render(
        "page.html.j2",
        headline=headline(report),
        client=report.subject.client,
        facts=_facts(report),
        hints=tuple(hints(report)),
        findings=tuple(_finding(finding, place) for place, finding in enumerate(report.findings)),
        matrix=_matrix(report),
        checks=tuple((name, status(counts), counts, about(name)) for name, counts in report.checks.items()),
        coverage=_coverage(report),
        report=report,
    )


def _facts(report: Report) -> dict[str, str]:
    rate = f" ({report.runs / report.seconds:,.0f} a second)" if report.seconds else ""
    return {
        "SDK": f"mcp {report.subject.mcp}",
        "catalogue": catalogue(report),
        "protocol": f"{report.protocol} over {report.transport}, {report.backend}",
        "runs": f"{report.runs:,}{rate}",
        "time": f"{duration(report.virtual_seconds)} of virtual time in {duration(report.seconds)}",
        "seed": str(report.seed),
    }


@dataclass(frozen=True)
class _Finding:
    saved: SavedFinding
    about: About
    qualities: tuple[str, ...]
    unfolded: bool
    diagram: Diagram
    case: str


def _finding(finding: SavedFinding, place: int) -> _Finding:
    case = json.dumps(dict(finding.case), indent=2)
    unfolded = place < _OPEN and not finding.known
    return _Finding(finding, about(finding.check), qualities(finding), unfolded, diagram(finding), case)


# -- the tables --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Count:
    """How often something was, and how many percent of all: at least 1, but 0 for what never was."""

    times: int
    share: int


def _count(times: int, of: int) -> _Count:
    return _Count(times, min(max(round(100 * times / (of or 1)), 1), 100) if times else 0)


@dataclass(frozen=True)
class _Matrix:
    """How the client reacted to each fault: a column for each reaction, a row for each fault."""

    reactions: tuple[str, ...]
    rows: tuple[tuple[str, tuple[_Count, ...]], ...]


def _matrix(report: Report) -> _Matrix:
    rows: dict[str, Mapping[str, int]] = {
        name: row["reactions"] for name, row in report.faults.items() if row["reactions"]
    }
    words = tuple(sorted({word for row in rows.values() for word in row}, key=_order))
    cells = ((name, (_count(row.get(word, 0), sum(row.values())) for word in words)) for name, row in rows.items())
    return _Matrix(words, tuple((name, tuple(counts)) for name, counts in cells))


def _order(word: str) -> tuple[int, str]:
    return (_REACTIONS.index(word) if word in _REACTIONS else len(_REACTIONS), word)


@dataclass(frozen=True)
class _Covered:
    name: str
    count: _Count
    said: str
    summary: str


@dataclass(frozen=True)
class _Coverage:
    """Which faults of the vocabulary were injected how often, and which never."""

    usable: int
    never: tuple[str, ...]
    groups: Mapping[str, tuple[_Covered, ...]]


def _coverage(report: Report) -> _Coverage:
    usable = [fault.name for fault in FAULTS if _carries(report, fault)]
    groups = {
        "Answers": [fault.name for fault in FAULTS if fault.role == "answer"],
        "Extras": [fault.name for fault in FAULTS if fault.role == "extra"],
        "Unknown to this version": [name for name in report.faults if name not in BY_NAME],
    }
    return _Coverage(
        usable=len(usable),
        never=tuple(name for name in usable if not _injected(report, name)),
        groups={title: tuple(_covered(report, name) for name in names) for title, names in groups.items() if names},
    )


def _covered(report: Report, name: str) -> _Covered:
    times, fault = _injected(report, name), BY_NAME.get(name)
    most = max((row["injected"] for row in report.faults.values()), default=0)
    carried = fault is None or _carries(report, fault)
    where = f"in {report.protocol}" if fault and report.protocol not in fault.versions else f"over {report.transport}"
    said = f"{times:,}" if times else "never" if carried else f"not {where}"
    return _Covered(name, _count(times, most), said, fault.summary if fault else "")


def _carries(report: Report, fault: Fault) -> bool:
    return report.protocol in fault.versions and report.transport in fault.transports


def _injected(report: Report, name: str) -> int:
    return int(report.faults[name]["injected"]) if name in report.faults else 0
