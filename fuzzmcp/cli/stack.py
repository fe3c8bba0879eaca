"""`fuzzmcp stack`: which layers of a client retry, and what they cost together."""

from __future__ import annotations

from typing import Any

import click

from fuzzmcp.cli.options import client_argument, shared
from fuzzmcp.cli.output import Wanted, found_writable, reserved_stdout, to_stdout, write_text
from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND, BadOption, unknown

KINDS = ("json", "html")
_ELSEWHERE = ("check", "skip", "accept")
"""Shared options that judge a run: nothing is judged here."""


@click.command()
@client_argument
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="Keep this fault up for ever, as 429 or '504(style=json)'; repeatable.  [default: every transient one]",
)
@click.option("--all", "all_in_full", is_flag=True, help="Show every fault in full, not only the worst.")
@click.option(
    "--runs", type=click.IntRange(0), metavar="N", help="Mixes of these faults to try at most.  [default: 300]"
)
@click.option("--seed", type=click.IntRange(0), default=0, metavar="N", help="The same seed tries the same mixes.")
@click.option(
    "--report", "reports", multiple=True, metavar="KIND=FILE",
    help="Write a report: json, html. A file named - is stdout. Repeatable.",
)  # fmt: skip
@shared
def stack(client: str, faults: tuple[str, ...], all_in_full: bool, runs: int | None, seed: int, **options: Any) -> int:
    """Show the layers of CLIENT that retry, by code line, and how they multiply.

    Each transient fault is kept up for ever, and then mixes of them: layers that retry different faults multiply only
    under a mix. What is printed: the requests that one call costs, and each layer with its factor and its waits.

    Exit codes: 0; 1 with --max-requests where a call costs more; 2 bad usage; 3 the client could not be run.
    """
    wanted = found_writable([_report_file(text) for text in options["reports"]])
    with reserved_stdout(to_stdout(wanted)) as stdout:
        from fuzzmcp.cli.job import job_of
        from fuzzmcp.report import terminal
        from fuzzmcp.report.stack import StackReport, show_stack
        from fuzzmcp.search.opening import prove
        from fuzzmcp.stacking import RUNS, endless, explore

        scripts = tuple(dict.fromkeys(map(endless, faults)))
        limit = options["max_requests"]
        job = job_of(client, "", {**dict.fromkeys(_ELSEWHERE, ()), **options, "max_requests": None})
        prove(job.drive(job.case))
        found = explore(job.drive, job.case, scripts, runs=RUNS if runs is None else runs, seed=seed)
        report = StackReport(job.subject, job.case, found, limit)
        show_stack(report, terminal.stdout(), all_in_full=all_in_full)
        for place in wanted:
            write_text(_written(report, place.kind), place, stdout)
    return FOUND if report.over else NOTHING_FOUND


stack.params = [parameter for parameter in stack.params if parameter.name not in _ELSEWHERE]
for parameter in stack.params:
    if isinstance(parameter, click.Option) and parameter.name == "max_requests":
        parameter.help = "Fail, with exit code 1, when a call costs more requests than this."


def _report_file(text: str) -> Wanted:
    kind, mark, file = text.partition("=")
    if kind not in KINDS:
        raise BadOption("--report", unknown("kind of stack report", kind, KINDS) + f": one of {', '.join(KINDS)}")
    if not mark or not file:
        raise BadOption("--report", f"expected {kind}=FILE, or {kind}=- for stdout")
    return Wanted(kind, file)


def _written(report: Any, kind: str) -> str:
    if kind == "json":
        return str(report.dumps())
    from fuzzmcp.report.stack_page import page

    return page(report)
