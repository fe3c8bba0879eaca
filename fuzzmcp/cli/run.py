"""`fuzzmcp run`: search for faults that break a client."""

from __future__ import annotations

import sys
from typing import Any

import click

from fuzzmcp.cli.options import budget_of, client_argument, shared
from fuzzmcp.cli.output import found_writable, report_file, reserved_stdout, to_stdout
from fuzzmcp.cli.searching import folder_of, searching, tell
from fuzzmcp.cli.usage import FOUND, INTERRUPTED, NOTHING_FOUND

DEFAULT_RUNS = 2_000


@click.command()
@client_argument
@searching(default=f"{DEFAULT_RUNS:,}, unless --time", seed="0")
@shared
def run(client: str, seconds: float | None, runs: int | None, seed: int | None, **options: Any) -> int:
    """Search for faults that break CLIENT, named as MODULE:ATTR or PATH.py:ATTR.

    Without CLIENT, the one that the project's configuration names: see `fuzzmcp config --help`. Each finding is saved
    as a case file, which `fuzzmcp replay`, `fuzzmcp export` and pytest take for a regression test.
    """
    runs, seconds = budget_of(click.get_current_context(), runs, seconds)
    wanted = found_writable([report_file(text) for text in options["reports"]])
    folder = folder_of(options)
    with reserved_stdout(to_stdout(wanted)) as stdout:
        from fuzzmcp.cli.job import job_of
        from fuzzmcp.report.build import report_of, subject_of
        from fuzzmcp.report.terminal import live, style
        from fuzzmcp.search import Budget, Search
        from fuzzmcp.search.campaign import keep

        job = job_of(client, "", options)
        budget = Budget(runs if runs or seconds else DEFAULT_RUNS, seconds)
        area = style.console_for(sys.stderr)
        files: dict[str, str] = {}

        def on_finding(finding: Any) -> None:
            if folder is not None:
                files[finding.name] = str(keep(folder, finding, job.target.role, job.case.calls))

        with live.show_progress(budget, area, live=area.is_terminal and job.quiet) as on_progress:
            search = Search(job, seed=seed or 0, budget=budget, on_progress=on_progress, on_finding=on_finding)
            result = search.run()
        report = report_of(subject_of(job), seed or 0, result, job.contract, job.case, files=files)
        tell(report, wanted, stdout)
    if report.findings:
        return FOUND
    return INTERRUPTED if report.interrupted else NOTHING_FOUND
