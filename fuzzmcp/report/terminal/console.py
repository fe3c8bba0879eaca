"""How a finding and a report look on a terminal: readable in 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzzmcp.report.escape import harmless
from fuzzmcp.report.model import Moment, Report, SavedFinding, Subject
from fuzzmcp.report.narrative import (
    FIRST,
    LAST,
    code_line,
    description,
    essential_moments,
    evidence_mark,
    last_evidence,
)
from fuzzmcp.report.phrases import about, facts, hints, qualities, reactions, setting
from fuzzmcp.report.terminal.style import WIDTH_MAX, show_hanging, show_heading, show_labelled, show_table
from fuzzmcp.report.timeline import folded

_ARROWS = {"->": "→", "<-": "←", "": " "}


def show_report(report: Report, console: Console) -> None:
    """Print a whole report: header, findings, the two tables, hints, and one last line."""
    show_header(report.subject, *setting(report)[1:], console=console)
    for finding in report.findings:
        console.print()
        show_finding(finding, console)
    console.print()
    show_table(_check_table(report), console)
    if report.faults:
        console.print()
        show_table(_fault_table(report), console)
    said = list(hints(report))
    if said:
        console.print()
    for label, text in said:
        show_labelled(label, text, console)
    console.print()
    console.print(Text(" · ".join(facts(report)), "bold"), soft_wrap=True)


def show_header(subject: Subject, *parts: str, console: Console) -> None:
    """Print the client, the version of the SDK and other parts of the setting."""
    show_heading(("fuzzmcp", subject.client, f"mcp {subject.mcp}", *parts), console)


# -- findings ----------------------------------------------------------------------------------------------------------


def show_finding(finding: SavedFinding, console: Console, *, whole: bool = False) -> None:
    """Print one finding: its sentence, script, calls and timeline, and the advice.

    Args:
        finding: The finding to print.
        console: The terminal.
        whole: Print every moment, not only the essential ones.
    """
    faults = f"FAULTS={harmless(finding.faults)}"
    calls = "; ".join(map(harmless, finding.calls))
    name = harmless(finding.name)
    label = max(cell_len(name), len(faults) if len(faults) <= 32 else 0) + 3
    _show_title(finding, name, label, console)
    if len(faults) + 3 > label or cell_len(calls) + label > console.width:
        console.print(Text(faults, "bold"), soft_wrap=True)
        if calls:
            console.print(Text(" " * label + calls), soft_wrap=True)
    else:
        console.print(Text.assemble((faults.ljust(label) if calls else faults, "bold"), calls), soft_wrap=True)
    console.print()
    show_timeline(finding.requests, console, whole=whole, one_call=len(finding.calls) == 1)
    check = about(finding.check)
    show_labelled("why", check.why, console)
    show_labelled("do", check.advice, console)
    if finding.replay:
        console.print(Text.assemble(("again ", "bold"), harmless(finding.command)), soft_wrap=True)
    if finding.saved is not None:
        console.print(Text.assemble(("saved ", "bold"), harmless(finding.saved)), soft_wrap=True)


def _show_title(finding: SavedFinding, name: str, label: int, console: Console) -> None:
    flags, message = " · ".join(qualities(finding)), harmless(finding.message)
    style = "bold" if finding.known else "bold red"
    room = min(console.width, WIDTH_MAX) - label - cell_len(message) - len(flags)
    if room >= 3 or not flags:
        head = Text(name, style).append(" " * (label - cell_len(name)))
        line = Text.assemble(head, message, " " * room if flags else "", (flags, "dim"))
        console.print(line, soft_wrap=room >= 0)
        return
    show_hanging(Text(name, style), label, Text(message), console)
    console.print(Text(" " * label + flags, "dim"), soft_wrap=True)


# -- the timeline ------------------------------------------------------------------------------------------------------


def show_timeline(moments: Sequence[Moment], console: Console, *, whole: bool = False, one_call: bool = False) -> None:
    """Print moments in virtual time, one a line, each with the code that sent it. The last evidence is marked.

    Args:
        moments: The moments of a run.
        console: The terminal.
        whole: Print every moment, not only the essential ones, and fold nothing.
        one_call: There is only one call, so the name of its tool stands for it.
    """
    shown = tuple(moments) if whole else folded(essential_moments(moments), FIRST, LAST)
    last = last_evidence(shown)
    rows = [(moment, description(moment, one_call), code_line(moment)) for moment in shown]
    wide = min(console.width, WIDTH_MAX)
    clock = max((len(f"{m.at:,.3f}") for m in shown), default=0) + 3
    head = clock + 5
    sites = max((cell_len(place) for _, _, place in rows), default=0)
    room = max(wide - head - sites - 2, 24)
    column = min(max((cell_len(words) for _, words, place in rows if place), default=0) + 2, room)
    for moment, words, place in rows:
        mark = "" if moment is not last else f"◀ {evidence_mark(moment)}"
        if moment.kind == "omitted":
            console.print(Text(" " * head + f"… {words}", "dim"))
            continue
        line = Text(f"{moment.at:{clock},.3f}  {_ARROWS[moment.direction]}  ")
        limit = column - 2 if place else max(wide - head - (len(mark) + 2 if mark else 0), 24)
        body = Text(words, "red" if moment.fault else "")
        body.truncate(limit, overflow="ellipsis")
        line.append_text(body)
        if place:
            line.append(" " * (head + column - line.cell_len))
            line.append(place, "cyan")
        _print_marked(line, mark, head, wide, console)
    console.print()


def _print_marked(line: Text, mark: str, head: int, wide: int, console: Console) -> None:
    if mark and line.cell_len + 2 + len(mark) <= wide:
        line.append("  ")
        line.append(mark, "bold yellow")
        mark = ""
    console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    if mark:
        console.print(Text(" " * head + mark, "bold yellow"))


# -- tables and the end ------------------------------------------------------------------------------------------------


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for i, column in enumerate(columns):
        number = i > 0 and column != "reactions"
        table.add_column(column, justify="right" if number else "left", no_wrap=column != "reactions", overflow="fold")
    return table


def _check_table(report: Report) -> Table:
    table = _table("check", "held", "violated", "not exercised")
    for name, counts in report.checks.items():
        style = "red" if counts["violated"] else "" if counts["held"] else "dim"
        numbers = (f"{counts[key]:,}" if counts[key] else "-" for key in ("held", "violated", "not_exercised"))
        table.add_row(harmless(name), *numbers, style=style)
    return table


def _fault_table(report: Report) -> Table:
    table = _table("fault", "injected", "reactions")
    for name, row in report.faults.items():
        cell = " · ".join(f"{harmless(word)} {count:,}" for word, count in reactions(row))
        table.add_row(harmless(name), f"{row['injected']:,}", cell)
    return table
