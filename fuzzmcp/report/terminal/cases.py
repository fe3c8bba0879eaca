"""How saved cases look on a terminal when they are replayed or found: one line, and a sentence below it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from fuzzmcp.report.escape import harmless, one_line
from fuzzmcp.search.corpus import ERROR, FAILS, FAILS_DIFFERENTLY, FIXED, Replayed
from fuzzmcp.search.findings import Finding

_STYLES = {FIXED: "green", FAILS: "red", FAILS_DIFFERENTLY: "yellow", ERROR: "bold red"}
_WIDEST = max(map(len, _STYLES))


def show_replayed(seen: Replayed, console: Console, *, expected: bool = False) -> None:
    """Print the status of a saved case.

    Args:
        seen: The replayed case.
        console: The terminal.
        expected: The case belongs to the baseline, so it may fail.
    """
    script = harmless(str(seen.saved.case.script))
    line = Text.assemble(
        (seen.status.ljust(_WIDEST), _STYLES[seen.status]), f"  {harmless(seen.saved.name)}  ", (script, "bold")
    )
    if expected:
        line.append("  in the baseline", "dim")
    console.print(line, soft_wrap=True)
    console.print(Text(" " * (_WIDEST + 2) + one_line(seen.message, 300), "dim"), soft_wrap=True)


def show_found(finding: Finding, path: Path | None, console: Console) -> None:
    """Print a new finding as soon as it is found.

    Args:
        finding: The finding.
        path: The case file that keeps the finding; None if there is none.
        console: The terminal.
    """
    script = harmless(str(finding.case.script))
    line = Text.assemble(("new".ljust(_WIDEST), "bold red"), f"  {harmless(finding.name)}  ", (script, "bold"))
    if path is not None:
        line.append(f"  saved as {path}", "dim")
    console.print(line, soft_wrap=True)
    console.print(Text(" " * (_WIDEST + 2) + one_line(finding.violation.message, 300), "dim"), soft_wrap=True)
