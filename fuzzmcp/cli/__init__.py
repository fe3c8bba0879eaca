"""The `fuzzmcp` command. What is heavy is imported where it is used: `fuzzmcp --help` answers at once."""

from __future__ import annotations

import os

import click

from fuzzmcp.cli.campaign import campaign
from fuzzmcp.cli.cases import export, minimize, prune
from fuzzmcp.cli.config import config
from fuzzmcp.cli.options import take_defaults
from fuzzmcp.cli.replay import replay
from fuzzmcp.cli.report import report
from fuzzmcp.cli.run import run
from fuzzmcp.cli.stack import stack
from fuzzmcp.cli.tools import tools
from fuzzmcp.cli.usage import Commands
from fuzzmcp.cli.vocabulary import checks, faults


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="fuzzmcp", message="fuzzmcp %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Find the shortest script of server faults that breaks an MCP client.

    Exit codes: 0 nothing found, 1 findings, 2 bad usage or configuration, 3 the client could not be run at all, 130
    interrupted with nothing found.
    """
    # Hypothesis would leave a folder .hypothesis wherever fuzzmcp is started.
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", os.path.join(cache, "fuzzmcp", "hypothesis"))
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    elif (command := main.get_command(context, context.invoked_subcommand)) is not None:
        take_defaults(context, command)


for command in (run, stack, campaign, replay, minimize, prune, export, report, faults, checks, tools, config):
    main.add_command(command)
