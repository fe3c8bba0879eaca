"""`fuzz`: a Hypothesis test of a client, ready to be collected."""

from __future__ import annotations

import dataclasses
import io
import os
import sys
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cache, partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.api import contract_of
from fuzzmcp.checks import CHECKS, Violation, known
from fuzzmcp.core.case import Case, changed_by, default_calls
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.protocol import DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.backing_server import catalogue_and_server
from fuzzmcp.harness.target import Target, target_of
from fuzzmcp.report.model import Subject
from fuzzmcp.search.job import Job
from fuzzmcp.strategies import cases


def fuzz(
    client: Any,
    *,
    tools: Any = None,
    checks: Iterable[str] | None = None,
    contract: Contract | None = None,
    vocabulary: Iterable[str] | None = None,
    protocol: str = DEFAULT_VERSION,
    transport: str = DEFAULT_TRANSPORT,
    backend: str = DEFAULT_BACKEND,
) -> Callable[..., None]:
    """A Hypothesis test that draws cases and fails with the smallest one in which a client breaks a promise.

    It is an ordinary Hypothesis test: profiles hold, `settings(max_examples=50)(fuzzmcp.fuzz(connect))` too, and
    `hypothesis.example(case=fuzzmcp.case_of("429cap"))(…)` is always tried. Each check shrinks by itself. Put it at the
    top of a module or into a class.

    A deadline that settings or a profile name is for one run, in real time. Hypothesis's own default of 200 ms does not
    count: a busy machine trips it, and the contract has a deadline in virtual time.

    Args:
        client: A client or an agent.
        tools: The catalogue: a JSON file, tool definitions, or a server object, which then also gives the `ok` answers.
        checks: Names of the checks to ask; all when None.
        contract: What the client promises; None for the contract beside it.
        vocabulary: Names of the faults to draw from; all when None.
        protocol: The version that the fake server speaks.
        transport: How `server.connect()` joins client and server: `memory`, or `stdio`.
        backend: `asyncio` or `trio`.

    Raises:
        TargetError, ToolsError, CaseError, ValueError: Something given cannot be used.

    >>> from hypothesis import settings
    >>> from fuzzmcp.examples.careful_agent import connect
    >>> settings(max_examples=5)(fuzz(connect, vocabulary=["429", "hang"]))()
    """
    target, promised = target_of(client), contract or contract_of(client)
    names = tuple(CHECKS) if checks is None else known(checks)
    allowed = None if vocabulary is None else tuple(vocabulary)
    loaded, backing = catalogue_and_server(tools)
    is_named = tools is None or isinstance(tools, (str, os.PathLike))
    base = Case(tools=loaded, protocol=protocol, transport=transport, backend=backend)

    def drawn(transport: str) -> st.SearchStrategy[Case]:
        return cases(base.tools, protocol=protocol, transport=transport, vocabulary=allowed, backend=backend)

    drawn(transport)  # a bad argument is an error here, not at the first draw
    job = Job(target, base, promised, names, backing, quiet=False)
    subject = Subject(_place_of(target), target.role, options=(*_tools_option(tools), *_contract_options(contract)))

    @cache
    def ready() -> str:
        """Prove that the client runs, and say over which transport: one that starts its server itself has its own.

        These runs pay for imports and caches, which no deadline is meant for: it is called before Hypothesis begins.
        """
        __tracebackhide__ = True
        plain = job.drive(base)
        _prove(plain)
        job.drive(dataclasses.replace(base, calls=default_calls(base.tools, len(base.tools))))
        return plain.case.transport

    def keeps_its_promises(case: Case) -> None:
        __tracebackhide__ = True
        run = job.drive(case)
        for name, verdict in job.judge(run).items():
            if isinstance(verdict, Violation):
                sayable = is_named and case.tools == base.tools and case.changed == changed_by(case.script, case.tools)
                raise CHECKS[name].failure(verdict, told=partial(_text, name, verdict, run, subject, sayable))

    def fuzzed(*self: Any, case: Case) -> None:  # pytest shows the first line of it
        keeps_its_promises(case)

    # Hypothesis tells tests apart by their source and signature, to keep their examples apart. The source is the same.
    fuzzed.__annotations__ = {"case": f"a case for {subject.client}"}
    fuzzed.__name__ = f"fuzz_{target.name.rpartition('.')[2]}"
    fuzzed.__qualname__, fuzzed.__doc__ = (
        fuzzed.__name__,
        f"{target.name} keeps its promises, whatever the server does.",
    )
    return _started(given(case=st.deferred(lambda: drawn(ready())))(fuzzed), ready)


# -- before Hypothesis begins ------------------------------------------------------------------------------------------

_DEFAULT_DEADLINE = timedelta(milliseconds=200)
_SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps the settings of a test; its plugin for pytest looks there, too."""


def _started(test: Callable[..., None], ready: Callable[[], object]) -> Callable[..., None]:
    """The same test, which gets ready and settles its deadline before Hypothesis begins."""

    def started(*self: Any) -> None:
        __tracebackhide__ = True
        ready()
        attributes = vars(test)
        if _SETTINGS in attributes and _untouched(attributes[_SETTINGS].deadline):
            attributes[_SETTINGS] = settings(attributes[_SETTINGS], deadline=None)
        test(*self)

    # Both have the same attributes: settings, examples and seeds that a decorator gives to one are found at the other.
    started.__dict__ = test.__dict__
    started.__name__, started.__qualname__, started.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return started


def _untouched(deadline: timedelta | None) -> bool:
    """Whether it is Hypothesis's own default. Settings hand on the very object; an explicit deadline is another."""
    return deadline == _DEFAULT_DEADLINE and deadline is settings.get_profile("default").deadline


def _prove(run: Run) -> None:
    """A client that fails without any fault proves nothing under faults.

    Raises:
        CannotRun: It does; its own exception is the cause.
    """
    from fuzzmcp.search.readiness import CannotRun, unready

    if unready(run):
        raise CannotRun(run) from (run.connect_error or run.outcomes[0].error)


# -- failures ----------------------------------------------------------------------------------------------------------


_UNSAYABLE = "again run this test: no command line can name its tools"


def _text(check: str, violation: Violation, run: Run, subject: Subject, sayable: bool) -> str:
    """The violation as a finding; made only when somebody looks, for Hypothesis raises many that nobody sees.

    Args:
        check: The check that is violated.
        violation: The evidence.
        run: What happened.
        subject: What was tested.
        sayable: A command line can say the case.
    """
    from fuzzmcp.report.build import violated
    from fuzzmcp.report.terminal.console import show_finding
    from fuzzmcp.report.terminal.style import console_for

    out = io.StringIO()
    for finding in violated(subject, run, {check: violation}):
        show_finding(finding if sayable else dataclasses.replace(finding, replay=()), console_for(out))
    again = "" if sayable else f"\n{_UNSAYABLE}"
    return f"{check}: {violation.message}\n\n{out.getvalue().rstrip()}{again}"


def _tools_option(tools: Any) -> tuple[str, ...]:
    """How a replay is told the catalogue; objects it cannot be told."""
    return ("--tools", os.fspath(tools)) if isinstance(tools, (str, os.PathLike)) else ()


def _contract_options(contract: Contract | None) -> tuple[str, ...]:
    """How a replay is told what the contract beside the client does not say."""
    if contract is None:
        return ()
    words = ["--deadline", f"{contract.deadline:g}", "--max-requests", str(contract.max_requests)]
    for tool, number in contract.max_requests_per_tool.items():
        words += ["--max-requests", f"{tool}={number}"]
    for kind in contract.accepts or ():
        words += ["--accept", kind if isinstance(kind, str) else kind.__name__]
    return tuple(words)


def _place_of(target: Target) -> str:
    """The client as the command line names it: by its file where that can stand alone."""
    function = target.function
    name = getattr(function, "__qualname__", target.name)
    module = getattr(function, "__module__", "") or ""
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if file is None or getattr(found, "__package__", None):
        return f"{module}:{name}"
    return f"{os.path.relpath(file)}:{name}".replace(os.sep, "/")
