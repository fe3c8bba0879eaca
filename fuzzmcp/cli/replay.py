"""`fuzzmcp replay`: drive a client through one script, or through saved cases."""

from __future__ import annotations

import os
from typing import Any

import click

from fuzzmcp.cli.cases import given_calls, replays
from fuzzmcp.cli.completion import complete_file
from fuzzmcp.cli.options import client_or_configured, shared
from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND, Output
from fuzzmcp.core.protocol import METHODS
from fuzzmcp.core.spelling import nearest


@click.command()
@click.argument("words", nargs=-1, required=True, shell_complete=complete_file, metavar="[CLIENT] SCRIPT|FILE|FOLDER…")
@click.option("--trace", is_flag=True, help="Print the whole timeline, and the logs.")
@click.option("--schedule", type=click.IntRange(0), default=0, metavar="N", help="Seed of trio's task schedule.")
@click.option(
    "--output",
    multiple=True,
    type=Output(),
    metavar="TOOL=JSON",
    help="A valid structured result of a tool, in place of the sample; repeatable.",
)
@shared
def replay(words: tuple[str, ...], trace: bool, **options: Any) -> int:
    """Drive CLIENT through one SCRIPT of faults, such as '429cap' or 'list:hang,ok+dup@3', or through saved cases.

    Of a FILE or FOLDER of saved cases it says for each whether it is fixed, still fails, fails differently, or is an
    error that proves nothing. CLIENT may be left out where the configuration names one.

    Exit codes: 0 all fixed or nothing violated, 1 otherwise, 2 a file that cannot be used.
    """
    context = click.get_current_context()
    client, what = _told_apart(words, context)
    if len(what) > 1 or os.path.exists(what[0]) or what[0].endswith(".toml"):
        return _cases(client, what, trace, options, context)
    return _script(client, what[0], trace, options)


def _told_apart(words: tuple[str, ...], context: click.Context) -> tuple[str, tuple[str, ...]]:
    """The client, if it is named, and what to replay: files that are there are no clients, one word is no client."""
    if len(words) > 1 and (words[0].endswith(".py") or not os.path.exists(words[0])):
        return words[0], words[1:]
    if len(words) == 1:
        _mistaken(words[0], context)
    return client_or_configured(None, context), words


def _mistaken(word: str, context: click.Context) -> None:
    """What is plainly no script is not read as one: a client with nothing behind it, a path with a slip in it.

    Raises:
        click.UsageError: It is one of these.
    """
    file, of_pytest, _ = word.partition("::")
    if of_pytest and os.path.exists(file):
        raise click.UsageError(f"'{word}' is a test of pytest: its case is '{file}'", context)
    place, colon, attribute = word.partition(":")
    if colon and place not in METHODS and attribute.isidentifier():
        raise click.UsageError(f"nothing to replay: expected a SCRIPT, FILE or FOLDER behind '{word}'", context)
    if os.path.exists(word) or _reads(word):
        return
    folder, name = os.path.split(word.rstrip("/"))
    guess = nearest(name, sorted(os.listdir(folder or "."))) if os.path.isdir(folder or ".") else None
    if guess is not None:
        there = os.path.join(folder, guess)
        raise click.UsageError(f"'{word}' is no script, and no file or folder; did you mean '{there}'?", context)


def _reads(word: str) -> bool:
    from fuzzmcp.core.errors import ScriptError
    from fuzzmcp.core.script import Script

    try:
        Script.parse(word)
    except ScriptError:
        return False
    return True


def _script(client: str, script: str, trace: bool, options: dict[str, Any]) -> int:
    from fuzzmcp.checks import Violation
    from fuzzmcp.cli.job import job_of
    from fuzzmcp.report.build import subject_of
    from fuzzmcp.report.terminal import style
    from fuzzmcp.report.terminal.replay import show_replay
    from fuzzmcp.search.readiness import prove_ready

    job = job_of(client, script, options)
    happened = job.drive(job.case)
    prove_ready(happened, job.drive)
    verdicts = job.judge(happened)
    show_replay(happened, verdicts, subject_of(job), style.stdout(), trace=trace)
    return FOUND if any(isinstance(verdict, Violation) for verdict in verdicts.values()) else NOTHING_FOUND


def _cases(client: str, places: tuple[str, ...], trace: bool, options: dict[str, Any], context: click.Context) -> int:
    from click.core import ParameterSource

    from fuzzmcp.checks import judge
    from fuzzmcp.cli.job import job_of
    from fuzzmcp.core.case_codec import OPTIONS
    from fuzzmcp.report.build import subject_of
    from fuzzmcp.report.terminal import style
    from fuzzmcp.report.terminal.cases import show_replayed
    from fuzzmcp.report.terminal.replay import show_replay
    from fuzzmcp.search.corpus import FIXED, case_files, read

    cases = [read(path, given=given_calls(options, context)) for path in case_files(places)]
    for name, option in OPTIONS.items():
        if name == "call" and any(saved.withheld for saved in cases):
            continue  # it gives what the file withholds
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option}: a saved case says that itself: edit the file, or replay its script")
    job = job_of(client, "", options)
    console, fates = style.stdout(), []
    for seen in replays(job, cases):
        fates.append(seen.status)
        if len(cases) == 1:
            names = {*job.checks, seen.saved.check}
            verdicts = {name: v for name, v in judge(seen.run, job.contract).items() if name in names}
            show_replay(seen.run, verdicts, subject_of(job), console, trace=trace)
        show_replayed(seen, console)
    if len(cases) != 1:
        counts = [f"{fate} {fates.count(fate):,}" for fate in dict.fromkeys(fates)]
        click.echo("\n" + " · ".join((f"{len(cases):,} saved cases", *counts)))
    return NOTHING_FOUND if all(fate == FIXED for fate in fates) else FOUND
