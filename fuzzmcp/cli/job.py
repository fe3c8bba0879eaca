"""What `run` and `replay` are asked to do: the job that the command line and the configuration make together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from fuzzmcp.cli.options import configuration
from fuzzmcp.cli.usage import BadOption
from fuzzmcp.core.case_codec import SETTINGS
from fuzzmcp.core.config import Config
from fuzzmcp.core.errors import BadValue
from fuzzmcp.search import job as jobs
from fuzzmcp.search.job import Job, Options

_SPELLED = {"checks": "--check", "max_requests": "--max-requests", "contract": "contract"}
"""How the command line takes a value, where that is not its name behind two dashes."""


def job_of(client: str, script: str, values: Mapping[str, Any]) -> Job:
    """Put the job of the running command together.

    Args:
        client: The client, as `module:attr` or `path.py:attr`.
        script: The value of `FAULTS`.
        values: The values of the command's options, as click read them.

    Raises:
        click.UsageError, ConfigError, ScriptError, CaseError, ToolsError: Something given cannot be used.
        TargetError: The client cannot be loaded.
    """
    config, options = configuration(), options_of(values)
    with usage_errors():
        job = jobs.job_of(client, script, options, config)
    return replace(job, repeated=_repeated(vars(options), config))


def options_of(values: Mapping[str, Any]) -> Options:
    """What the values of a command's options ask for; an option that the command does not have asks for nothing."""
    asked = {each.name: values[each.name] for each in fields(Options) if values.get(each.name) is not None}
    return Options(**asked, outputs=dict(values.get("output") or ()))


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """A value that cannot be used is told by the option that gave it, or by its place in the configuration."""
    try:
        yield
    except BadValue as error:
        option = error.place or _SPELLED.get(error.key, f"--{error.key}")
        raise BadOption(option, error.message, error.cause) from None


def _repeated(options: Mapping[str, Any], config: Config) -> tuple[str, ...]:
    """The options that a replay needs as well: neither the case, the configuration nor the client's contract tells.

    That a case has the default protocol goes without saying, but not where the configuration says otherwise.
    """
    words: list[str] = []
    for name, default in SETTINGS.items():
        if options[name] == default and getattr(config, name) not in (None, default):
            words += [f"--{name}", default]
    if options["tools"] is not None:
        words += ["--tools", options["tools"]]
    if options["deadline"] is not None:
        words += ["--deadline", f"{options['deadline']:g}"]
    for text in map(str, options["max_requests"].texts if options["max_requests"] else ()):
        words += ["--max-requests", text]
    for name in options["accept"]:
        words += ["--accept", name]
    return tuple(words)
