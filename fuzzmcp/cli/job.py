"""What `run` and `replay` are asked to do: client, case and contract, put together from the command line."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzzmcp import _sdk
from fuzzmcp import tools as catalogue
from fuzzmcp.api import case_of, contract_of
from fuzzmcp.case import Case
from fuzzmcp.checks import CHECKS
from fuzzmcp.cli.usage import BadOption, unknown
from fuzzmcp.contract import Contract
from fuzzmcp.report.model import Subject
from fuzzmcp.script import Script
from fuzzmcp.target import Target, TargetError, find, load
from fuzzmcp.transports.front import Front, FrontError, catalogue_of


@dataclass(frozen=True)
class Job:
    """A client with everything that is to be done to it."""

    target: Target
    case: Case
    contract: Contract
    checks: tuple[str, ...]
    front: Front | None
    quiet: bool
    subject: Subject


def job_of(client: str, script: str, options: Mapping[str, Any]) -> Job:
    """Put a job together. What is cheap to find wrong comes first, the client's own code last.

    Args:
        client: The client, as `module:attr` or `path.py:attr`.
        script: The value of `FAULTS`.
        options: The values of the options that `run` and `replay` share.

    Raises:
        click.UsageError, ScriptError, CaseError, ToolsError: Something given cannot be used.
        TargetError: The client cannot be loaded.
    """
    parsed = Script.parse(script)
    checks = _checks(options["check"], options["skip"])
    if options["backend"] == "trio" and importlib.util.find_spec("trio") is None:
        raise BadOption("--backend", "trio is not installed: pip install 'fuzzmcp[trio]'")
    _overridden(Contract(), options)
    tools, front, name = _tools(options["tools"])
    case = case_of(
        parsed, calls=options["call"] or None, tools=tools, protocol=options["protocol"], backend=options["backend"]
    )
    case = replace(case, schedule=options.get("schedule") or 0)
    with contextlib.redirect_stdout(sys.stderr):
        target = load(client)
    subject = Subject(client, target.role, _sdk.VERSION, name, _repeated(options))
    contract = _overridden(contract_of(target), options)
    return Job(target, case, contract, checks, front, options["quiet"], subject)


def _checks(wanted: tuple[str, ...], skipped: tuple[str, ...]) -> tuple[str, ...]:
    for option, names in (("--check", wanted), ("--skip", skipped)):
        for name in names:
            if name not in CHECKS:
                raise BadOption(option, unknown("check", name, list(CHECKS)))
    left = tuple(name for name in CHECKS if (not wanted or name in wanted) and name not in skipped)
    if not left:
        raise BadOption("--skip", "no check is left to ask")
    return left


def _overridden(contract: Contract, options: Mapping[str, Any]) -> Contract:
    given = {name: options[name] for name in ("deadline", "max_requests") if options[name] is not None}
    if options["accept"]:
        given["accepts"] = options["accept"]
    try:
        return replace(contract, **given)
    except ValueError as error:
        raise BadOption("contract", str(error).removeprefix("contract: ")) from None


def _repeated(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The options that a replay needs as well, because neither the case nor the client's own contract tells them."""
    words: list[str] = []
    if options["tools"] is not None:
        words += ["--tools", options["tools"]]
    if options["deadline"] is not None:
        words += ["--deadline", f"{options['deadline']:g}"]
    if options["max_requests"] is not None:
        words += ["--max-requests", str(options["max_requests"])]
    for name in options["accept"]:
        words += ["--accept", name]
    return tuple(words)


def _tools(text: str | None) -> tuple[Any, Front | None, str]:
    """The catalogue, the server behind it if it is one, and what to call it."""
    if text is None:
        return None, None, "crm"
    if ":" not in text or Path(text).is_file():
        return catalogue.load(text), None, Path(text).stem
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = find(text, "server or tools file")
        if isinstance(found, (list, tuple, dict)):
            return catalogue.load(found), None, text
        return catalogue_of(found), Front(found), text
    except (TargetError, FrontError) as error:
        raise BadOption("--tools", str(error), error.__cause__) from None
