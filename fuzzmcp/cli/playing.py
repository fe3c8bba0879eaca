"""Who plays the faults of `fuzzmcp stack` to whom: the MCP server or the HTTP backend, to a client or to a function."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
from click.core import ParameterSource

from fuzzmcp.cli.job import job_of, options_of, usage_errors
from fuzzmcp.cli.options import configuration
from fuzzmcp.cli.usage import BadOption
from fuzzmcp.core.script import Script
from fuzzmcp.harness import sdk
from fuzzmcp.harness.target import is_plain
from fuzzmcp.report.escape import places_without_own
from fuzzmcp.report.stack import Setting
from fuzzmcp.search.job import Job, Options, found_installed
from fuzzmcp.search.stacking import TRANSIENT, TRANSIENT_HTTP, Seen, seen, seen_alone, seen_below
from fuzzmcp.target import TargetError, find
from fuzzmcp.upstream import Happened, run
from fuzzmcp.upstream.answers import why_undeliverable
from fuzzmcp.upstream.in_run import Below, beside

_MCP_ONLY = ("tools", "call", "protocol", "deadline")
"""Shared options that say something about MCP, or bound a run of the harness."""


@dataclass(frozen=True)
class Player:
    """Plays scripts to what the command line names.

    Attributes:
        setting: Who that is.
        transient: The faults that are played where none is named.
        play: Plays one script, and says what was seen.
        prove: Raises where not even a run with nothing wrong works.
    """

    setting: Setting
    transient: tuple[str, ...]
    play: Callable[[Script], Seen]
    prove: Callable[[], None]


def player_of(client: str, faults: Sequence[Script], values: Mapping[str, Any]) -> Player:
    """The player for a client, an agent, or a function of an `Upstream`.

    Args:
        client: What the command line names, as `module:attr` or `path.py:attr`.
        faults: The faults that it names, to see that they can be played.
        values: The values of its options.

    Raises:
        click.UsageError, ConfigError, CaseError, ToolsError: Something given cannot be used.
        TargetError: The client cannot be loaded.
    """
    config = configuration()
    if config.file is not None and str(config.folder) not in sys.path:
        sys.path.insert(0, str(config.folder))  # what it names as MODULE:ATTR lies beside it
    with contextlib.redirect_stdout(sys.stderr):
        function = find(client)
    plain = is_plain(function)
    if plain or values["upstream"]:
        for why in (why_undeliverable(script.steps[0].answer) for script in faults):
            if why is not None:
                raise BadOption("--fault", why)
    if plain:
        return _of_function(client, function, options_of(values))
    return _of_job(job_of(client, "", values), http=values["upstream"])


def _of_job(job: Job, *, http: bool) -> Player:
    from fuzzmcp.search.readiness import prove

    alone = 0 if job.target.role == "agent" or len(job.case.calls) == 1 else None

    def below(script: Script | None) -> Below:
        return Below(script, beside(job.target.function), alone)

    def play(script: Script) -> Seen:
        backend = below(script if http else None)
        happened = job.drive(job.case if http else replace(job.case, script=script), backend)
        if http:
            return seen_below(happened, script, backend.exchanges)
        return seen(happened, backend.exchanges)

    setting = Setting(job.client, job.case.backend, sdk.VERSION, job.case.protocol, http)
    prove_it = lambda: prove(job.drive(job.case, below(None)))  # noqa: E731
    return Player(setting, TRANSIENT_HTTP if http else TRANSIENT, play, prove_it)


def _of_function(client: str, function: Any, options: Options) -> Player:
    context = click.get_current_context()
    for name in _MCP_ONLY:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise BadOption(f"--{name}", f"{client} is a function of an Upstream: it speaks no MCP")
    if options.max_requests.tools:
        raise BadOption(
            "--max-requests", f"{client} is a function of an Upstream: it has no tools; name a number alone"
        )
    backend = options.backend
    with usage_errors():
        found_installed(backend)

    def driven(script: Script) -> Happened:
        from fuzzmcp.harness.guards import silenced
        from fuzzmcp.harness.observe.logs import collected_logs

        with silenced(options.quiet), collected_logs(lambda: 0.0):
            return run(function, beside(function).playing(script), backend=backend)

    def prove_it() -> None:
        plain = driven(Script())
        if plain.status == "raised" and not plain.requests:
            place = places_without_own(plain.outcomes[0].traceback).rpartition("\n")[2].rpartition("/")[2]
            why = f"{type(plain.error).__name__}: {plain.error}" + (f", at {place}" if place else "")
            raise TargetError(f"{client} fails before it sends a request to its Upstream: {why}")

    setting = Setting(client, backend, http=True)
    return Player(setting, TRANSIENT_HTTP, lambda script: seen_alone(driven(script)), prove_it)
