"""The sequence diagram of a finding: rows that go down the page, with two lifelines and virtual time.

Where things stand across, the template says in percent, so the drawing is as readable on a phone as on a wall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fuzzmcp.report.escape import duration
from fuzzmcp.report.model import Moment, SavedFinding
from fuzzmcp.report.narrative import (
    FIRST,
    LAST,
    code_line,
    description,
    essential_moments,
    evidence_mark,
    last_evidence,
)
from fuzzmcp.report.timeline import folded

_HEAD, _PAUSE, _NOTE, _MESSAGE, _MESSAGE_AND_MORE, _FOOT = 34, 30, 32, 40, 54, 12
"""Heights in pixels; a note says what happened on one side only."""


@dataclass(frozen=True)
class Row:
    """A moment, or a while in which nothing is told.

    Attributes:
        height: In pixels.
        text: What it says between the lifelines.
        moment: None for a while.
        time: The virtual second, where another one begins.
        deed: The mark of the violation, below the arrow with `fault` and `place`.
        fault: The part of the script, where `text` does not name it.
        place: The line of code.
    """

    height: int
    text: str
    moment: Moment | None = None
    time: str = ""
    deed: str = ""
    fault: str = ""
    place: str = ""


@dataclass(frozen=True)
class Diagram:
    """What happened between client and server: the same moments as on the console.

    Attributes:
        rows: Each with the pixel at which it begins.
        height: Of the whole drawing, in pixels.
        messages: How many there are between client and server.
    """

    rows: tuple[tuple[int, Row], ...]
    height: int
    messages: int


def diagram(finding: SavedFinding) -> Diagram:
    """The diagram of a finding."""
    moments = folded(essential_moments(finding.requests), FIRST, LAST)
    rows = tuple(_rows(moments, one_call=len(finding.calls) == 1))
    *tops, end = accumulate((row.height for row in rows), initial=_HEAD)
    messages = sum(1 for moment in moments if moment.direction)
    return Diagram(tuple(zip(tops, rows, strict=True)), end + _FOOT, messages)


def _rows(moments: Sequence[Moment], *, one_call: bool) -> Iterator[Row]:
    last = last_evidence(moments)
    for place, moment in enumerate(moments):
        waited = moment.at - moments[place - 1].at if place else 0.0
        if waited > 0:
            yield Row(_PAUSE, f"{_span(waited)} later")
        if moment.kind == "omitted":
            yield Row(_NOTE, f"… {moment.text}")
            continue
        beside = {
            "deed": evidence_mark(moment) if moment is last else "",
            "fault": moment.fault if moment.fault and moment.fault not in moment.label else "",
            "place": code_line(moment),
        }
        height = _NOTE if not moment.direction else _MESSAGE_AND_MORE if any(beside.values()) else _MESSAGE
        time = f"{moment.at:,.3f}" if place == 0 or waited > 0 else ""
        yield Row(height, description(moment, one_call), moment, time, **beside)


def _span(seconds: float) -> str:
    """A wait in seconds; a long one in larger units.

    >>> _span(0.25), _span(60.0), _span(7200.0)
    ('0.25 s', '60 s', '2 h 0 min')
    """
    return duration(seconds) if seconds >= 3600 else f"{seconds:,.3f}".rstrip("0").rstrip(".") + " s"
