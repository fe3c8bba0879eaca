"""The page of a retry stack: requests over virtual time, layer by layer, made ready for their template."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fuzzmcp.core.redact import redacted_text
from fuzzmcp.harness.observe.layers import Layer
from fuzzmcp.report.escape import one_line
from fuzzmcp.report.html.rendering import render
from fuzzmcp.report.stack import StackReport, advice, endless_note, sum_of, summary, verdict
from fuzzmcp.search.stacking import CallCost, Seen

_LEFT, _WIDTH = 1.0, 98.0
"""Where time begins and how far it goes, in percent of the width."""
_DRAWN = 400
"""Requests that a drawing shows at most."""


def page(report: StackReport) -> str:
    """The report as one page of HTML in UTF-8; the same report gives the same page."""
    found, setting = report.found, report.setting
    facts = {
        **({"SDK": f"mcp {setting.mcp}"} if setting.mcp else {}),
        "protocol": setting.how,
        "mixes tried": f"{found.tried:,}",
        "a call may cost": ", ".join(report.allowed.texts) or "any number",
    }
    return render(
        "stack_page.html.j2",
        headline=verdict(report),
        client=setting.client,
        facts=facts,
        worst=_script(found.worst),
        advice=tuple(advice(report)),
        others=tuple(_script(seen) for seen in found.all if seen is not found.worst),
    )


@dataclass(frozen=True)
class _Bar:
    """One attempt of a layer, in percent of the width."""

    left: str
    width: str
    said: str


@dataclass(frozen=True)
class _Drawing:
    """A lane for each layer, outermost first, with a bar for each of its attempts; and the requests below.

    A request is where it lies, in percent of the width, and its virtual second.
    """

    lanes: tuple[tuple[Layer, tuple[_Bar, ...]], ...]
    requests: tuple[tuple[str, str], ...]
    begin: str
    end: str
    label: str


@dataclass(frozen=True)
class _Call:
    title: str
    cost: str
    layers: tuple[Layer, ...]
    sum: str
    drawing: _Drawing | None


@dataclass(frozen=True)
class _Script:
    faults: str
    summary: str
    calls: tuple[_Call, ...]
    below: tuple[_Call, ...]


def _script(seen: Seen) -> _Script:
    return _Script(str(seen.script), summary(seen), tuple(map(_call, seen.costs)), tuple(map(_call, seen.below)))


def _call(cost: CallCost) -> _Call:
    return _Call(
        title=one_line(redacted_text(cost.title)),
        cost=f"{cost.said} in {cost.seconds:g} s{endless_note(cost)}",
        layers=tuple(cost.stack.layers),
        sum=sum_of(cost),
        drawing=_drawing(cost) if len(cost.attempts) > 1 else None,
    )


def _drawing(cost: CallCost) -> _Drawing:
    attempts, layers = cost.attempts[:_DRAWN], cost.stack.layers
    begin, end = attempts[0].at, max(attempts[-1].at, attempts[-1].ended)
    scale = _WIDTH / ((end - begin) or 1.0)

    def left(at: float) -> str:
        return f"{_LEFT + (at - begin) * scale:.2f}"

    def bar(layer: Layer, first: float, last: float) -> _Bar:
        width = max((last - first) * scale, 0.6)
        return _Bar(left(first), f"{width:.2f}", f"{layer.place}: {first:g} s to {last:g} s")

    return _Drawing(
        lanes=tuple(
            (layer, tuple(bar(layer, *span) for span in _attempts(cost, number))) for number, layer in enumerate(layers)
        ),
        requests=tuple((left(attempt.at), f"{attempt.at:g} s") for attempt in attempts),
        begin=f"{begin:g} s",
        end=f"{end:g} s",
        label=f"{len(cost.attempts)} requests over {end - begin:g} virtual seconds, by {len(layers)} layers",
    )


def _attempts(cost: CallCost, layer: int) -> Iterator[tuple[float, float]]:
    """The spans of one layer's attempts: each ends before a return to it, or to a layer that lies around it."""
    attempts = cost.attempts[:_DRAWN]
    first = 0
    for place in range(1, len(attempts)):
        if cost.stack.again[place - 1] <= layer:
            yield attempts[first].at, attempts[place - 1].ended
            first = place
    yield attempts[first].at, attempts[-1].ended
