"""`fuzzmcp stack`: which layers of a client retry, and what they cost together."""

from __future__ import annotations

from typing import Any

import click

from fuzzmcp.cli.options import case_options, client_argument, limit_options, quiet_option
from fuzzmcp.cli.output import found_writable, report_file, reserved_stdout, to_stdout, write_text
from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND

KINDS = ("json", "html")


@click.command()
@client_argument
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="NAME",
    help="Keep this fault up for ever, as 429 or '504(style=json)'; repeatable.  [default: every transient one]",
)
@click.option(
    "--upstream", is_flag=True,
    help="Let the HTTP backend play the faults, not the MCP server: every fuzzmcp.upstream.Upstream without a script "
    "that CLIENT, or the tools of a --tools server, ask. Goes without saying where CLIENT takes nothing but one.",
)  # fmt: skip
@click.option("--all", "all_in_full", is_flag=True, help="Show every fault in full, not only the worst.")
@click.option(
    "--runs", type=click.IntRange(0), metavar="N", help="Mixes of these faults to try at most.  [default: 300]"
)
@click.option("--seed", type=click.IntRange(0), default=0, metavar="N", help="The same seed tries the same mixes.")
@click.option(
    "--report", "reports", multiple=True, metavar="KIND=FILE",
    help="Write a report: json, html. A file named - is stdout. Repeatable.",
)  # fmt: skip
@case_options
@limit_options(
    "Fail, with exit code 1, when a call costs more requests than this; TOOL=N for the calls of one tool. Repeatable."
)
@quiet_option
def stack(client: str, faults: tuple[str, ...], all_in_full: bool, runs: int | None, seed: int, **options: Any) -> int:
    """Show the layers of CLIENT that retry, by code line, and how they multiply.

    Each transient fault is kept up for ever, and then mixes of them: layers that retry different faults multiply only
    under a mix. What is printed: the requests that one call costs, and each layer with its factor and its waits.

    CLIENT may also be a function, sync or async, of the HTTP backend that it calls: its parameter is annotated
    fuzzmcp.upstream.Upstream. Then the same faults are plain HTTP.

    Exit codes: 0; 1 with --max-requests where a call costs more; 2 bad usage; 3 the client could not be run.
    """
    wanted = found_writable([report_file(text, KINDS, "kind of stack report") for text in options["reports"]])
    with reserved_stdout(to_stdout(wanted)) as stdout:
        from fuzzmcp.cli.playing import player_of
        from fuzzmcp.report.stack import StackReport
        from fuzzmcp.report.terminal import style
        from fuzzmcp.report.terminal.stack import show_stack
        from fuzzmcp.search.mixes import RUNS
        from fuzzmcp.search.stacking import endless, explore

        scripts = tuple(dict.fromkeys(map(endless, faults)))
        player = player_of(client, scripts, options)
        scripts = scripts or tuple(map(endless, player.transient))
        player.prove()
        found = explore(player.play, scripts, runs=RUNS if runs is None else runs, seed=seed)
        report = StackReport(player.setting, found, options["max_requests"])
        show_stack(report, style.stdout(), all_in_full=all_in_full)
        for place in wanted:
            write_text(_written(report, place.kind), place, stdout)
    return FOUND if report.over else NOTHING_FOUND


def _written(report: Any, kind: str) -> str:
    if kind == "json":
        return str(report.dumps())
    from fuzzmcp.report.html.stack_page import page

    return page(report)
