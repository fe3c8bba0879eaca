"""Keeping a saved report small: a campaign of an hour must still fit where reports are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fuzzmcp.report.escape import counted
from fuzzmcp.report.model import Report, SavedFinding
from fuzzmcp.report.timeline import KEPT, Moment, folded

LIMIT = 4_500_000
"""Bytes of a saved report: what a campaign adds afterwards must still fit into 5 MB."""
_MARGIN = len(",\n        ")
_FEWER = tuple(KEPT * 3**step // 4**step for step in range(1, 16))
"""Moments of a timeline that are tried: from three quarters of what is kept at first down to a few."""
_REASONS = 200
_CLIPPED = 60


def fitted(report: Report, limit: int = LIMIT) -> Report:
    """The report, or as much less of it as fits into `limit` bytes of JSON; what needs no cut is returned as it is.

    Cut are, in this order and no further than needed: a catalogue that every case repeats, the rarest reasons why parts
    of scripts were not delivered, the middle of timelines, long words in them, and only where a violation has hundreds
    of pieces of evidence, the middle of those. Findings stay, with their cases.
    """
    scale = _Scale()
    for step in _steps():
        if scale.size(report) <= limit:
            return report
        report = step(report)
    return report


class _Scale:
    """Tells how long the JSON of a report is; each moment is written out only once for that."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Moment, int]] = {}

    def size(self, report: Report) -> int:
        bare = _each(report, lambda finding: replace(finding, requests=()))
        return len(bare.dumps()) + sum(self._line(moment) for finding in report.findings for moment in finding.requests)

    def _line(self, moment: Moment) -> int:
        found = self._known.get(id(moment))
        if found is None:
            found = self._known[id(moment)] = (moment, len(json.dumps(moment.as_json())) + _MARGIN)
        return found[1]


def _steps() -> Iterator[Callable[[Report], Report]]:
    yield _one_catalogue
    yield _few_reasons
    for kept in _FEWER:
        yield partial(_each, change=partial(_shortened, kept=kept))
    yield partial(_each, change=_clipped)
    for kept in _FEWER:
        yield partial(_each, change=partial(_shortened, kept=kept, all_alike=True))


def _each(report: Report, change: Callable[[SavedFinding], SavedFinding]) -> Report:
    return replace(report, findings=tuple(map(change, report.findings)))


def _shortened(finding: SavedFinding, kept: int, all_alike: bool = False) -> SavedFinding:
    moments = finding.requests
    if not all_alike:
        return replace(finding, requests=folded(moments, kept // 2, kept // 2))
    evidence = [place for place, moment in enumerate(moments) if moment.evidence]
    cut = set(evidence[kept // 2 : max(len(evidence) - kept // 2, kept // 2)])
    plain = tuple(replace(moment, evidence=False) if i in cut else moment for i, moment in enumerate(moments))
    return replace(finding, requests=folded(plain, kept // 2, kept // 2))


def _clipped(finding: SavedFinding) -> SavedFinding:
    names = ("id", "method", "label", "text", "fault", "site", "loop")
    moments = (replace(m, **{name: _clip(getattr(m, name)) for name in names}) for m in finding.requests)
    return replace(finding, requests=tuple(moments))


def _clip(word: Any) -> Any:
    if isinstance(word, (list, dict)):
        word = str(word)
    return word[: _CLIPPED - 1] + "…" if isinstance(word, str) and len(word) > _CLIPPED else word


def _one_catalogue(report: Report) -> Report:
    """The catalogue once for all cases that have the same, which is every case of one search."""
    tools = next((finding.case["tools"] for finding in report.findings if finding.case.get("tools")), None)
    if tools is None or report.tools:
        return report

    def change(finding: SavedFinding) -> SavedFinding:
        case: Mapping[str, Any] = finding.case
        if case.get("tools") != tools:
            return finding
        return replace(finding, case={**{key: case[key] for key in case if key != "tools"}, "tools_of": "report"})

    return replace(_each(report, change), tools=tuple(tools))


def _few_reasons(report: Report) -> Report:
    often = sorted(report.undelivered.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(often) <= _REASONS:
        return report
    rest = sum(count for _, count in often[_REASONS:])
    more = counted(len(often) - _REASONS, "rarer reason")
    return replace(report, undelivered={**dict(sorted(often[:_REASONS])), more: rest})
