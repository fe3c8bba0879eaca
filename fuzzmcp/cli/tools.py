"""`fuzzmcp tools`: the catalogue of a real server, and how it differs from the saved one."""

from __future__ import annotations

import json
from typing import Any

import click

from fuzzmcp.cli.usage import FOUND, NOTHING_FOUND, BadOption, Duration, say

_CLIENT = "CLIENT"
"""Stands in the printed commands for the client that nobody named."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--timeout", type=Duration(), default=30.0, show_default="30s", help="Real time for all of it.")
@click.option("--diff", "saved", metavar="FILE", help="Compare with this saved catalogue, and print what is different.")
@click.option("--client", metavar="CLIENT", help="With --diff: the client to name in the printed commands.")
@click.option("--json", "as_json", is_flag=True, help="With --diff: print a JSON list, one object for each difference.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def tools(command: tuple[str, ...], timeout: float, saved: str | None, client: str | None, as_json: bool) -> int:
    """Start a real server over stdio and print its catalogue as JSON, for --tools.

    Example: fuzzmcp tools -- python -m some_mcp_server > tools.json

    With --diff, compare it with the saved catalogue instead: each difference is printed in the words of drift, then
    the scripts that play it and the commands that replay them against a client. Differences that no script can play
    are told in a sentence; those of the arguments are marked as such. The order of tools, titles and 'examples' in a
    schema count for nothing.

    Example: fuzzmcp tools --diff tools.json -- python -m some_mcp_server

    \b
    Each object of --json has the keys
      tool        the tool's name
      part        tool, description, annotations, arguments or output
      path        list of names: where in the old arguments or output
      difference  the words of drift, or a sentence
      note        what the words do not tell, or null
      edit        the edit of the output that plays it, or null
      script      a script with that edit, or another fault, or null
      replay      the command that replays the script, or null

    Exit codes: 0 done, or no difference; 1 differences; 2 bad usage, or a FILE that is no catalogue; 3 the server
    could not be run.
    """
    if command[0].startswith("--"):  # a mistyped option of ours: no server has such a name
        raise click.NoSuchOption(command[0].partition("=")[0], ctx=click.get_current_context())
    if saved is None:
        if client is not None or as_json:
            raise BadOption("--client" if client is not None else "--json", "only together with --diff FILE")
        return _print_catalogue(command, timeout)
    return _print_differences(command, timeout, saved, client or _CLIENT, as_json)


def _print_catalogue(command: tuple[str, ...], timeout: float) -> int:
    from fuzzmcp.cli.listing import list_tools

    found, warning = list_tools(command, timeout)
    text = json.dumps({"tools": found}, indent=2)
    if warning:
        say(f"warning: {warning}")
    _warn_of_unusable(found)
    click.echo(text)
    return NOTHING_FOUND


def _print_differences(command: tuple[str, ...], timeout: float, saved: str, client: str, as_json: bool) -> int:
    from fuzzmcp.core.catalogue.tools import Tool, load

    old = load(saved)  # before the server is started: a file that is no catalogue needs no server

    from fuzzmcp.cli.listing import list_tools
    from fuzzmcp.core.catalogue.diff import diff
    from fuzzmcp.report.differences import Compared
    from fuzzmcp.report.terminal import style
    from fuzzmcp.report.terminal.differences import show_differences

    found, warning = list_tools(command, timeout)
    if warning:
        say(f"warning: {warning}")
    # Not loaded as a catalogue: a pattern whose 'examples' stand in the saved file alone is no reason to give up.
    new = tuple(map(Tool, found))
    compared = Compared(saved, client, old, new, diff(old, new))
    if compared.found:
        _warn_of_unusable(found)
    if as_json:
        click.echo(json.dumps(compared.as_data(), indent=2))
    else:
        show_differences(compared, style.stdout())
    return FOUND if compared.found else NOTHING_FOUND


def _warn_of_unusable(found: list[dict[str, Any]]) -> None:
    from fuzzmcp.core.catalogue.tools import ToolsError, load_text

    try:
        load_text(json.dumps({"tools": found}), "tools")
    except ToolsError as error:
        say(f"warning: this catalogue cannot be used as it is: {error}")
