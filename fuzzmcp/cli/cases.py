"""`fuzzmcp minimize`, `fuzzmcp prune` and `fuzzmcp export`: what is done with saved cases."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fuzzmcp.cli.completion import complete_file
from fuzzmcp.cli.options import client_or_configured, configuration, shared
from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND, say

if TYPE_CHECKING:
    from fuzzmcp.core.case import Call, Case
    from fuzzmcp.search.corpus import Replayed, SavedCase
    from fuzzmcp.search.job import Job


def client_and_places(words: tuple[str, ...], context: click.Context) -> tuple[str, tuple[str, ...]]:
    """Tell CLIENT, which may be left out, from the files and folders behind it, which default to the saved cases."""
    named = bool(words) and not os.path.exists(words[0]) and ":" in words[0]
    client = client_or_configured(words[0] if named else None, context)
    places = words[1:] if named else words
    return client, places or (str(configuration(context).spelled("regressions")),)


def given_calls(options: Mapping[str, Any], context: click.Context) -> tuple[Call, ...]:
    """The calls of the command line, or else of the configuration: they have what saved cases withhold."""
    from fuzzmcp.core import withheld

    return withheld.given_calls(options["call"] or configuration(context).calls)


@click.command()
@click.argument("words", nargs=-1, shell_complete=complete_file, required=True, metavar="[CLIENT] FILE…")
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@shared
def minimize(words: tuple[str, ...], dry_run: bool, **options: Any) -> int:
    """Shrink saved cases by hand: write into each FILE the smallest case that still violates its check.

    Comments in the file survive. Exit code 1 if a case still fails, 0 if none does.
    """
    from dataclasses import replace

    from fuzzmcp.search.corpus import rewrite

    job, cases = _job_and_cases(words, options)
    code = NOTHING_FOUND
    for saved in cases:
        smallest = _smallest(job, saved)
        if smallest is None:
            click.echo(f"{saved.name}: {saved.check} is not violated: there is nothing to shrink")
            continue
        code = FOUND
        case, note, runs = smallest
        if case == saved.case:
            click.echo(f"{saved.name}: nothing smaller violates {saved.check} ({runs:,} runs)")
            continue
        click.echo(f"{saved.name}: {saved.case.script} → {case.script} ({runs:,} runs)")
        if not dry_run and saved.path is not None:
            rewrite(saved.path, replace(saved, case=case, note=note))
    return code


def _smallest(job: Job, saved: SavedCase) -> tuple[Case, str, int] | None:
    """The smallest case that violates a saved case's check, with its sentence, and the runs that this took.

    None if the saved case itself does not violate it.
    """
    from fuzzmcp.checks import Violation, judge
    from fuzzmcp.search.minimize import minimize as smallest

    runs, note = 0, ""

    def violates(case: Case) -> bool:
        nonlocal runs, note
        runs += 1
        verdict = judge(job.drive(case), job.contract, [saved.check])[saved.check]
        if isinstance(verdict, Violation):
            note = verdict.message
        return isinstance(verdict, Violation)

    if not violates(saved.case):
        return None
    case, _ = smallest(saved.case, violates)
    return case, note, runs


@click.command()
@click.argument("words", nargs=-1, shell_complete=complete_file, metavar="[CLIENT] [FILE|FOLDER]…")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@shared
def prune(words: tuple[str, ...], dry_run: bool, **options: Any) -> int:
    """Remove saved cases that are fixed: every check that is asked holds on them.

    Without a FOLDER, those of the folder regressions. Catalogues that no case names any more go with them.
    """
    from fuzzmcp.search.corpus import FIXED
    from fuzzmcp.search.corpus import prune as remove

    job, cases = _job_and_cases(words, options)
    fixed = [seen.saved for seen in replays(job, cases) if seen.status == FIXED]
    removed = [saved.path for saved in fixed if saved.path is not None] if dry_run else remove(fixed)
    for path in removed:
        click.echo(f"{'would remove' if dry_run else 'removed'} {path}")
    click.echo(f"{len(fixed):,} of {len(cases):,} saved cases {'is' if len(fixed) == 1 else 'are'} fixed")
    return NOTHING_FOUND


@click.command()
@click.argument("words", nargs=-1, shell_complete=complete_file, metavar="[CLIENT] [FILE|FOLDER]…")
@click.option(
    "-o", "--output", metavar="FILE", help="Where to write; '-' is standard output.  [default: -]", default="-"
)
@shared
def export(words: tuple[str, ...], output: str, **options: Any) -> int:
    """Write saved cases as plain pytest code: red while a bug lives, green once it is fixed.

    Example: fuzzmcp export regressions/ -o tests/test_fuzz_regressions.py

    Equal cases give equal text: a file that would not change is not touched.
    """
    from fuzzmcp.api import contract_of
    from fuzzmcp.search.corpus.export import code_of

    job, cases = _job_and_cases(words, options)
    for saved in cases:
        if saved.withheld:
            raise click.UsageError(f"{saved.path}: {saved.withheld[0]} is a secret: a test would tell it")
    file = Path("test_fuzz_regressions.py" if output == "-" else output)
    beside = contract_of(job.target)
    contract = None if job.contract == beside else job.contract
    text = code_of(cases, job.client, file, role=job.target.role, contract=contract)
    if output == "-":
        click.echo(text, nl=False)
    elif file.is_file() and file.read_text("utf-8") == text:
        say(f"{output} is up to date: {len(cases):,} tests")
    else:
        try:
            file.write_text(text, "utf-8")
        except OSError as error:
            raise click.UsageError(f"--output: cannot write to '{output}': {error.strerror}") from None
        say(f"wrote {len(cases):,} tests to {output}")
    return NOTHING_FOUND


def _job_and_cases(words: tuple[str, ...], options: dict[str, Any]) -> tuple[Job, list[SavedCase]]:
    from dataclasses import replace

    from fuzzmcp.cli.job import job_of
    from fuzzmcp.search.corpus import case_files, read

    context = click.get_current_context()
    client, places = client_and_places(words, context)
    cases = [read(path, given=given_calls(options, context)) for path in case_files(places)]
    job = job_of(client, "", options)
    return job, [replace(saved, role=job.target.role) for saved in cases]


def replays(job: Job, cases: list[SavedCase]) -> Iterator[Replayed]:
    """Each saved case as it is today.

    Raises:
        CannotRun: The client cannot be driven at all.
    """
    from fuzzmcp.search.corpus import replayed
    from fuzzmcp.search.readiness import prove_ready

    for saved in cases:
        seen = replayed(saved, job)
        prove_ready(seen.run, job.drive)
        yield seen
