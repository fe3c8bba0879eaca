"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from fuzzmcp.cli.usage import Duration, OneOf
from fuzzmcp.faults import DEFAULT_VERSION, VERSIONS

_BACKENDS = ("asyncio", "trio")
F = TypeVar("F", bound=Callable[..., Any])


def shared(command: F) -> F:
    """Give a command the options that say what to drive and what is promised."""
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
