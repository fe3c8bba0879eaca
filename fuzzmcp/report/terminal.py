"""The terminal: consoles that cannot fail on a character, and tables without trailing blanks."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console
from rich.table import Table

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


def print_table(table: Table, console: Console) -> None:
    """Print a table without the blanks that rich leaves at the ends of lines."""
    with console.capture() as captured:
        console.print(table)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
