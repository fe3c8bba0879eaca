"""How a finding and a report look on a terminal: readable in 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzzmcp.checks import CHECKS
from fuzzmcp.report.model import Report, SavedFinding, Subject
from fuzzmcp.report.terminal import print_table
from fuzzmcp.report.text import counted, duration, harmless, ordinal
from fuzzmcp.report.timeline import Moment, folded
from fuzzmcp.trace import PROBE

_WIDTH_MAX = 120
_FIRST, _LAST = 14, 8
"""Lines of a timeline before and after the fold."""
_ARROWS = {"->": "→", "<-": "←", "": " "}
_HANDSHAKE = ("initialize", "notifications/initialized", "server/discover", "tools/list", "")


def show_report(report: Report, console: Console) -> None:
    """Print a whole report: header, findings, the two tables, hints, and one last line."""
    subject = report.subject
    tools = f"{subject.catalogue} ({counted(report.tool_count, 'tool')})"
    show_header(subject, tools, f"{report.protocol} over {report.transport}", f"seed {report.seed}", console=console)
    for finding in report.findings:
        console.print()
        show_finding(finding, console)
    console.print()
    print_table(_check_table(report), console)
    if report.faults:
        console.print()
        print_table(_fault_table(report), console)
    hints = list(_hints(report))
    if hints:
        console.print()
    for label, text in hints:
        labelled(label, text, console)
    console.print()
    console.print(_last_line(report), soft_wrap=True)


def show_header(subject: Subject, *parts: str, console: Console) -> None:
    """Print who was tested, and how."""
    pieces = ["fuzzmcp", subject.client, f"mcp {subject.mcp}", *parts]
    line = ""
    for piece in map(harmless, pieces):
        if line and cell_len(f"{line} · {piece}") > console.width:
            console.print(Text(line, "bold"), soft_wrap=True)
            line = "        " + piece
        else:
            line = f"{line} · {piece}" if line else piece
    console.print(Text(line, "bold"), soft_wrap=True)


# -- findings ----------------------------------------------------------------------------------------------------------


def show_finding(finding: SavedFinding, console: Console, *, whole: bool = False) -> None:
    """Print one finding: its sentence, script, calls and timeline, and what to do about it.

    Args:
        finding: What to show.
        console: Where to.
        whole: Show every moment instead of the telling ones.
    """
    faults = f"FAULTS={harmless(finding.faults)}"
    calls = "; ".join(map(harmless, finding.calls))
    label = max(len(finding.name), len(faults) if len(faults) <= 32 else 0) + 3
    _show_title(finding, label, console)
    if len(faults) + 3 > label or cell_len(calls) + label > console.width:
        console.print(Text(faults, "bold"), soft_wrap=True)
        if calls:
            console.print(Text(" " * label + calls), soft_wrap=True)
    else:
        console.print(Text.assemble((faults.ljust(label) if calls else faults, "bold"), calls), soft_wrap=True)
    console.print()
    show_timeline(finding.requests, console, whole=whole, one_call=len(finding.calls) == 1)
    check = CHECKS[finding.check]
    labelled("why", check.why, console)
    labelled("do", check.advice, console)
    console.print(Text.assemble(("again ", "bold"), harmless(finding.command)), soft_wrap=True)


def _show_title(finding: SavedFinding, label: int, console: Console) -> None:
    words = [word for word, is_so in _qualities(finding) if is_so is not None]
    flags = " · ".join(words)
    width = min(console.width, _WIDTH_MAX)
    room = width - label - cell_len(finding.message) - len(flags)
    name = (finding.name.ljust(label), "bold red")
    if room >= 3 or not flags:
        line = Text.assemble(name, finding.message, " " * room if flags else "", (flags, "dim"))
        console.print(line, soft_wrap=room >= 0)
        return
    _hanging(Text(finding.name, "bold red"), label, Text(finding.message), console)
    console.print(Text(" " * label + flags, "dim"), soft_wrap=True)


def _qualities(finding: SavedFinding) -> Iterable[tuple[str, bool | None]]:
    yield ("minimal" if finding.minimal else "not yet minimal"), finding.minimal
    yield ("deterministic" if finding.deterministic else "not deterministic"), finding.deterministic


def labelled(label: str, text: str, console: Console) -> None:
    """Print a short bold label, and text that wraps beside it."""
    _hanging(Text(label, "bold"), 6, Text(harmless(text)), console)


def _hanging(label: Text, width: int, text: Text, console: Console) -> None:
    """A label, and text that wraps beside it."""
    for place, line in enumerate(text.wrap(console, max(min(console.width, _WIDTH_MAX) - width, 20))):
        line.rstrip()
        head = label if place == 0 else Text()
        head.append(" " * (width - head.cell_len))
        console.print(head.append_text(line), soft_wrap=True)


# -- the timeline ------------------------------------------------------------------------------------------------------


def show_timeline(moments: Sequence[Moment], console: Console, *, whole: bool = False, one_call: bool = False) -> None:
    """Print moments in virtual time, one a line, each with the code that sent it; the last evidence is marked.

    Args:
        moments: What happened.
        console: Where to.
        whole: Show every moment instead of the telling ones, and fold nothing.
        one_call: There is only one call, so its tool names it.
    """
    shown = tuple(moments) if whole else folded(telling(moments), _FIRST, _LAST)
    deed = next((moment for moment in reversed(shown) if moment.evidence), None)
    rows = [(moment, _what(moment, one_call), _where(moment)) for moment in shown]
    wide = min(console.width, _WIDTH_MAX)
    clock = max((len(f"{m.at:,.3f}") for m in shown), default=0) + 3
    head = clock + 5
    sites = max((cell_len(where) for _, _, where in rows), default=0)
    room = max(wide - head - sites - 2, 24)
    column = min(max((cell_len(what) for _, what, where in rows if where), default=0) + 2, room)
    for moment, what, where in rows:
        mark = "" if moment is not deed else f"◀ {_deed(moment)}"
        if moment.kind == "omitted":
            console.print(Text(" " * head + f"… {what}", "dim"))
            continue
        line = Text(f"{moment.at:{clock},.3f}  {_ARROWS[moment.direction]}  ")
        limit = column - 2 if where else max(wide - head - (len(mark) + 2 if mark else 0), 24)
        body = Text(what, "red" if moment.fault else "")
        body.truncate(limit, overflow="ellipsis")
        line.append_text(body)
        if where:
            line.append(" " * (head + column - line.cell_len))
            line.append(where, "cyan")
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


def telling(moments: Sequence[Moment]) -> tuple[Moment, ...]:
    """The moments that a reader needs: without a plain handshake, without what follows the script, unless evidence."""
    began = next((i for i, m in enumerate(moments) if m.method == "tools/call"), len(moments))
    faulty = {m.method for m in moments[:began] if m.fault or m.kind == "silence"}
    found = tuple(m for i, m in enumerate(moments) if _tells(m, opening=i < began, faulty=faulty))
    return found or tuple(moments)


def _tells(moment: Moment, *, opening: bool, faulty: set[str]) -> bool:
    if moment.evidence or moment.fault or moment.kind in ("silence", "omitted"):
        return True
    if moment.after or moment.kind in ("open", "start", "over"):
        return False
    if moment.kind == "hang_up" or not opening:
        return True
    return moment.method not in _HANDSHAKE or (moment.direction == "->" and moment.method in faulty)


def _what(moment: Moment, one_call: bool) -> str:
    """The middle column of a line; where there is only one call, its tool is name enough."""
    text, label = moment.text, moment.label
    if one_call and moment.kind in ("request", "settle"):
        text, label = (text.partition("(")[0], label) if moment.nth else (text, label.partition("(")[0])
    if moment.nth and moment.call == PROBE:
        text += " (the probe)"
    if moment.direction == "->" or (moment.direction == "<-" and not label):
        name = moment.method if moment.id is None else f"{moment.method} {moment.id}".strip()
        return "  ".join(filter(None, (name, label, text)))
    if label == "ok" and not moment.fault:
        return label
    return "  ".join(filter(None, (label, text)))


def _where(moment: Moment) -> str:
    """The right column: the line that sent a request, or the loop that came back to send it again."""
    place = moment.loop or moment.site
    if place is None or moment.kind != "request":
        return ""
    short = place.rpartition("/")[2]
    return f"again from {short}" if moment.loop else short


def _deed(moment: Moment) -> str:
    repeats = moment.kind == "request" and moment.nth is not None and moment.nth > 1
    return f"the {ordinal(moment.nth or 0)} request" if repeats else "here"


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
        table.add_row(name, *numbers, style=style)
    return table


def _fault_table(report: Report) -> Table:
    table = _table("fault", "injected", "reactions")
    for name, row in report.faults.items():
        counts = sorted(row["reactions"].items(), key=lambda pair: (-pair[1], pair[0]))
        reactions = " · ".join(f"{harmless(word)} {count:,}" for word, count in counts)
        table.add_row(name, f"{row['injected']:,}", reactions)
    return table


def _hints(report: Report) -> Iterable[tuple[str, str]]:
    if report.interrupted:
        phase = f" in the phase '{report.phase}'" if report.phase else ""
        yield "note", f"interrupted{phase}: this is what was found until then"
    idle = [name for name, counts in report.checks.items() if not counts["held"] and not counts["violated"]]
    if idle:
        yield "note", f"never exercised: {', '.join(idle)}. More --runs, other --call or --tools may reach them."
    missed = sorted(report.undelivered.items(), key=lambda pair: (-pair[1], pair[0]))
    if missed:
        (reason, _), total = missed[0], sum(report.undelivered.values())
        more = f" (and {counted(len(missed) - 1, 'other reason')})" if len(missed) > 1 else ""
        yield "note", f"{counted(total, 'part')} of scripts could not be delivered, most often: {reason}{more}"
    if any(finding.deterministic is False for finding in report.findings):
        yield "note", "a finding that is not deterministic depends on more than its script: time, randomness, threads"


def _last_line(report: Report) -> Text:
    rate = report.runs / report.seconds if report.seconds else 0.0
    found = counted(len(report.findings), "finding") if report.findings else "nothing found"
    parts = (
        found,
        counted(report.runs, "run"),
        f"{rate:,.0f} runs/s",
        f"{duration(report.virtual_seconds)} of virtual time",
        f"{report.seconds:.1f} s",
        f"seed {report.seed}",
    )
    return Text(" · ".join(parts), "bold")
