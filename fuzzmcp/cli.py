"""The `fuzzmcp` command. What is heavy is imported where it is used: `fuzzmcp --help` answers at once."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from fuzzmcp import __version__
from fuzzmcp._usage import FOUND, NOTHING_FOUND, Commands, Duration, OneOf, say, unknown
from fuzzmcp.faults import BY_NAME, DEFAULT_VERSION, VERSIONS, nearest

DEFAULT_RUNS = 2_000
_BACKENDS = ("asyncio", "trio")
F = TypeVar("F", bound=Callable[..., Any])


def _shared(command: F) -> F:
    """The options that `run` and `replay` share."""
    options = (
        click.option(
            "--tools",
            metavar="FILE|SERVER",
            help="Catalogue: a JSON file, or MODULE:ATTR or PATH.py:ATTR of a server object, which "
            "then gives the good answers too.  [default: a small bundled CRM]",
        ),
        click.option(
            "--call",
            multiple=True,
            metavar="CALL",
            help="A call to ask the client for, as 'get_order(order_id=\"A1\")'; repeatable.  "
            "[default: the first tool with sample arguments]",
        ),
        click.option(
            "--protocol",
            type=OneOf("protocol version", VERSIONS),
            default=DEFAULT_VERSION,
            show_default=True,
            metavar="VERSION",
            help="Version that the fake server speaks.",
        ),
        click.option(
            "--backend",
            type=OneOf("backend", _BACKENDS),
            default="asyncio",
            show_default=True,
            metavar="NAME",
            help="asyncio or trio.",
        ),
        click.option("--check", multiple=True, metavar="NAME", help="Ask only this check; repeatable."),
        click.option("--skip", multiple=True, metavar="NAME", help="Do not ask this check; repeatable."),
        click.option("--deadline", type=Duration(), help="Contract: virtual time within which every call settles."),
        click.option(
            "--max-requests", type=click.IntRange(1), metavar="N", help="Contract: requests that one call may cost."
        ),
        click.option(
            "--accept",
            multiple=True,
            metavar="EXC",
            help="Contract: name of an exception type that may come out; repeatable.",
        ),
        click.option(
            "--quiet/--verbose", default=True, help="Swallow or show what the client prints.  [default: quiet]"
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="fuzzmcp %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Find the shortest script of server faults that breaks an MCP client.

    Exit codes: 0 nothing found, 1 findings, 2 bad usage or configuration, 3 the client could not be run at all.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command()
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
@_shared
@click.option(
    "--report", "reports", multiple=True, metavar="json=FILE", help="Write a report; json=- to stdout. Repeatable."
)
def run(
    client: str, seconds: float | None, runs: int | None, seed: int, reports: tuple[str, ...], **options: Any
) -> int:
    """Search for faults that break CLIENT, named as MODULE:ATTR or PATH.py:ATTR."""
    files = [_report_file(text) for text in reports]
    # Hypothesis would leave a folder .hypothesis wherever fuzzmcp is started.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(cache, "fuzzmcp", "hypothesis"))
    with _reserved_stdout("-" in files) as stdout:
        from fuzzmcp._job import job_of
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
            _write(file, report.dumps(), stdout)
    return FOUND if report.findings else NOTHING_FOUND


@main.command()
@click.argument("client")
@click.argument("script")
@click.option("--trace", is_flag=True, help="Print the whole timeline, and the logs.")
@click.option("--schedule", type=click.IntRange(0), default=0, metavar="N", help="Seed of trio's task schedule.")
@_shared
def replay(client: str, script: str, trace: bool, **options: Any) -> int:
    """Drive CLIENT through one SCRIPT of faults, such as '429cap' or 'list:hang,ok+dup@3'."""
    from dataclasses import replace

    from fuzzmcp._job import job_of
    from fuzzmcp.checks import Violation, judge
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


@main.command()
@click.argument("name", required=False)
def faults(name: str | None) -> None:
    """List the vocabulary of scripts, or explain the fault NAME."""
    from fuzzmcp.report import terminal, vocabulary

    if name is None:
        vocabulary.show_faults(terminal.stdout())
        return
    name = "ok" if name == "late" else name
    if name not in BY_NAME:
        raise click.UsageError(unknown("fault", name, [*BY_NAME, "late"]))
    vocabulary.show_fault(BY_NAME[name], terminal.stdout())


@main.command()
@click.argument("name", required=False)
def checks(name: str | None) -> None:
    """List the checks, or explain the check NAME."""
    from fuzzmcp.checks import CHECKS
    from fuzzmcp.report import terminal, vocabulary

    if name is None:
        vocabulary.show_checks(terminal.stdout())
        return
    if name not in CHECKS:
        raise click.UsageError(unknown("check", name, list(CHECKS)))
    vocabulary.show_check(name, terminal.stdout())


@main.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--timeout", type=Duration(), default=30.0, show_default="30s", help="Real time for all of it.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def tools(command: tuple[str, ...], timeout: float) -> None:
    """Start a real server over stdio and print its catalogue as JSON, for --tools.

    Example: fuzzmcp tools -- python -m some_mcp_server > tools.json
    """
    import json

    from fuzzmcp._listing import list_tools
    from fuzzmcp.tools import ToolsError, load_text

    found, warning = list_tools(command, timeout)
    text = json.dumps({"tools": found}, indent=2)
    if warning:
        say(f"warning: {warning}")
    try:
        load_text(text, "tools")
    except ToolsError as error:
        say(f"warning: this catalogue cannot be used as it is: {error}")
    click.echo(text)


# -- reports -----------------------------------------------------------------------------------------------------------


def _report_file(text: str) -> str:
    """The file that `--report json=FILE` names, found writable before the search begins."""
    kind, mark, file = text.partition("=")
    if kind != "json":
        guess = "; did you mean 'json'?" if nearest(kind, ("json",)) else ": expected json=FILE"
        raise click.UsageError(f"--report: unknown kind of report '{kind}'{guess}")
    if not mark or not file:
        raise click.UsageError("--report: expected json=FILE, or json=- for stdout")
    place = Path(file) if Path(file).exists() else Path(file).parent
    if file != "-" and (Path(file).is_dir() or not place.exists() or not os.access(place, os.W_OK)):
        raise click.UsageError(f"--report: cannot write to '{file}'")
    return file


def _write(file: str, text: str, stdout: TextIO) -> None:
    if file == "-":
        stdout.write(text)
        stdout.flush()
        return
    try:
        Path(file).write_text(text, "utf-8")
    except OSError as error:
        raise click.UsageError(f"--report: cannot write to '{file}': {error.strerror}") from None


@contextlib.contextmanager
def _reserved_stdout(reserved: bool) -> Iterator[TextIO]:
    """Keep standard output for the JSON alone: all else that is printed goes to stderr, also past `sys.stdout`."""
    stdout = sys.stdout
    if not reserved:
        yield stdout
        return
    with contextlib.ExitStack() as stack:
        kept: TextIO = stdout
        if stdout is sys.__stdout__ and sys.__stderr__ is not None:
            sys.stdout.flush()
            copy = os.dup(1)
            kept = stack.enter_context(os.fdopen(copy, "w", encoding="utf-8"))
            os.dup2(sys.__stderr__.fileno(), 1)
            stack.callback(os.dup2, copy, 1)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield kept
