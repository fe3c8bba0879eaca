"""How the differences of two catalogues look on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fuzzmcp.core.catalogue.diff import Difference, plays
from fuzzmcp.report.differences import Compared
from fuzzmcp.report.escape import counted, harmless

_COLUMN_MAX = 64


def show_differences(compared: Compared, console: Console) -> None:
    """Print the differences, then the scripts that play them with their commands, and one last line."""
    _show_words(compared.found, console)
    for name, script in compared.scripts:
        console.print()
        console.print(Text.assemble((harmless(name), "bold"), "  ", harmless(str(script))), soft_wrap=True)
        if command := compared.command(name, script):
            console.print(Text(harmless(command)), soft_wrap=True)
    if compared.found:
        console.print()
    console.print(Text(_last_line(compared), "bold"), soft_wrap=True)


def _show_words(found: Sequence[Difference], console: Console) -> None:
    """Print one line for each difference. The notes stand in a column of their own if the words leave room for it."""
    lines = [harmless(str(each)) for each in found]
    widths = [cell_len(line) for line, each in zip(lines, found, strict=True) if each.note]
    column = max((width for width in widths if width <= _COLUMN_MAX), default=0)
    for line, each in zip(lines, found, strict=True):
        text = Text(line)
        if each.note:
            text.append(" " * max(column - text.cell_len, 0) + "   ")
            text.append(harmless(each.note), "dim")
        console.print(text, soft_wrap=True)


def _last_line(compared: Compared) -> str:
    found = compared.found
    if not found:
        return f"no difference from {harmless(compared.file)} · {counted(len(compared.old), 'tool')}"
    played = sum(any(name == each.tool and plays(script, each) for name, script in compared.scripts) for each in found)
    tools = len({each.tool for each in found})
    parts = (
        f"{counted(len(found), 'difference')} from {harmless(compared.file)}",
        counted(tools, "tool"),
        f"{played:,} can be played to a client" if played else "none can be played to a client",
    )
    return " · ".join(parts)
