"""A summary in GitHub's Markdown, for `$GITHUB_STEP_SUMMARY`: the findings with their commands, and the checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fuzzmcp.report.escape import harmless
from fuzzmcp.report.model import Report
from fuzzmcp.report.phrases import facts, headline, hints, qualities, setting, status

_ROOM = 500_000
"""Bytes for the table of findings: GitHub refuses a step's summary of more than a megabyte."""
_CELL = 1_000
_SPECIAL = re.compile(r"[\\`*{}\[\]<>#|~&@!$]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.|:(?=//)")


def markdown(report: Report) -> str:
    """The report as a short summary: headline, table of findings, and a folded table of checks."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"### fuzzmcp: {headline(report)}"
    yield ""
    yield f"{code(report.subject.client)} · {' · '.join(map(plain, (*setting(report), *facts(report)[1:-1])))}"
    yield ""
    if report.findings:
        rows = _rows(report)
        yield from _table(("finding", "what happened", "script", "replay"), rows)
        if len(rows) < len(report.findings):
            yield ""
            yield f"… and {len(report.findings) - len(rows):,} more in the full report."
        yield ""
    yield from _checks(report)
    for label, text in hints(report):
        yield ""
        yield f"**{label}** {plain(text)}"


def _rows(report: Report) -> list[tuple[str, ...]]:
    """A row for each finding, until the room is used up."""
    rows: list[tuple[str, ...]] = []
    room = _ROOM
    for finding in report.findings:
        row = (
            f"**{plain(finding.name)}**<br>{' · '.join(qualities(finding))}",
            plain(finding.message) + (f"<br>saved as {code(finding.saved)}" if finding.saved else ""),
            code(f"FAULTS={finding.faults}"),
            code(finding.command, 2 * _CELL),
        )
        room -= sum(len(cell.encode()) for cell in row)
        if room < 0:
            break
        rows.append(row)
    return rows


def _checks(report: Report) -> Iterator[str]:
    found = [status(counts) for counts in report.checks.values()]
    summary = [f"{found.count(word)} {word}" for word in ("violated", "held", "not exercised") if word in found]
    yield f"<details><summary>Checks: {', '.join(summary) or 'none'}</summary>"
    yield ""
    rows = (
        (
            code(name),
            f"**{status(counts)}**" if counts["violated"] else status(counts),
            *(f"{counts[key]:,}" for key in ("held", "violated", "not_exercised")),
        )
        for name, counts in report.checks.items()
    )
    yield from _table(("check", "result", "held", "violated", "not exercised"), rows, numbers=3)
    yield ""
    yield "</details>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join('---:' if place >= len(heads) - numbers else '---' for place in range(len(heads)))}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def plain(text: str, limit: int = _CELL) -> str:
    """Text with every character escaped that Markdown or HTML would take for markup.

    >>> plain("get_order said *no* | <b>")
    'get_order said &#42;no&#42; &#124; &#60;b&#62;'
    """
    text = harmless(text)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)


def code(text: str, limit: int = _CELL) -> str:
    """Text set as code. It is an element, because backticks would not survive in a table.

    >>> code("429(none)*2")
    '<code>429(none)&#42;2</code>'
    """
    return f"<code>{plain(text, limit)}</code>"
