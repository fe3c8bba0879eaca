"""`fuzzmcp replay`: drive a client through one script."""

from __future__ import annotations

from typing import Any

import click

from fuzzmcp.cli.options import shared
from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND


@click.command()
@click.argument("client")
@click.argument("script")
@click.option("--trace", is_flag=True, help="Print the whole timeline, and the logs.")
@click.option("--schedule", type=click.IntRange(0), default=0, metavar="N", help="Seed of trio's task schedule.")
@shared
def replay(client: str, script: str, trace: bool, **options: Any) -> int:
    """Drive CLIENT through one SCRIPT of faults, such as '429cap' or 'list:hang,ok+dup@3'."""
    from dataclasses import replace

    from fuzzmcp.checks import Violation, judge
    from fuzzmcp.cli.job import job_of
    from fuzzmcp.harness import drive
    from fuzzmcp.report import terminal
    from fuzzmcp.report.replay import show_replay
    from fuzzmcp.script import Script
    from fuzzmcp.search.opening import CannotRun, fails_by_itself

    job = job_of(client, script, options)

    def driven(case: Any) -> Any:
        return drive(case, job.target, job.contract.limits, front=job.front, quiet=job.quiet)

    happened = driven(job.case)
    if not happened.connected or fails_by_itself(happened):
        plain = driven(replace(job.case, script=Script(), changed=None))
        if not plain.connected or fails_by_itself(plain):
            raise CannotRun(plain)
    verdicts = judge(happened, job.contract, job.checks)
    show_replay(happened, verdicts, job.subject, terminal.stdout(), trace=trace)
    return FOUND if any(isinstance(verdict, Violation) for verdict in verdicts.values()) else NOTHING_FOUND
