"""What `run` and `campaign` share: how long, with which seed, what is saved, and which reports are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fuzzmcp.cli.completion import complete_folder, complete_report
from fuzzmcp.cli.output import append_summary, write_reports
from fuzzmcp.cli.seeds import Seed
from fuzzmcp.cli.usage import BadOption, Duration
from fuzzmcp.report.formats import FORMATS

if TYPE_CHECKING:
    from fuzzmcp.cli.output import Wanted
    from fuzzmcp.report.model import Report

F = TypeVar("F", bound=Callable[..., Any])


def searching(*, default: str, seed: str) -> Callable[[F], F]:
    """Give a command the options of a search.

    Args:
        default: What ends it where neither a time nor a number of runs is given, for `--help`.
        seed: What the seed is where none is given, for `--help`.
    """
    options = (
        click.option("--time", "seconds", type=Duration(), help="Stop after this real time: 30s, 5m, 1h."),
        click.option(
            "--runs",
            type=click.IntRange(1),
            metavar="N",
            help=f"Stop after about this many runs.  [default: {default}]",
        ),
        click.option(
            "--seed",
            type=Seed(),
            metavar="N|HASH|commit",
            help=f"The same seed finds the same things; a commit is a seed.  [default: {seed}]",
        ),
        click.option(
            "--save",
            metavar="DIR",
            default="regressions",
            show_default=True,
            help="Folder in which findings are saved as case files.",
            shell_complete=complete_folder,
        ),
        click.option("--no-save", is_flag=True, help="Save no case files."),
        click.option(
            "--report",
            "reports",
            multiple=True,
            metavar="KIND=FILE",
            help=f"Write a report: {', '.join(FORMATS)}. A file named - is stdout. Repeatable.",
            shell_complete=complete_report,
        ),
    )

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def folder_of(options: Mapping[str, Any]) -> Path | None:
    """Where findings are saved, found writable before the search begins; None for nowhere.

    Raises:
        BadOption: Nothing can be written there.
    """
    if options["no_save"]:
        return None
    folder = Path(options["save"])
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadOption("--save", f"cannot write to '{folder}'")
    return folder


def tell(report: Report, wanted: tuple[Wanted, ...], stdout: Any) -> None:
    """Show a report on the terminal, and write it wherever it was asked for."""
    from fuzzmcp.report.terminal import console, style

    console.show_report(report, style.stdout())
    write_reports(report, wanted, stdout)
    append_summary(report)
