"""The essential part of a timeline, and the words for each moment: the terminal and the page share both."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzmcp.core.script import OK
from fuzzmcp.core.trace import PROBE
from fuzzmcp.report.escape import harmless, ordinal
from fuzzmcp.report.model import Moment

FIRST, LAST = 14, 8
"""Moments of a timeline before and after the fold."""
_HANDSHAKE = ("initialize", "notifications/initialized", "server/discover", "tools/list", "")


def essential_moments(moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """The moments that a reader needs.

    A plain handshake and everything after the script are left out. Evidence and faults always stay.
    """
    began = next((i for i, m in enumerate(moments) if m.method == "tools/call"), len(moments))
    faulty = {m.method for m in moments[:began] if m.fault or m.kind == "silence"}
    found = tuple(m for i, m in enumerate(moments) if _is_essential(m, opening=i < began, faulty=faulty))
    return found or tuple(moments)


def _is_essential(moment: Moment, *, opening: bool, faulty: set[str]) -> bool:
    if moment.evidence or moment.fault or moment.kind in ("silence", "omitted"):
        return True
    if moment.after or moment.kind in ("open", "start", "over"):
        return False
    if moment.kind == "hang_up" or not opening:
        return True
    return moment.method not in _HANDSHAKE or (moment.direction == "->" and moment.method in faulty)


def description(moment: Moment, one_call: bool) -> str:
    """The middle column of a line. If there is only one call, the name of its tool stands for it."""
    text, label = moment.text, moment.label
    if one_call and moment.kind in ("request", "settle"):
        text, label = (text.partition("(")[0], label) if moment.nth else (text, label.partition("(")[0])
    if moment.nth and moment.call == PROBE:
        text += " (the probe)"
    if moment.direction == "->" or (moment.direction == "<-" and not label):
        name = moment.method if moment.id is None else f"{moment.method} {moment.id}".strip()
        return harmless("  ".join(filter(None, (name, label, text))))
    if label == str(OK) and not moment.fault:
        return label
    return harmless("  ".join(filter(None, (label, text))))


def code_line(moment: Moment) -> str:
    """The right column: the line that sent a request, or the loop that came back to send it again."""
    place = moment.loop or moment.site
    if place is None or moment.kind != "request":
        return ""
    short = harmless(place.rpartition("/")[2])
    return f"again from {short}" if moment.loop else short


def last_evidence(moments: Sequence[Moment]) -> Moment | None:
    """The moment that shows the violation: the last evidence of the check."""
    return next((moment for moment in reversed(moments) if moment.evidence), None)


def evidence_mark(moment: Moment) -> str:
    """The mark beside the last evidence: `the second request`, or `here`."""
    repeats = moment.kind == "request" and moment.nth is not None and moment.nth > 1
    return f"the {ordinal(moment.nth or 0)} request" if repeats else "here"
