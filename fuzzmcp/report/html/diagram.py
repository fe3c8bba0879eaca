"""The sequence diagram of a finding: two lifelines and virtual time, drawn as SVG that is as wide as its place.

Positions across are percentages and texts keep their size, so the drawing is as readable on a phone as on a wall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from fuzzmcp.report.escape import duration
from fuzzmcp.report.html.element import Child, E
from fuzzmcp.report.model import SavedFinding
from fuzzmcp.report.narrative import FIRST, LAST, deed, last_evidence, telling, what, where
from fuzzmcp.report.timeline import Moment, folded

_CLIENT, _SERVER = 19, 94
"""Where the lifelines stand, in percent of the width."""
_HEAD, _ROW, _PAUSE, _FOOT = 34, 54, 30, 12
_NOTE = 32
"""Height of a row that says what happened on one side only."""


def markers() -> Element:
    """The arrowheads that every diagram of a page shares."""
    heads = [
        E("marker", E("path", d="M0,0 L8,4 L0,8 z", class_=f"head {kind}"), id=f"head-{kind}", viewBox="0 0 8 8",
          refX="8", refY="4", markerWidth="10", markerHeight="10", markerUnits="userSpaceOnUse", orient="auto")
        for kind in ("plain", "fault")
    ]  # fmt: skip
    return E("svg", E("defs", heads), class_="markers", width="0", height="0", aria_hidden="true", focusable="false")


def diagram(finding: SavedFinding) -> Element:
    """What happened between client and server: the same moments as on the console."""
    moments = folded(telling(finding.requests), FIRST, LAST)
    drawing = _Drawing(one_call=len(finding.calls) == 1, last=last_evidence(moments))
    drawing.draw(moments)
    between = sum(1 for moment in moments if moment.direction)
    label = f"Sequence diagram of {finding.name}: {between} messages between client and server. The table has them all."
    return E(
        "svg", drawing.bands, drawing.lines, drawing.marks,
        class_="sequence", width="100%", height=drawing.y + _FOOT, role="img", aria_label=label, focusable="false",
    )  # fmt: skip


@dataclass
class _Drawing:
    """Collects what lies below, on and above the lifelines while it goes down the page."""

    one_call: bool
    last: Moment | None
    y: int = _HEAD
    bands: list[Element] = field(default_factory=list)
    lines: list[Element] = field(default_factory=list)
    marks: list[Element] = field(default_factory=list)

    def draw(self, moments: Sequence[Moment]) -> None:
        self.marks += [
            E("text", "client", x=f"{_CLIENT}%", y=20, class_="actor", text_anchor="middle"),
            E("text", "server", x="100%", y=20, class_="actor", text_anchor="end"),
        ]
        for place, moment in enumerate(moments):
            waited = moment.at - moments[place - 1].at if place else 0.0
            if waited > 0:
                self.pause(waited)
            self.row(moment, timed=place == 0 or waited > 0)

    def pause(self, seconds: float) -> None:
        """Nothing happens for a while."""
        self.lifelines(_PAUSE, "life gap")
        self.marks.append(_label(f"{_span(seconds)} later", self.y + 6, "pause"))
        self.y += _PAUSE

    def row(self, moment: Moment, *, timed: bool) -> None:
        tall, beside = bool(moment.direction), tuple(self.beside(moment))
        height = _NOTE if not tall else _ROW if beside else _ROW - 14
        line = self.y + (28 if tall else _NOTE // 2)
        if moment.evidence:
            self.bands.append(E("rect", x=0, y=self.y + 2, width="100%", height=height - 4, rx=4, class_="evidence"))
        self.lifelines(height, "life gap" if moment.kind == "omitted" else "life")
        if moment.kind == "omitted":
            self.marks.append(_label(f"… {moment.text}", line - 10, "pause"))
        else:
            if timed:
                time = f"{moment.at:,.3f}"
                self.marks.append(E("text", time, x=f"{_CLIENT}%", dx=-9, y=line + 4, class_="time", text_anchor="end"))
            self.marks += self.arrow(moment, line)
            said = "said fault" if moment.fault else "said end" if moment.kind == "silence" else "said"
            self.marks.append(_label(what(moment, self.one_call), line - (22 if tall else 10), said))
            if beside:
                self.marks.append(
                    _label(beside, line + 3, "beside") if tall else _label(beside, line - 10, "beside end")
                )
        self.y += height

    def arrow(self, moment: Moment, y: int) -> Iterator[Element]:
        kind = "fault" if moment.fault else "plain"
        ends = {"->": (_CLIENT, _SERVER), "<-": (_SERVER, _CLIENT)}.get(moment.direction)
        if ends is not None:
            start, end = (f"{x}%" for x in ends)
            yield E("line", x1=start, x2=end, y1=y, y2=y, class_=f"arrow {kind}", marker_end=f"url(#head-{kind})")
        else:
            at = _SERVER if moment.kind == "silence" else _CLIENT
            yield E("circle", cx=f"{at}%", cy=y, r=4, class_="dot silence" if moment.kind == "silence" else "dot")

    def beside(self, moment: Moment) -> Iterator[Child]:
        """What stands below the arrow: the mark of the violation, the fault, the line of code."""
        if moment is self.last:
            yield E("strong", f"◀ {deed(moment)}  ")
        if moment.fault and moment.fault not in moment.label:
            yield f"fault {moment.fault}  "
        if place := where(moment):
            yield place

    def lifelines(self, height: int, kind: str) -> None:
        for x in (_CLIENT, _SERVER):
            self.lines.append(E("line", x1=f"{x}%", x2=f"{x}%", y1=self.y, y2=self.y + height, class_=kind))


def _span(seconds: float) -> str:
    """A wait in seconds; a long one in larger units.

    >>> _span(0.25), _span(60.0), _span(7200.0)
    ('0.25 s', '60 s', '2 h 0 min')
    """
    return duration(seconds) if seconds >= 3600 else f"{seconds:,.3f}".rstrip("0").rstrip(".") + " s"


def _label(text: Child, y: int, kind: str) -> Element:
    """A text between the lifelines: one line, cut with an ellipsis where it is too long for the width."""
    box = E("div", text, class_=f"label {kind}")
    return E("foreignObject", box, x=f"{_CLIENT}%", y=y, width=f"{_SERVER - _CLIENT}%", height=20)
