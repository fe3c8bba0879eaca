"""A saved report is at most 4.5 MB. What does not fit is left out, and the report says how much that is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from fuzzmcp.report.escape import counted
from fuzzmcp.report.model import Moment, Report, SavedFinding
from fuzzmcp.report.timeline import thinned

LIMIT = 4_500_000
"""Bytes of a saved report. A campaign adds to it afterwards, and the whole must fit into 5 MB."""
_REASONS = 200
_GAP = 200
"""Bytes that the line for an omitted stretch takes at most."""
_MARGIN = len(",\n        ")


def within_limit(report: Report, limit: int = LIMIT) -> Report:
    """The report, or a shorter one that fits into `limit` bytes of JSON; a report that fits is returned as it is.

    A catalogue that every case repeats is kept once, and the rarest reasons are counted together. If that is not
    enough, the timelines share the room that is left. Findings stay with their cases, so a report is larger than the
    limit only if its cases alone are.
    """
    if len(report.dumps()) <= limit:
        return report
    report = _few_reasons(_one_catalogue(report))
    if len(report.dumps()) <= limit:
        return report
    bare = replace(report, findings=tuple(replace(finding, requests=()) for finding in report.findings))
    room = limit - len(bare.dumps()) - _GAP * len(report.findings)
    return replace(report, findings=_with_short_timelines(report.findings, room))


# -- timelines ---------------------------------------------------------------------------------------------------------


def _with_short_timelines(findings: Sequence[SavedFinding], room: int) -> tuple[SavedFinding, ...]:
    """The findings with timelines of `room` bytes together.

    Each has an equal share, and what a short timeline does not need goes to the longer ones.
    """
    sizes = [[len(json.dumps(moment.as_json())) + _MARGIN for moment in finding.requests] for finding in findings]
    made = list(findings)
    left = len(findings)
    for place in sorted(range(left), key=lambda place: sum(sizes[place])):
        requests, used = _shortened(findings[place].requests, sizes[place], room // left)
        made[place] = replace(findings[place], requests=requests)
        room -= used
        left -= 1
    return tuple(made)


def _shortened(moments: tuple[Moment, ...], sizes: Sequence[int], room: int) -> tuple[tuple[Moment, ...], int]:
    """As many moments as fit into `room` bytes, and the bytes that they take."""
    if sum(sizes) <= room:
        return moments, sum(sizes)
    kept: set[int] = set()
    used = 0
    for place in _most_important_first(moments):
        # Evidence may stand alone between two gaps. All else is kept from both ends, so that it parts no gap.
        more = sizes[place] + (_GAP if moments[place].evidence else 0)
        if used + more > room:
            break
        kept.add(place)
        used += more
    return thinned(moments, kept), used


def _most_important_first(moments: Sequence[Moment]) -> list[int]:
    """The places of the evidence, then of the other moments, each from both ends to the middle."""
    evidence = [place for place, moment in enumerate(moments) if moment.evidence]
    others = [place for place, moment in enumerate(moments) if not moment.evidence]
    return [*_from_both_ends(evidence), *_from_both_ends(others)]


def _from_both_ends(places: Sequence[int]) -> list[int]:
    """The last, the first, the last but one, the second, and so on.

    >>> _from_both_ends([1, 2, 3, 4, 5])
    [5, 1, 4, 2, 3]
    """
    half = len(places) // 2
    pairs = zip_longest(reversed(places[half:]), places[:half])
    return [place for place in chain.from_iterable(pairs) if place is not None]


# -- what is said more than once, or seldom ----------------------------------------------------------------------------


def _one_catalogue(report: Report) -> Report:
    """The report with the catalogue once: every case of one search has the same."""
    tools = next((finding.case["tools"] for finding in report.findings if finding.case.get("tools")), None)
    if tools is None or report.tools:
        return report

    def without_tools(finding: SavedFinding) -> SavedFinding:
        case: Mapping[str, Any] = finding.case
        if case.get("tools") != tools:
            return finding
        return replace(finding, case={**{key: case[key] for key in case if key != "tools"}, "tools_of": "report"})

    return replace(report, findings=tuple(map(without_tools, report.findings)), tools=tuple(tools))


def _few_reasons(report: Report) -> Report:
    """The report with the most frequent reasons why parts of scripts were not delivered, and a count of the others."""
    often = sorted(report.undelivered.items(), key=lambda pair: (-pair[1], pair[0]))
    if len(often) <= _REASONS:
        return report
    rest = sum(count for _, count in often[_REASONS:])
    more = counted(len(often) - _REASONS, "rarer reason")
    return replace(report, undelivered={**dict(sorted(often[:_REASONS])), more: rest})
