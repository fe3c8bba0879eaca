"""`fuzzmcp run`: search for faults that break a client."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from fuzzmcp.cli.options import shared
from fuzzmcp.cli.output import report_file, reserved_stdout, write
from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND, Duration

DEFAULT_RUNS = 2_000


@click.command()
@click.argument("client")
@click.option("--time", "seconds", type=Duration(), help="Stop after this real time: 30s, 5m, 1h.")
@click.option(
    "--runs",
    type=click.IntRange(1),
    metavar="N",
    help=f"Stop after about this many runs.  [default: {DEFAULT_RUNS:,}, unless --time]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="The same seed finds the same things.",
)
@shared
@click.option(
    "--report", "reports", multiple=True, metavar="json=FILE", help="Write a report; json=- to stdout. Repeatable."
)
def run(
    client: str, seconds: float | None, runs: int | None, seed: int, reports: tuple[str, ...], **options: Any
) -> int:
    """Search for faults that break CLIENT, named as MODULE:ATTR or PATH.py:ATTR."""
    files = [report_file(text) for text in reports]
    # Hypothesis would leave a folder .hypothesis wherever fuzzmcp is started.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(cache, "fuzzmcp", "hypothesis"))
    with reserved_stdout("-" in files) as stdout:
        from fuzzmcp.cli.job import job_of
        from fuzzmcp.report import console, live, terminal
        from fuzzmcp.report.model import report_of
        from fuzzmcp.search import Budget, Search

        job = job_of(client, "", options)
        budget = Budget(runs if runs or seconds else DEFAULT_RUNS, seconds)
        area = terminal.console_for(sys.stderr)
        with live.shown(budget, area, live=area.is_terminal and job.quiet) as on_progress:
            search = Search(
                job.target, job.case, job.contract, seed=seed, budget=budget, checks=job.checks,
                on_progress=on_progress, front=job.front, quiet=job.quiet,
            )  # fmt: skip
            result = search.run()
        report = report_of(job.subject, seed, result, job.contract, job.case)
        console.show_report(report, terminal.stdout())
        for file in files:
            write(file, report.dumps(), stdout)
    return FOUND if report.findings else NOTHING_FOUND
