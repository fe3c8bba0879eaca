"""What `run` and `replay` are asked to do: client, case and contract, from the command line and the configuration."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzzmcp.api import case_of, contract_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.cli.options import configuration
from fuzzmcp.cli.usage import BadOption
from fuzzmcp.core.case import Case, CaseError
from fuzzmcp.core.case_codec import SETTINGS
from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.catalogue.tools import ToolsError
from fuzzmcp.core.config import Config
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.script import Script
from fuzzmcp.core.spelling import unknown
from fuzzmcp.core.trace import Run
from fuzzmcp.harness import sdk
from fuzzmcp.harness.backing_server import BackingServer, BackingServerError, catalogue_and_server
from fuzzmcp.harness.run import drive
from fuzzmcp.report.model import Subject
from fuzzmcp.target import Target, TargetError, find, load
from fuzzmcp.upstream.in_run import below_of


@dataclass(frozen=True)
class Job:
    """A client with everything that is to be done to it."""

    target: Target
    case: Case
    contract: Contract
    checks: tuple[str, ...]
    backing: BackingServer | None
    quiet: bool
    subject: Subject

    def drive(self, case: Case, below: Any = None) -> Run:
        """Drive a case against the client, as the contract bounds it.

        Args:
            case: The case.
            below: The HTTP backend of the run; one with nothing wrong when None, for a client that asks for one.
        """
        below = below_of(self.target) if below is None else below
        return drive(case, self.target, self.contract.limits, backing=self.backing, below=below, quiet=self.quiet)


def job_of(client: str, script: str, options: Mapping[str, Any], config: Config | None = None) -> Job:
    """Put a job together. What is cheap to find wrong comes first, the client's own code last.

    The options go before the configuration, that before the contract beside the client.

    Args:
        client: The client, as `module:attr` or `path.py:attr`.
        script: The value of `FAULTS`.
        options: The values of the options that `run` and `replay` share, as the command line gave them.
        config: The configuration; that of the running command when None.

    Raises:
        click.UsageError, ConfigError, ScriptError, CaseError, ToolsError: Something given cannot be used.
        TargetError: The client cannot be loaded.
    """
    config = configuration() if config is None else config
    parsed = Script.parse(script)
    checks = checks_of(options, config)
    backend = options["backend"]
    if importlib.util.find_spec(backend) is None:
        raise BadOption("--backend", f"{backend} is not installed: pip install 'fuzzmcp[{backend}]'")
    promised(Contract(), options, config)
    if config.file is not None and str(config.folder) not in sys.path:
        sys.path.insert(0, str(config.folder))  # what it names as MODULE:ATTR lies beside it
    with _blamed(config, "tools", options["tools"]):
        tools, backing, name = tools_of(options["tools"] or config.spelled("tools"))
    with _blamed(config, "calls", options["call"]):
        case = case_of(
            parsed,
            calls=options["call"] or config.calls or None,
            tools=tools,
            protocol=options["protocol"],
            transport=options["transport"],
            backend=options["backend"],
        )
    outputs = dict(options.get("output") or ())
    for tool in outputs:
        if case.tool(tool) is None:
            raise BadOption("--output", unknown("tool", tool, [known.name for known in case.tools]))
    case = replace(case, schedule=options.get("schedule") or 0, outputs=outputs)
    for tool in options["max_requests"].tools if options["max_requests"] else ():
        if case.tool(tool) is None:
            raise BadOption("--max-requests", unknown("tool", tool, [known.name for known in case.tools]))
    with contextlib.redirect_stdout(sys.stderr):
        target = load(client)
    subject = Subject(client, target.role, sdk.VERSION, name, _repeated(options, config), bool(config.calls))
    contract = promised(contract_of(target), options, config)
    return Job(target, case, contract, checks, backing, options["quiet"], subject)


def checks_of(options: Mapping[str, Any], config: Config) -> tuple[str, ...]:
    """The checks to ask: those of `--check` and `--skip`, where neither is given those of the configuration.

    Raises:
        BadOption: One of the names is unknown, or none is left.
    """
    wanted, skipped = options["check"], options["skip"]
    places = {"checks": "--check", "skip": "--skip"}
    if not wanted:
        wanted, places["checks"] = config.checks, _place(config, "checks", "--check")
        if not skipped:
            skipped, places["skip"] = config.skip, _place(config, "skip", "--skip")
    for key, names in (("checks", wanted), ("skip", skipped)):
        for name in names:
            if name not in CHECKS:
                raise BadOption(places[key], unknown("check", name, list(CHECKS)))
    left = tuple(name for name in CHECKS if (not wanted or name in wanted) and name not in skipped)
    if not left:
        raise BadOption(places["skip"], "no check is left to ask")
    return left


def promised(contract: Contract, options: Mapping[str, Any], config: Config) -> Contract:
    """The contract beside the client with what the configuration, and then the command line, say of it.

    Raises:
        BadOption: An option promises what no client can.
    """
    given: dict[str, Any] = {} if options["deadline"] is None else {"deadline": options["deadline"]}
    if options["accept"]:
        given["accepts"] = options["accept"]
    allowed = options["max_requests"]
    if allowed and allowed.every is not None:
        given["max_requests"] = allowed.every
    if allowed and allowed.tools:
        others = config.contract.get("max_requests_per_tool", contract.max_requests_per_tool)
        given["max_requests_per_tool"] = {**others, **allowed.tools}
    try:
        return replace(contract, **{**config.contract, **given})
    except ValueError as error:
        raise BadOption("contract", str(error).removeprefix("contract: ")) from None


def _place(config: Config, key: str, option: str) -> str:
    """How an error names the place of a value that the command line did not give."""
    origin = config.origins.get(key)
    return option if origin is None else f"{origin}: {origin.key}"


@contextlib.contextmanager
def _blamed(config: Config, key: str, given: Any) -> Iterator[None]:
    """Errors about a value of the configuration name the place where it stands."""
    try:
        yield
    except (CaseError, ToolsError, BadOption) as error:
        if given or key not in config.origins:
            raise
        message = str(error).removeprefix("--tools: ")
        raise BadOption(_place(config, key, key), message, getattr(error, "cause", None)) from None


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


def tools_of(text: str | None) -> tuple[Any, BackingServer | None, str]:
    """The catalogue, the server behind it if it is one, and what to call it."""
    if text is None:
        return None, None, "crm"
    if ":" not in text or Path(text).is_file():
        return catalogue.load(text), None, Path(text).stem
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = find(text, "server or tools file")
        return (*catalogue_and_server(found), text)
    except (TargetError, BackingServerError) as error:
        raise BadOption("--tools", str(error), error.__cause__) from None
