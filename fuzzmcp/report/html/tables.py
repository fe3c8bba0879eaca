"""The tables of the page: checks, fault × reaction, the vocabulary that was covered, and the timeline of a finding."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from fuzzmcp.core.fault_row import Fault
from fuzzmcp.core.faults import BY_NAME, FAULTS
from fuzzmcp.report.escape import counted
from fuzzmcp.report.html.element import Child, E
from fuzzmcp.report.model import Report
from fuzzmcp.report.phrases import about, status
from fuzzmcp.report.timeline import Moment

_REACTIONS = ("sent again", "returned", "returned an error", "cancelled", "unfinished", "connecting failed")
_ARROWS = {"->": "→ to the server", "<-": "← to the client", "": ""}


def scrolled(name: str, table: Element) -> Element:
    """A wide table in a box of its own that scrolls, and that the keyboard can reach."""
    return E("div", table, class_="scroll", role="region", tabindex="0", aria_label=name)


def _table(
    name: str, heads: Sequence[str], rows: Iterator[Element], numbers: Container[str] = (), **more: Any
) -> Element:
    cells = [E("th", head, scope="col", class_="number" if head in numbers else None) for head in heads]
    caption = E("caption", name, class_="unseen")
    return scrolled(name, E("table", caption, E("thead", E("tr", cells)), E("tbody", rows), **more))


def timeline_table(moments: Sequence[Moment]) -> Element:
    """Every moment that was kept, with the line of code behind each request."""
    heads = ("seconds", "direction", "what", "code")
    return _table("Request timeline", heads, (_moment(moment) for moment in moments), class_="timeline")


def _moment(moment: Moment) -> Element:
    if moment.kind == "omitted":
        return E("tr", E("td", f"{moment.at:,.3f}"), E("td"), E("td", f"… {moment.text}"), E("td"), class_="dim")
    name = " ".join(str(part) for part in (moment.method, moment.id) if part not in ("", None))
    words: list[Child] = [E("span", part) for part in (name, moment.label) if part]
    if moment.fault and moment.fault != moment.label:
        words.append(E("span", f"fault {moment.fault}", class_="fault"))
    if moment.text:
        words.append(E("span", moment.text, class_="dim"))
    if moment.evidence:
        words.append(E("strong", "evidence", class_="mark"))
    code = [E("code", moment.site)] if moment.site else []
    code += [E("br"), E("span", "again from ", class_="dim"), E("code", moment.loop)] if moment.loop else []
    return E(
        "tr", E("td", f"{moment.at:,.3f}"), E("td", _ARROWS[moment.direction]), E("td", _spaced(words)), E("td", code),
        class_="evidence" if moment.evidence else None,
    )  # fmt: skip


def _spaced(words: Sequence[Child]) -> Iterator[Child]:
    for i, word in enumerate(words):
        yield " " if i else None
        yield word


def check_table(report: Report) -> Element:
    """One row for each check that was asked."""
    numbers = ("held", "violated", "not exercised")
    heads = ("check", "result", *numbers, "demands")
    return _table("Checks", heads, (_check(*pair) for pair in report.checks.items()), numbers, class_="checks")


def _check(name: str, counts: Mapping[str, int]) -> Element:
    what = status(counts)
    style = {"violated": "bad", "held": "good"}.get(what, "dim")
    numbers = (counts[key] for key in ("held", "violated", "not_exercised"))
    return E(
        "tr", E("th", E("code", name), scope="row"), E("td", E("span", what, class_=style)),
        (E("td", f"{number:,}" if number else "–", class_="number") for number in numbers),
        E("td", in_words(about(name).demands), class_="wide"),
    )  # fmt: skip


def in_words(text: str) -> list[Child]:
    """Our own sentences, whose `names` in backticks are set as code."""
    return [E("code", part) if i % 2 else part for i, part in enumerate(text.split("`"))]


def matrix(report: Report) -> Element:
    """How the client reacted to each fault: the stronger the colour, the more often."""
    rows = {name: row for name, row in report.faults.items() if row["reactions"]}
    words = sorted({word for row in rows.values() for word in row["reactions"]}, key=_order)
    cells = (_reactions(name, row["reactions"], words) for name, row in rows.items())
    return _table("Fault × reaction", ("fault", *words), cells, words, class_="matrix")


def _order(word: str) -> tuple[int, str]:
    return (_REACTIONS.index(word) if word in _REACTIONS else len(_REACTIONS), word)


def _reactions(name: str, counts: Mapping[str, int], words: Sequence[str]) -> Element:
    total = sum(counts.values()) or 1
    cells = (
        E("td", f"{counts[word]:,}", class_="number heat", style=f"--share:{_share(counts[word], total)}%")
        if counts.get(word)
        else E("td", class_="number")
        for word in words
    )
    return E("tr", E("th", E("code", name), scope="row"), cells)


def _share(part: int, whole: int) -> int:
    return min(max(round(100 * part / whole), 1), 100)


def coverage(report: Report) -> list[Child]:
    """Which faults of the vocabulary were injected how often, and which never."""
    usable = [fault for fault in FAULTS if _carries(report, fault)]
    never = [fault.name for fault in usable if not _injected(report, fault.name)]
    most = max((row["injected"] for row in report.faults.values()), default=0) or 1
    carrier = f"{report.protocol} over {report.transport}"
    first = f"{len(usable) - len(never)} of {counted(len(usable), 'fault')} that {carrier} can carry were injected."
    parts: list[Child] = [E("p", first)]
    if never:
        listed = ([", " if i else None, E("code", name)] for i, name in enumerate(never))
        parts.append(E("p", E("strong", "Never: "), listed))
    groups = {
        "Answers": [fault.name for fault in FAULTS if fault.role == "answer"],
        "Extras": [fault.name for fault in FAULTS if fault.role == "extra"],
        "Unknown to this version": [name for name in report.faults if name not in BY_NAME],
    }
    for title, names in groups.items():
        if names:
            parts += [E("h3", title), E("ul", (_fault(report, name, most) for name in names), class_="vocabulary")]
    return parts


def _carries(report: Report, fault: Fault) -> bool:
    return report.protocol in fault.versions and report.transport in fault.transports


def _injected(report: Report, name: str) -> int:
    return int(report.faults[name]["injected"]) if name in report.faults else 0


def _fault(report: Report, name: str, most: int) -> Element:
    times, fault = _injected(report, name), BY_NAME.get(name)
    carried = fault is None or _carries(report, fault)
    where = f"in {report.protocol}" if fault and report.protocol not in fault.versions else f"over {report.transport}"
    said = f"{times:,}" if times else "never" if carried else f"not {where}"
    bar = E("span", class_="bar", style=f"--share:{_share(times, most)}%") if times else None
    return E(
        "li", E("code", name), E("span", said, class_="times"), bar,
        E("span", fault.summary, class_="dim") if fault else None,
        class_=None if times else "never",
    )  # fmt: skip
