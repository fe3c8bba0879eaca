"""How the layers of a retry stack look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from fuzzmcp.core.redact import redacted_text
from fuzzmcp.report.escape import harmless, one_line
from fuzzmcp.report.stack import StackReport, advice, endless_note, sum_of, summary, verdict
from fuzzmcp.report.terminal.style import show_heading, show_labelled
from fuzzmcp.search.stacking import CallCost, Exploration, Seen


def show_stack(report: StackReport, console: Console, *, all_in_full: bool = False) -> None:
    """Print the worst script in full, each other script on one line, and the advice.

    Args:
        report: The report to print.
        console: The terminal.
        all_in_full: Print every script in full.
    """
    found, setting = report.found, report.setting
    sdk = (f"mcp {setting.mcp}",) if setting.mcp else ()
    show_heading(("fuzzmcp", setting.client, *sdk, setting.how), console)
    width = max((len(str(seen.script)) for seen in found.singles), default=0)
    for seen in found.singles:
        if all_in_full:
            _show_in_full(seen, console)
        elif seen is not found.worst:
            line = f"{seen.script!s:<{width}}   {summary(seen)}"
            console.print(Text(harmless(line)), soft_wrap=True)
    if found.mix is not None and all_in_full:
        _show_in_full(found.mix, console)
    elif not all_in_full:
        _show_in_full(found.worst, console)
    console.print()
    for label, text in (*_mixes(found), *(("do", text) for text in advice(report))):
        show_labelled(label, text, console)
    console.print(Text(verdict(report), "bold"), soft_wrap=True)


def _show_in_full(seen: Seen, console: Console) -> None:
    console.print()
    console.print(Text.assemble((f"FAULTS={harmless(str(seen.script))}", "bold")), soft_wrap=True)
    if not seen.costs:
        console.print(Text("   " + summary(seen)), soft_wrap=True)
    for cost in seen.costs:
        _show_cost(cost, "", console)
    for cost in seen.below:
        _show_cost(cost, "   meanwhile over HTTP: ", console)


def _show_cost(cost: CallCost, lead: str, console: Console) -> None:
    title, indent = one_line(redacted_text(cost.title)), "   " * (2 if lead else 1)
    console.print(Text(f"{lead}{title}   {cost.said} in {cost.seconds:g} s{endless_note(cost)}"), soft_wrap=True)
    for depth, layer in enumerate(cost.stack.layers):
        over = "   " * depth + ("" if depth == 0 else "over ")
        console.print(Text(harmless(f"{indent}{over}{layer}")), soft_wrap=True)
    console.print(Text(indent + sum_of(cost)), soft_wrap=True)


def _mixes(found: Exploration) -> Iterator[tuple[str, str]]:
    if found.tried:
        if found.mix is None:
            yield "mix", f"none of the {found.tried:,} that were tried costs more"
        else:
            yield "mix", f"the worst of the {found.tried:,} that were tried costs more than every single fault"
