"""`fuzzmcp tools`: the catalogue of a real server."""

from __future__ import annotations

import click

from fuzzmcp.cli.usage import Duration, say


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--timeout", type=Duration(), default=30.0, show_default="30s", help="Real time for all of it.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def tools(command: tuple[str, ...], timeout: float) -> None:
    """Start a real server over stdio and print its catalogue as JSON, for --tools.

    Example: fuzzmcp tools -- python -m some_mcp_server > tools.json
    """
    import json

    from fuzzmcp.cli.listing import list_tools
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
