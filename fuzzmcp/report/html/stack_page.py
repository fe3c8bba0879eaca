"""The layers of a retry stack as one page of HTML: requests over virtual time, layer by layer, drawn as SVG."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from fuzzmcp.core.redact import redacted_text
from fuzzmcp.harness.observe.layers import Layer
from fuzzmcp.report.escape import one_line
from fuzzmcp.report.html.document import document, facts, section
from fuzzmcp.report.html.element import Child, E
from fuzzmcp.report.terminal.stack import StackReport, advice, sum_of, summary, verdict
from fuzzmcp.search.stacking import CallCost, Seen

_LANE, _BAR, _NAME = 52, 14, 20
"""Heights in pixels: of a layer's lane, of a bar in it, and of the name above the bars."""
_LEFT, _WIDTH = 1.0, 98.0
"""Where time begins and how far it goes, in percent of the width."""
_DRAWN = 400
"""Requests that a drawing shows at most."""
_OWN_STYLE = """
.stack .attempt { fill: var(--heat); opacity: .55; stroke: var(--back); stroke-width: 1; }
.stack .attempt.odd { opacity: .85; }
.stack .request { fill: var(--bad); }
.stack .axis { stroke: var(--line); stroke-width: 1; }
.stack text { fill: var(--text); font-size: 13px; }
.stack .tick { fill: var(--dim); font-size: 12px; }
.layers { margin: 8px 0 14px; padding-left: 22px; }
.costs { margin: 0 0 14px; }
"""


def page(report: StackReport) -> str:
    """The report as one page of HTML in UTF-8; the same report gives the same page."""
    found = report.found
    last = verdict(report)
    title = f"{last} · {report.setting.client} · fuzzmcp"
    others = [seen for seen in found.all if seen is not found.worst]
    told = [E("li", text) for text in advice(report)]
    main = E(
        "main",
        section("worst", "What costs most", _script(found.worst)),
        section("advice", "What to do", E("ul", told)) if told else None,
        section("others", "The other faults", [_folded(seen) for seen in others]) if others else None,
        id="main",
    )
    body = E(
        "body",
        E("a", "Skip to what costs most", href="#worst", class_="skip"),
        E("header", E("p", "fuzzmcp", class_="brand"),
          E("h1", last[:1].upper() + last[1:], " in ", E("code", report.setting.client)), _facts(report)),
        main,
        E("footer", E("p", "Made by fuzzmcp stack. Seconds are virtual.")),
    )  # fmt: skip
    return document(title, body, _OWN_STYLE)


def _facts(report: StackReport) -> Element:
    setting, allowed = report.setting, report.allowed
    named = {
        **({"SDK": f"mcp {setting.mcp}"} if setting.mcp else {}),
        "protocol": setting.how,
        "mixes tried": f"{report.found.tried:,}",
        "a call may cost": ", ".join(allowed.texts) or "any number",
    }
    return facts(named)


def _folded(seen: Seen) -> Element:
    head = E("summary", E("code", str(seen.script)), " ", E("span", summary(seen), class_="dim"))
    return E("details", head, _script(seen), class_="more")


def _script(seen: Seen) -> list[Child]:
    parts: list[Child] = [E("p", E("code", f"FAULTS={seen.script}", class_="script"))]
    for cost in seen.costs:
        parts += _call(cost)
    if not seen.costs:
        parts.append(E("p", summary(seen)))
    for cost in seen.below:
        parts += [E("p", "Meanwhile over HTTP:"), *_call(cost)]
    return parts


def _call(cost: CallCost) -> Iterator[Child]:
    title = one_line(redacted_text(cost.title))
    waits = ", and it waits for ever" if cost.waits_for_ever else ""
    yield E("h3", E("code", title), f" {cost.said} in {cost.seconds:g} s{waits}")
    if cost.stack.layers:
        told = (E("li", E("code", layer.place), f" {layer.times}, {layer.pauses}") for layer in cost.stack.layers)
        yield E("ol", told, class_="layers")
    yield E("p", sum_of(cost), class_="costs")
    if len(cost.attempts) > 1:
        caption = "Requests over virtual time: each bar is one attempt of a layer, each mark a request"
        yield E("figure", E("figcaption", caption), drawing(cost))


# -- the drawing -------------------------------------------------------------------------------------------------------


def drawing(cost: CallCost) -> Element:
    """One lane a layer, outermost first, with a bar for each of its attempts; and the requests below."""
    attempts = cost.attempts[:_DRAWN]
    begin, end = attempts[0].at, max(attempts[-1].at, attempts[-1].ended)
    scale = _WIDTH / ((end - begin) or 1.0)
    lanes = cost.stack.layers
    parts: list[Child] = []
    for number, layer in enumerate(lanes):
        top = number * _LANE
        parts.append(E("text", f"{layer.place} {layer.times}", x=f"{_LEFT}%", y=top + _NAME - 5))
        for turn, (first, last) in enumerate(_attempts(cost, number)):
            x = _LEFT + (first - begin) * scale
            width = max((last - first) * scale, 0.6)
            parts.append(
                E("rect", E("title", _said(layer, first, last)), x=f"{x:.2f}%", width=f"{width:.2f}%", y=top + _NAME,
                  height=_BAR, rx=2, class_="attempt odd" if turn % 2 else "attempt")
            )  # fmt: skip
    y = len(lanes) * _LANE + _NAME
    parts.append(E("text", "requests", x=f"{_LEFT}%", y=y - 5))
    parts.append(E("line", x1=f"{_LEFT}%", x2=f"{_LEFT + _WIDTH}%", y1=y + 8, y2=y + 8, class_="axis"))
    for attempt in attempts:
        x = _LEFT + (attempt.at - begin) * scale
        parts.append(E("circle", E("title", f"{attempt.at:g} s"), cx=f"{x:.2f}%", cy=y + 8, r=4, class_="request"))
    parts.append(E("text", f"{begin:g} s", x=f"{_LEFT}%", y=y + 30, class_="tick"))
    parts.append(E("text", f"{end:g} s", x=f"{_LEFT + _WIDTH}%", y=y + 30, class_="tick", text_anchor="end"))
    label = f"{len(cost.attempts)} requests over {end - begin:g} virtual seconds, by {len(lanes)} layers"
    return E("svg", parts, class_="stack", width="100%", height=y + 40, role="img", aria_label=label, focusable="false")


def _attempts(cost: CallCost, layer: int) -> Iterator[tuple[float, float]]:
    """The spans of one layer's attempts: each ends before a return to it, or to a layer that lies around it."""
    attempts = cost.attempts[:_DRAWN]
    first = 0
    for place in range(1, len(attempts)):
        if cost.stack.again[place - 1] <= layer:
            yield attempts[first].at, attempts[place - 1].ended
            first = place
    yield attempts[first].at, attempts[-1].ended


def _said(layer: Layer, first: float, last: float) -> str:
    return f"{layer.place}: {first:g} s to {last:g} s"
