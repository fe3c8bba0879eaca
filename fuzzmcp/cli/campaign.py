"""`fuzzmcp campaign`: the job that fuzzes every night."""

from __future__ import annotations

import datetime
import math
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fuzzmcp.cli.completion import complete_file
from fuzzmcp.cli.options import budget_of, client_argument, shared
from fuzzmcp.cli.output import found_writable, report_file, reserved_stdout, to_stdout
from fuzzmcp.cli.searching import folder_of, searching, tell
from fuzzmcp.cli.usage import FOUND, INTERRUPTED, NOTHING_FOUND, Duration, say
from fuzzmcp.core.errors import CANNOT_RUN

if TYPE_CHECKING:
    from fuzzmcp.search.campaign import Outcome, Plan
    from fuzzmcp.search.job import Job

DEFAULT_SECONDS = 600.0
_OVERRUN = 1.25
"""A search may take so much longer than its budget, to make its last finding minimal."""
_CLOSING = 30.0
"""Real seconds kept for the canary, the saved cases and the reports."""
_GITHUB_SECONDS = 6 * 3600.0
"""What GitHub gives a job that says nothing else; it tells the job nothing about it."""


@click.command()
@client_argument
@searching(default="none, the time ends it: 10m", seed="a new one, printed")
@click.option(
    "--baseline",
    metavar="PATH",
    help="Saved cases that may fail: a file or a folder.  [default: none may]",
    shell_complete=complete_file,
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first new finding.")
@click.option("--max-findings", type=click.IntRange(1), metavar="N", help="Stop after N new findings.")
@click.option(
    "--canary/--no-canary", default=True, help="Look first for a bug planted in another client.  [default: canary]"
)
@click.option(
    "--database",
    metavar="WHERE",
    default=".fuzzmcp/examples",
    show_default=True,
    help="Example database, for what a killed job was about to shrink: a folder, redis://HOST:PORT/N, "
    "github:OWNER/REPO or none.",
)
@click.option(
    "--limit", type=Duration(), help="Real time that CI leaves this job, from now on.  [default: CI is asked]"
)
@shared
def campaign(client: str, **options: Any) -> int:
    """Fuzz CLIENT as a job does every night: the canary, the saved cases, then a search that saves what it finds.

    A finding is saved before it is printed: nothing that was printed is lost, however the job ends. The search stops
    itself before the time limit of CI, and when it is interrupted or terminated it still reports. A spent budget is
    success.

    Exit codes: 0 nothing fails but the baseline; 1 new findings, or saved cases that fail and are not in the baseline;
    2 bad usage, or a bad case file; 3 the client cannot be run, or the canary was not found: the pipeline is dead;
    130 interrupted, and nothing to report.
    """
    context = click.get_current_context()
    wanted = found_writable([report_file(text) for text in options["reports"]])
    runs, seconds = budget_of(context, options["runs"], options["seconds"])
    seconds = _seconds(
        runs, seconds, options["limit"] or time_left(os.environ, datetime.datetime.now(datetime.timezone.utc))
    )
    seed = secrets.randbits(32) if options["seed"] is None else options["seed"]
    folder = folder_of(options)
    with reserved_stdout(to_stdout(wanted)) as stdout:
        from fuzzmcp.cli.job import job_of
        from fuzzmcp.report.build import campaign_report, subject_of
        from fuzzmcp.search.campaign import CanaryMissed

        job = job_of(client, "", options)
        plan = _plan(job, client, folder, (seed, runs, seconds), options)
        say(f"a campaign of {_budget(plan)} with seed {seed}")
        try:
            outcome = _carried_out(plan)
        except CanaryMissed as error:
            say(f"{error}: whatever this campaign does not find proves nothing")
            return CANNOT_RUN
        except KeyboardInterrupt:
            say("interrupted before the search began")
            return INTERRUPTED
        tell(campaign_report(subject_of(job), outcome), wanted, stdout)
    if outcome.unexpected:
        return FOUND
    return INTERRUPTED if outcome.result.interrupted else NOTHING_FOUND


def time_left(environment: Mapping[str, str], now: datetime.datetime) -> float:
    """Real seconds that the CI system leaves this job; infinite where none tells.

    GitLab tells (CI_JOB_TIMEOUT and CI_JOB_STARTED_AT); GitHub does not, and gives six hours unless the workflow says
    otherwise.
    """
    try:
        timeout = float(environment["CI_JOB_TIMEOUT"])
        began = datetime.datetime.fromisoformat(environment["CI_JOB_STARTED_AT"].replace("Z", "+00:00"))
        return max(timeout - (now - began).total_seconds(), 1.0)
    except (KeyError, ValueError, TypeError):
        return _GITHUB_SECONDS if environment.get("GITHUB_ACTIONS") == "true" else math.inf


def _seconds(runs: int | None, seconds: float | None, left: float) -> float | None:
    """Real seconds for the search, so that it ends in time with all that follows."""
    wanted = DEFAULT_SECONDS if seconds is None and runs is None else seconds
    if left == math.inf:
        return wanted
    most = max((left - _CLOSING) / _OVERRUN, left / 4)
    if wanted is not None and most < wanted:
        say(f"the time is cut to {most:.0f} s: CI leaves {left:.0f} s")
    return most if wanted is None else min(wanted, most)


def _budget(plan: Plan) -> str:
    from fuzzmcp.report.escape import duration

    runs = "" if plan.budget.runs is None else f"{plan.budget.runs:,} runs"
    seconds = "" if plan.budget.seconds is None else duration(plan.budget.seconds)
    return " or ".join(filter(None, (runs, seconds)))


def _plan(
    job: Job,
    client: str,
    folder: Path | None,
    search: tuple[int, int | None, float | None],
    options: Mapping[str, Any],
) -> Plan:
    from fuzzmcp.search import Budget
    from fuzzmcp.search.campaign import Plan
    from fuzzmcp.search.database import database_of

    seed, runs, seconds = search
    return Plan(
        job,
        seed=seed,
        budget=Budget(runs, seconds),
        folder=folder,
        baseline=None if options["baseline"] is None else Path(options["baseline"]),
        max_findings=1 if options["fail_fast"] else options["max_findings"],
        canary=options["canary"],
        database=database_of(options["database"], client),
    )


def _carried_out(plan: Plan) -> Outcome:
    """Carry the campaign out, and tell on stderr what happens."""
    from fuzzmcp.harness.guards import terminations
    from fuzzmcp.report.terminal import live, style
    from fuzzmcp.report.terminal.cases import show_found, show_replayed
    from fuzzmcp.search.campaign import names_in, run_campaign

    area = style.console_for(sys.stderr)
    expected = names_in(plan.baseline)
    if plan.baseline is not None and not expected:
        say(f"the baseline '{plan.baseline}' has no saved case yet: nothing may fail")
    if plan.baseline is not None and plan.folder is not None and plan.folder.resolve() == plan.baseline.resolve():
        say("findings are saved into the baseline itself: they fail this campaign, and may fail from the next one on")
    with (
        terminations(),
        live.show_progress(plan.budget, area, live=area.is_terminal and plan.job.quiet) as on_progress,
    ):
        return run_campaign(
            plan,
            on_progress=on_progress,
            on_replayed=lambda seen: show_replayed(seen, area, expected=seen.saved.name in expected),
            on_finding=lambda finding, path: show_found(finding, path, area),
        )
