"""The options that several commands share, and what the project's configuration says in place of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from fuzzmcp.cli.completion import complete_check, complete_file
from fuzzmcp.cli.usage import Duration, OneOf, Requests, allowed
from fuzzmcp.core.config import OWN, SHARED, Config, ConfigError, find, shown
from fuzzmcp.core.protocol import (
    BACKENDS,
    DEFAULT_BACKEND,
    DEFAULT_TRANSPORT,
    DEFAULT_VERSION,
    HOW_JOINED,
    TRANSPORTS,
    VERSIONS,
)

F = TypeVar("F", bound=Callable[..., Any])
_META = "fuzzmcp.core.config"
_DEFAULTS = (
    "protocol", "transport", "backend", "time", "runs", "seed", "regressions", "save", "database", "baseline",
    "max_findings", "canary", "quiet",
)  # fmt: skip
"""Keys of the configuration that are the default of the option with their name, in every command that has it."""


def _given(command: F, *options: Callable[[F], F]) -> F:
    """The command with these options, in this order in its help."""
    for option in reversed(options):
        command = option(command)
    return command


def shared(command: F) -> F:
    """Give a command the options that say what to drive, what is asked and what is promised."""
    return case_options(check_options(contract_options(quiet_option(command))))


def case_options(command: F) -> F:
    """Give a command the options that say what the client is asked for, and over what."""
    return _given(
        command,
        click.option(
            "--tools",
            metavar="FILE|SERVER",
            shell_complete=complete_file,
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
            "--transport",
            type=OneOf("transport", TRANSPORTS),
            default=DEFAULT_TRANSPORT,
            show_default=True,
            metavar="NAME",
            help=f"How server.connect() joins client and server: {HOW_JOINED}.",
        ),
        click.option(
            "--backend",
            type=OneOf("backend", BACKENDS),
            default=DEFAULT_BACKEND,
            show_default=True,
            metavar="NAME",
            help=f"{' or '.join(BACKENDS)}.",
        ),
    )


def check_options(command: F) -> F:
    """Give a command the options that say which checks judge a run."""
    return _given(
        command,
        click.option(
            "--check",
            "--checks",
            "check",
            multiple=True,
            metavar="NAME",
            help="Ask only this check; repeatable, or several with commas.",
            shell_complete=complete_check,
            callback=_each_name,
        ),
        click.option(
            "--skip",
            multiple=True,
            metavar="NAME",
            help="Do not ask this check; repeatable, or several with commas.",
            shell_complete=complete_check,
            callback=_each_name,
        ),
    )


def contract_options(command: F) -> F:
    """Give a command the options that say what the client promises."""
    accept = click.option(
        "--accept",
        multiple=True,
        metavar="EXC",
        help="Contract: name of an exception type that may come out; repeatable.",
    )
    return limit_options()(accept(command))


def limit_options(
    max_requests: str = "Contract: requests that one call may cost; TOOL=N is for the calls of one tool. Repeatable.",
) -> Callable[[F], F]:
    """Give a command the options of the contract that bound a call.

    Args:
        max_requests: What `--max-requests` means, for `--help`.
    """
    return lambda command: _given(
        command,
        click.option("--deadline", type=Duration(), help="Contract: virtual time within which every call settles."),
        click.option(
            "--max-requests",
            type=Requests(),
            multiple=True,
            metavar="N|TOOL=N",
            callback=allowed,
            help=max_requests,
        ),
    )


def quiet_option(command: F) -> F:
    """Give a command the option that says whether the client's own output is seen."""
    return _given(
        command,
        click.option(
            "--quiet/--verbose", default=True, help="Swallow or show what the client prints.  [default: quiet]"
        ),
    )


def _each_name(_: click.Context, __: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for text in value for name in text.split(","))


def client_argument(command: F) -> F:
    """Give a command the argument CLIENT, which may be left out where the configuration names a client."""

    def callback(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
        return value if context.resilient_parsing else client_or_configured(value, context)

    return click.argument("client", required=False, callback=callback, shell_complete=complete_file)(command)


def client_or_configured(client: str | None, context: click.Context) -> str:
    """The client that was named on the command line, or else in the configuration.

    Raises:
        click.UsageError: Nobody has named one; the message shows both ways to do it.
        ConfigError: The configuration cannot be used.
    """
    if client is not None:
        return client
    config = configuration(context)
    if config.client is not None:
        return str(config.spelled("client"))
    place = shown(config.file) if config.file else SHARED
    table = "" if place.endswith(OWN) else ", under [tool.fuzzmcp]"
    raise click.UsageError(
        f"Missing argument 'CLIENT'. Name it, as in 'fuzzmcp {context.info_name} my_client.py:connect', "
        f'or once for all in {place}{table}: client = "my_client.py:connect"',
        context,
    )


def configuration(context: click.Context | None = None) -> Config:
    """The configuration that the running command obeys, read once.

    Raises:
        ConfigError: It cannot be used.
    """
    context = context or click.get_current_context(silent=True)
    if context is None:
        return find()
    meta = context.find_root().meta
    if _META not in meta:
        meta[_META] = find()
    found: Config = meta[_META]
    return found


def take_defaults(context: click.Context, command: click.Command) -> None:
    """Let the configuration say what the options of `command` mean that the command line leaves out.

    A configuration that cannot be used is an error only once a command asks for a value: `--help` always answers.
    """
    named = {
        parameter.name: key
        for parameter in command.params
        for key in _DEFAULTS
        if parameter.name is not None and f"--{key.replace('_', '-')}" in parameter.opts
    }
    if not named or context.invoked_subcommand is None:
        return
    defaults: dict[str, Any] = {}
    try:
        config = configuration(context)
    except ConfigError as error:
        defaults = dict.fromkeys(named, _failing(error))
    else:
        for name, key in named.items():
            value = str(config.seed) if key == "seed" else config.spelled(key)
            known = key in config.origins or (key == "save" and "regressions" in config.origins)
            if known:
                defaults[name] = value
    context.default_map = {context.invoked_subcommand: defaults}


def _failing(error: ConfigError) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def budget_of(context: click.Context, runs: int | None, seconds: float | None) -> tuple[int | None, float | None]:
    """Runs and real seconds to spend: where the command line names one of them, the configuration adds no other."""
    typed = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]
    if "--runs" in typed or "--time" in typed:
        return (runs if "--runs" in typed else None), (seconds if "--time" in typed else None)
    return runs, seconds
