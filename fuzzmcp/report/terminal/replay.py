"""How one replayed script looks on a terminal: the outcomes, the violations, and the steps that never happened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from fuzzmcp.checks import HELD, Violation
from fuzzmcp.core.redact import redacted_case, redacted_text
from fuzzmcp.core.trace import PROBE, Outcome, Run
from fuzzmcp.report.build import violated
from fuzzmcp.report.escape import counted, harmless, one_line
from fuzzmcp.report.model import Subject
from fuzzmcp.report.terminal.console import show_finding, show_header, show_timeline
from fuzzmcp.report.terminal.style import show_labelled
from fuzzmcp.report.timeline import outcome_text, timeline


def show_replay(
    run: Run, verdicts: Mapping[str, Any], subject: Subject, console: Console, *, trace: bool = False
) -> None:
    """Print one run.

    Args:
        run: The run to print.
        verdicts: The verdict of each check on the run, by the name of the check.
        subject: The client and the settings of the test.
        console: The terminal.
        trace: Print the whole timeline and the logs too.
    """
    case = redacted_case(run.case)
    tools = f"{subject.catalogue} ({counted(len(case.tools), 'tool')})"
    show_header(subject, tools, f"{case.protocol} over {case.transport}", console=console)
    calls = "" if subject.role == "agent" else "   " + "; ".join(map(str, case.calls))
    console.print(Text.assemble((f"FAULTS={harmless(str(case.script))}", "bold"), harmless(calls)), soft_wrap=True)
    console.print()
    if trace:
        show_timeline(timeline(run, limit=None), console, whole=True)
        _show_surroundings(run, console)
    for outcome in (*run.outcomes, *((run.probe,) if run.probe else ())):
        _show_outcome(run, outcome, console)
    for note in _notes(run):
        show_labelled("note", note, console)
    found = {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Violation)}
    for finding in violated(subject, run, found):
        console.print()
        show_finding(finding, console)
    console.print()
    console.print(Text(_last_line(verdicts, found), "bold"), soft_wrap=True)


def _show_outcome(run: Run, outcome: Outcome, console: Console) -> None:
    if outcome.call == PROBE:
        name = "the probe call"
    else:
        name = "the agent" if run.role == "agent" else redacted_text(str(run.case.calls[outcome.call]))
    took = f"{outcome.ended - outcome.started:.3f} s"
    line = Text.assemble((harmless(name), "bold"), f"  after {took}  {one_line(outcome_text(outcome), 500)}")
    console.print(line, soft_wrap=True)


def _show_surroundings(run: Run, console: Console) -> None:
    """Print the logs, the leftovers and the blocked stretches of the event loop."""
    lines = [f"{log.at:,.3f}  {log.level} {log.logger}: {log.message}" for log in run.logs]
    lines += [f"left behind: {leak.kind}: {leak.what}" for leak in run.leaks]
    lines += [f"{b.at:,.3f}  the event loop was blocked for {b.seconds:g} s by {b.where}" for b in run.blocked]
    for line in lines:
        console.print(Text("   " + one_line(redacted_text(line), 300)), soft_wrap=True)
    if lines:
        console.print()


def _notes(run: Run) -> Iterator[str]:
    if not run.connected:
        error = run.connect_error
        why = f": {type(error).__name__}: {one_line(redacted_text(str(error)))}" if error else ""
        yield f"the client never got ready{why}"
    if run.stopped:
        yield f"the run was cut short: {run.stopped}"
    for step in run.unreached:
        yield f"'{step}' was never reached: no request of the client took it"
    for reason in dict.fromkeys(run.undelivered):
        yield f"not delivered: {one_line(redacted_text(reason))}"
    if run.case.script.steps and not run.played:
        yield "the fault never fired: this proves nothing"


def _last_line(verdicts: Mapping[str, Any], found: Mapping[str, Violation]) -> str:
    held = sum(verdict == HELD for verdict in verdicts.values())
    idle = len(verdicts) - held - len(found)
    first = f"violated: {', '.join(found)}" if found else "nothing violated"
    return f"{first} · {counted(held, 'check')} held · {idle:,} not exercised"
