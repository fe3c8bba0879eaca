"""`fuzzmcp report`: a saved report, shown or written in another form."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from fuzzmcp.cli.completion import complete_file
from fuzzmcp.cli.output import STDOUT, Wanted, found_writable, reserved_stdout, to_stdout, write_reports
from fuzzmcp.cli.usage import NOTHING_FOUND
from fuzzmcp.report.formats import FORMATS

F = TypeVar("F", bound=Callable[..., Any])
_CONVERTED = [row for row in FORMATS.values() if row.converts]


def _format_options(command: F) -> F:
    """Give the command an option for each format that it can write."""
    for row in reversed(_CONVERTED):
        option = click.option(row.option, row.name, metavar="FILE", shell_complete=complete_file, help=row.about)
        command = option(command)
    return command


@click.command()
@click.argument("file", shell_complete=complete_file)
@_format_options
def report(file: str, **files: str | None) -> int:
    """Show the saved report FILE, which `fuzzmcp run --report json=FILE` wrote, or write it in other forms.

    Without options it is shown as the search showed it. FILE may be - for stdin, and one of the options - for stdout.

    The exit code is 0 when the report could be read and written, whatever it says: the search itself has already told
    whether there were findings. It is 2 when FILE is no report.
    """
    wanted = ((row, files[row.name]) for row in _CONVERTED)
    reports = found_writable([Wanted(row.name, name, row.option) for row, name in wanted if name is not None])

    from fuzzmcp.report.load import load, loads
    from fuzzmcp.report.terminal import console, style

    saved = loads(sys.stdin.buffer.read(), "stdin") if file == STDOUT else load(file)
    if not reports:
        console.show_report(saved, style.stdout())
    with reserved_stdout(to_stdout(reports)) as stdout:
        write_reports(saved, reports, stdout)
    return NOTHING_FOUND
