"""The public functions: drive one script, judge one run, and turn a broken promise into a failed test."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from fuzzmcp import checks as rules
from fuzzmcp.checks import Violation
from fuzzmcp.core.case import Call, Case, changed_by
from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.protocol import DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.core.script import Script
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.backing_server import catalogue_and_server
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of
from fuzzmcp.upstream.in_run import below_of

_DEFAULT_CONTRACT = Contract()
Calls = Iterable[Call | str | tuple[str, Mapping[str, Any]]]


def case_of(
    script: str | Script = "",
    *,
    calls: Calls | None = None,
    tools: Any = None,
    protocol: str = DEFAULT_VERSION,
    transport: str = DEFAULT_TRANSPORT,
    backend: str = DEFAULT_BACKEND,
) -> Case:
    """A case from what people write.

    Args:
        script: The value of `FAULTS`.
        calls: Calls as `Call`, as text (`'get_order(order_id="A1")'`) or as `(tool, arguments)`; None makes one call
            of the first tool.
        tools: A JSON file, tool definitions, or a catalogue; None is the bundled one.
        protocol: The version that the fake server speaks.
        transport: How `server.connect()` joins them: `memory`, or `stdio`, through the SDK's own stdio client.
        backend: `asyncio` or `trio`.

    Raises:
        ScriptError, CaseError, ToolsError: Something in it cannot be used.

    >>> str(case_of("429cap").calls[0])
    'get_order(order_id="A1")'
    """
    parsed = script if isinstance(script, Script) else Script.parse(script)
    loaded = catalogue.load(tools)
    return Case(
        calls=tuple(map(_call, calls or ())),
        script=parsed,
        tools=loaded,
        changed=changed_by(parsed, loaded),
        protocol=protocol,
        transport=transport,
        backend=backend,
    )


def _call(call: Call | str | tuple[str, Mapping[str, Any]]) -> Call:
    if isinstance(call, str):
        return Call.parse(call)
    return call if isinstance(call, Call) else Call(*call)


def run(
    client: Any,
    script: str | Script | Case = "",
    *,
    calls: Calls | None = None,
    tools: Any = None,
    contract: Contract | None = None,
    protocol: str | None = None,
    transport: str | None = None,
    backend: str | None = None,
    quiet: bool = False,
) -> Run:
    """Drive a client through one script in virtual time and return what happened.

    Works from plain code and from inside a test, also from a coroutine: the run has a loop of its own.

    Args:
        client: A client (an `@asynccontextmanager` function of the server that yields `call_tool`) or an agent (an
            async function of the server).
        script: The value of `FAULTS`, or a whole case. A case says its calls, catalogue, protocol, transport and
            backend itself; `dataclasses.replace` changes them.
        calls: What to ask the client for; see `case_of`.
        tools: The catalogue: a JSON file, tool definitions, or a server object, which then also gives the `ok` answers.
            Beside a whole case only a server object: it gives the `ok` answers, the catalogue stays that of the case.
        contract: What the client promises; its deadline also bounds the run.
        protocol: The version that the fake server speaks; 2025-11-25 when None.
        transport: How `server.connect()` joins them: `memory`, or `stdio`, through the SDK's own stdio client.
        backend: `asyncio` or `trio`.
        quiet: Swallow what the client prints.

    Raises:
        ScriptError, CaseError, ToolsError, TargetError: Something given cannot be used; each is a `FuzzmcpError`.
        HarnessError: fuzzmcp itself failed; its message has what a report of it needs.
        TypeError: Something is given beside a whole case that the case says itself.

    >>> from contextlib import asynccontextmanager
    >>> from fuzzmcp.examples.sdk_client import connect
    >>> run(connect, "hang").outcomes[0].status
    'raised'
    """
    target, promised = target_of(client), contract or contract_of(client)
    beside = {"protocol": protocol, "transport": transport, "backend": backend}
    given = {name: value for name, value in beside.items() if value is not None}
    loaded, server = catalogue_and_server(tools)
    if isinstance(script, Case):
        _refuse(given if calls is None else {"calls": calls, **given}, tools is not None and server is None)
        case = script
    else:
        case = case_of(script, calls=calls, tools=loaded, **given)
    return drive(case, target, promised.limits, backing=server, below=below_of(target), quiet=quiet)


def _refuse(beside: Mapping[str, Any], tools: bool) -> None:
    """Refuse what is given beside a whole case and would be ignored.

    Raises:
        TypeError: There is such a thing; the message says what to write instead.
    """
    if tools:
        raise TypeError("tools: a whole case has its own catalogue; beside it stands a server object, or nothing")
    for name in beside:
        raise TypeError(f"{name}: a whole case says that itself: change it by dataclasses.replace(case, {name}=…)")


def violations(run: Run, contract: Contract | None = None, checks: Iterable[str] | None = None) -> dict[str, Violation]:
    """The checks that a run violated, each with its evidence.

    >>> from fuzzmcp.examples.sdk_client import connect
    >>> violations(globals()["run"](connect, "429cap"))
    {}
    """
    verdicts = rules.judge(run, contract, checks)
    return {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Violation)}


def check(client: Any, script: str | Script | Case = "", *, checks: Iterable[str] | None = None, **options: Any) -> Run:
    """Drive a client through one script and fail if it breaks a promise: a regression test in one line.

    Args:
        client: As for `run`.
        script: As for `run`.
        checks: Names of the checks to ask; all when None.
        options: What else `run` takes.

    Raises:
        fuzzmcp.checks.CheckFailed: A check was violated; an `AssertionError`. Of several it is the first one's, and
            its message has them all.
        ValueError: There is no such check.

    >>> from fuzzmcp.examples.careful_agent import connect
    >>> check(connect, "429cap").outcomes[0].status
    'returned'
    """
    contract = options.get("contract") or contract_of(client)
    checks = None if checks is None else rules.known(checks)
    happened = run(client, script, **options)
    rules.raise_first(violations(happened, contract, checks))
    return happened


def contract_of(client: Any) -> Contract:
    """The contract that stands beside a client: `contract` in its module, or the defaults."""
    function = getattr(client, "function", client)
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    found = getattr(module, "contract", None)
    return found if isinstance(found, Contract) else _DEFAULT_CONTRACT
