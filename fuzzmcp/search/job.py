"""A job: a client with everything that is to be done to it, and how it is put together from options and configuration.

Commands, tests and searches hand it on as one value. What cannot be used is told by a `BadValue`, in no words of the
command line: each caller says in its own how the value was given.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzzmcp.api import case_of, contract_of
from fuzzmcp.checks import CHECKS, judge
from fuzzmcp.core.case import Case, CaseError
from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.catalogue.tools import ToolsError
from fuzzmcp.core.config import Config
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.errors import BadValue
from fuzzmcp.core.protocol import DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.core.request_limits import Allowed
from fuzzmcp.core.script import Script
from fuzzmcp.core.spelling import unknown
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.backing_server import BackingServer, BackingServerError, catalogue_and_server
from fuzzmcp.harness.run import drive
from fuzzmcp.target import Target, TargetError, find, load
from fuzzmcp.upstream.in_run import below_of


@dataclass(frozen=True)
class Job:
    """A client with everything that is to be done to it.

    Args:
        target: The client.
        case: The case to drive, or that a search starts from: its tools, calls, protocol and backend.
        contract: What the client promises.
        checks: Names of the checks to ask.
        backing: A real server behind the fake.
        quiet: Swallow what the client prints.
        client: The client as somebody named it.
        catalogue: What to call the catalogue.
        repeated: The options that a replay needs beside the case, names and values in turn.
        calls_configured: The configuration names calls, so a replay has to name even the default call.
    """

    target: Target
    case: Case
    contract: Contract = field(default_factory=Contract)
    checks: tuple[str, ...] = tuple(CHECKS)
    backing: BackingServer | None = None
    quiet: bool = True
    client: str = ""
    catalogue: str = "crm"
    repeated: tuple[str, ...] = ()
    calls_configured: bool = False

    def drive(self, case: Case, below: Any = None) -> Run:
        """Drive a case against the client, as the contract bounds it.

        Args:
            case: The case.
            below: The HTTP backend of the run; one with nothing wrong when None, for a client that asks for one.
        """
        below = below_of(self.target) if below is None else below
        return drive(case, self.target, self.contract.limits, backing=self.backing, below=below, quiet=self.quiet)

    def judge(self, run: Run) -> dict[str, Any]:
        """What each check that is asked says of a run."""
        return judge(run, self.contract, self.checks)


@dataclass(frozen=True)
class Options:
    """What somebody asks for, each by the name of its option. What is not said is left to the configuration.

    Args:
        tools: A JSON file, or `module:attr` of a server object.
        deadline: Virtual seconds.
        outputs: The structured result of each tool that has one of its own.
        schedule: The seed of the order of what is due at the same moment.
    """

    tools: str | None = None
    call: tuple[str, ...] = ()
    protocol: str = DEFAULT_VERSION
    transport: str = DEFAULT_TRANSPORT
    backend: str = DEFAULT_BACKEND
    check: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    deadline: float | None = None
    max_requests: Allowed = Allowed()  # noqa: RUF009  (a tuple, as immutable as the rest)
    accept: tuple[str, ...] = ()
    quiet: bool = True
    outputs: Mapping[str, Any] = field(default_factory=dict)
    schedule: int = 0


def job_of(client: str, script: str, options: Options, config: Config) -> Job:
    """Put a job together. What is cheap to find wrong comes first, the client's own code last.

    The options go before the configuration, that before the contract beside the client.

    Args:
        client: The client, as `module:attr` or `path.py:attr`.
        script: The value of `FAULTS`.
        options: What was asked for.
        config: What the project says where nothing was asked for.

    Raises:
        BadValue, ScriptError, CaseError, ToolsError: Something given cannot be used.
        TargetError: The client cannot be loaded.
    """
    parsed = Script.parse(script)
    checks = checks_of(options, config)
    found_installed(options.backend)
    promised(Contract(), options, config)
    if config.file is not None and str(config.folder) not in sys.path:
        sys.path.insert(0, str(config.folder))  # what it names as MODULE:ATTR lies beside it
    with _blamed(config, "tools", options.tools):
        tools, backing, name = tools_of(options.tools or config.spelled("tools"))
    with _blamed(config, "calls", options.call):
        case = case_of(
            parsed,
            calls=options.call or config.calls or None,
            tools=tools,
            protocol=options.protocol,
            transport=options.transport,
            backend=options.backend,
        )
    for key, named in (("output", options.outputs), ("max_requests", options.max_requests.tools)):
        for tool in named:
            if case.tool(tool) is None:
                raise BadValue(key, unknown("tool", tool, [known.name for known in case.tools]))
    case = replace(case, schedule=options.schedule, outputs=dict(options.outputs))
    with contextlib.redirect_stdout(sys.stderr):
        target = load(client)
    contract = promised(contract_of(target), options, config)
    return Job(
        target,
        case,
        contract,
        checks,
        backing,
        options.quiet,
        client=client,
        catalogue=name,
        calls_configured=bool(config.calls),
    )


def found_installed(backend: str) -> None:
    """See that there is a loop to run on.

    Raises:
        BadValue: Its package is not installed.
    """
    if importlib.util.find_spec(backend) is None:
        raise BadValue("backend", f"{backend} is not installed: pip install 'fuzzmcp[{backend}]'")


def checks_of(options: Options, config: Config) -> tuple[str, ...]:
    """The checks to ask: those that the options name, where they name none those of the configuration.

    Raises:
        BadValue: One of the names is unknown, or none is left.
    """
    wanted, skipped = options.check, options.skip
    places: dict[str, str | None] = {}
    if not wanted:
        wanted, places["checks"] = config.checks, _place(config, "checks")
        if not skipped:
            skipped, places["skip"] = config.skip, _place(config, "skip")
    for key, names in (("checks", wanted), ("skip", skipped)):
        for name in names:
            if name not in CHECKS:
                raise BadValue(key, unknown("check", name, list(CHECKS)), places.get(key))
    left = tuple(name for name in CHECKS if (not wanted or name in wanted) and name not in skipped)
    if not left:
        raise BadValue("skip", "no check is left to ask", places.get("skip"))
    return left


def promised(contract: Contract, options: Options, config: Config) -> Contract:
    """The contract beside the client with what the configuration, and then the options, say of it.

    Raises:
        BadValue: It promises what no client can.
    """
    given: dict[str, Any] = {} if options.deadline is None else {"deadline": options.deadline}
    if options.accept:
        given["accepts"] = options.accept
    allowed = options.max_requests
    if allowed.every is not None:
        given["max_requests"] = allowed.every
    if allowed.tools:
        others = config.contract.get("max_requests_per_tool", contract.max_requests_per_tool)
        given["max_requests_per_tool"] = {**others, **allowed.tools}
    try:
        return replace(contract, **{**config.contract, **given})
    except ValueError as error:
        raise BadValue("contract", str(error).removeprefix("contract: ")) from None


def _place(config: Config, key: str) -> str | None:
    """How an error names the place of a value of the configuration; None where that does not say it."""
    origin = config.origins.get(key)
    return None if origin is None else f"{origin}: {origin.key}"


@contextlib.contextmanager
def _blamed(config: Config, key: str, given: Any) -> Iterator[None]:
    """Errors about a value of the configuration name the place where it stands."""
    try:
        yield
    except (CaseError, ToolsError, BadValue) as error:
        if given or key not in config.origins:
            raise
        message, cause = (error.message, error.cause) if isinstance(error, BadValue) else (str(error), None)
        raise BadValue(key, message, _place(config, key), cause) from None


def tools_of(text: str | None) -> tuple[Any, BackingServer | None, str]:
    """The catalogue, the server behind it if it is one, and what to call it.

    Raises:
        BadValue: There is no such server, or its tools cannot be listed.
        ToolsError: The file cannot be used.
    """
    if text is None:
        return None, None, "crm"
    if ":" not in text or Path(text).is_file():
        return catalogue.load(text), None, Path(text).stem
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = find(text, "server or tools file")
        return (*catalogue_and_server(found), text)
    except (TargetError, BackingServerError) as error:
        raise BadValue("tools", str(error), cause=error.__cause__) from None
