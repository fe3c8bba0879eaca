"""What the shell offers for a half-typed name, through click's completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from fuzzmcp.core.faults import WORDS
from fuzzmcp.report.formats import FORMATS


def offered(names: Iterable[str], incomplete: str, help_of: Callable[[str], str] | None = None) -> list[CompletionItem]:
    """The names that begin with what has been typed so far."""
    return [
        CompletionItem(name, help=None if help_of is None else help_of(name))
        for name in names
        if name.startswith(incomplete)
    ]


def complete_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`shell_complete` of an option or argument that takes a file: the shell knows them."""
    return [CompletionItem(incomplete, type="file")]


def complete_folder(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`shell_complete` of an option that takes a folder."""
    return [CompletionItem(incomplete, type="dir")]


def complete_report(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`shell_complete` of `--report KIND=FILE`: the formats, and once there is one, a file."""
    if "=" in incomplete:
        return complete_file(ctx, param, incomplete)
    return [
        CompletionItem(f"{row.name}=", help=row.about) for row in FORMATS.values() if row.name.startswith(incomplete)
    ]


def complete_check(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`shell_complete` of an option or argument that takes the name of a check."""
    from fuzzmcp.checks import CHECKS

    before, comma, last = incomplete.rpartition(",")
    items = offered(CHECKS, last, lambda name: CHECKS[name].demands)
    return [CompletionItem(before + comma + item.value, help=item.help) for item in items]


def complete_fault(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`shell_complete` of an argument that takes the name of a fault."""
    return offered(WORDS, incomplete, lambda word: WORDS[word].summary)
