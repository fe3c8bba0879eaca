"""`fuzzmcp faults` and `fuzzmcp checks`: the reference documentation, printed."""

from __future__ import annotations

import click

from fuzzmcp.cli.completion import complete_check, complete_fault
from fuzzmcp.core.faults import WORDS
from fuzzmcp.core.spelling import unknown


@click.command()
@click.argument("name", required=False, shell_complete=complete_fault)
def faults(name: str | None) -> None:
    """List the vocabulary of scripts, or explain the fault NAME."""
    from fuzzmcp.report.terminal import style, vocabulary

    if name is None:
        vocabulary.show_faults(style.stdout())
        return
    if name not in WORDS:
        raise click.UsageError(unknown("fault", name, list(WORDS)))
    vocabulary.show_fault(WORDS[name], style.stdout())


@click.command()
@click.argument("name", required=False, shell_complete=complete_check)
def checks(name: str | None) -> None:
    """List the checks, or explain the check NAME."""
    from fuzzmcp.checks import CHECKS
    from fuzzmcp.report.terminal import style, vocabulary

    if name is None:
        vocabulary.show_checks(style.stdout())
        return
    if name not in CHECKS:
        raise click.UsageError(unknown("check", name, list(CHECKS)))
    vocabulary.show_check(name, style.stdout())
