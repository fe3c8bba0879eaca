"""Consoles that cannot fail on a character, and the pieces that every view prints in the same way."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzzmcp.report.escape import harmless

WIDTH_MAX = 120
"""Columns that text is wrapped to at most."""
_WIDTH_PIPED = 110


def console_for(stream: TextIO) -> Console:
    """A console on a stream: as wide as the terminal, 110 columns into a pipe, no colour where NO_COLOR is set.

    A stream that cannot encode an arrow gets its escape instead of an exception.
    """
    if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
        reconfigure(errors="backslashreplace")
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH_PIPED
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def stdout() -> Console:
    """A console on standard output."""
    return console_for(sys.stdout)


def show_table(table: Table, console: Console) -> None:
    """Print a table without the blanks that rich leaves at the ends of lines."""
    with console.capture() as captured:
        console.print(table)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def show_heading(pieces: Sequence[str], console: Console) -> None:
    """Print pieces in bold with dots between them, on several lines if one is too short."""
    line = ""
    for piece in map(harmless, pieces):
        if line and cell_len(f"{line} · {piece}") > console.width:
            console.print(Text(line, "bold"), soft_wrap=True)
            line = "        " + piece
        else:
            line = f"{line} · {piece}" if line else piece
    console.print(Text(line, "bold"), soft_wrap=True)


def show_labelled(label: str, text: str, console: Console) -> None:
    """Print a short bold label, and a text that wraps beside it."""
    show_hanging(Text(label, "bold"), 6, Text(harmless(text)), console)


def show_hanging(label: Text, width: int, text: Text, console: Console) -> None:
    """Print a label, and a text that wraps beside it from column `width` on."""
    for place, line in enumerate(text.wrap(console, max(min(console.width, WIDTH_MAX) - width, 20))):
        line.rstrip()
        head = label if place == 0 else Text()
        head.append(" " * (width - head.cell_len))
        console.print(head.append_text(line), soft_wrap=True)
