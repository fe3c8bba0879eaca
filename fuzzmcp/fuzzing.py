"""`fuzz`: a Hypothesis test of a client, ready to be collected."""

from __future__ import annotations

import dataclasses
import io
import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.api import contract_of
from fuzzmcp.checks import CHECKS, Violation, judge, known
from fuzzmcp.core.case import Case, default_calls
from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.protocol import DEFAULT_VERSION
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.backing_server import Front, catalogue_of
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import Target, target_of
from fuzzmcp.report.model import Subject
from fuzzmcp.strategies import cases


def fuzz(
    client: Any,
    *,
    tools: Any = None,
    checks: Iterable[str] | None = None,
    contract: Contract | None = None,
    vocabulary: Iterable[str] | None = None,
    protocol: str = DEFAULT_VERSION,
    transport: str = "memory",
    backend: str = "asyncio",
) -> Callable[..., None]:
    """A Hypothesis test that draws cases and fails with the smallest one in which a client breaks a promise.

    It is an ordinary Hypothesis test: profiles hold, `settings(max_examples=50)(fuzzmcp.fuzz(connect))` too, and
    `hypothesis.example(case=fuzzmcp.case_of("429cap"))(…)` is always tried. Each check shrinks by itself. Put it at the
    top of a module or into a class.

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
    >>> settings(max_examples=5, deadline=None)(fuzz(connect, vocabulary=["429", "hang"]))()
    """
    target, promised = target_of(client), contract or contract_of(client)
    names = tuple(CHECKS) if checks is None else known(checks)
    allowed = None if vocabulary is None else tuple(vocabulary)
    is_server = tools is not None and not isinstance(tools, (str, os.PathLike, list, tuple, dict))
    front = Front(tools) if is_server else None
    loaded = catalogue_of(tools) if is_server else catalogue.load(tools)
    base = Case(tools=loaded, protocol=protocol, transport=transport, backend=backend)

    def drawn(transport: str) -> st.SearchStrategy[Case]:
        return cases(base.tools, protocol=protocol, transport=transport, vocabulary=allowed, backend=backend)

    drawn(transport)  # a bad argument is an error here, not at the first draw
    subject = Subject(_place_of(target), target.role, options=(*_tools_option(tools), *_contract_options(contract)))

    def driven(case: Case) -> Run:
        return drive(case, target, promised.limits, front=front)

    def ready() -> st.SearchStrategy[Case]:
        # Called once, before Hypothesis starts its clocks: the first runs of all pay for imports and caches.
        __tracebackhide__ = True
        plain = driven(base)
        _prove(plain)
        driven(dataclasses.replace(base, calls=default_calls(base.tools, len(base.tools))))
        return drawn(plain.case.transport).map(played)

    def played(case: Case) -> Case:
        # A case is run while it is drawn: the deadline is meant for the body, and a busy machine would trip it.
        return _Played(case, driven(case))

    def keeps_its_promises(case: Case) -> None:
        __tracebackhide__ = True
        run = case.run if isinstance(case, _Played) else driven(case)
        for name, verdict in judge(run, promised, names).items():
            if isinstance(verdict, Violation):
                raise _failure(name)(verdict, run, subject)

    def fuzzed(*self: Any, case: Case) -> None:  # pytest shows the first line of it
        keeps_its_promises(case)

    # Hypothesis tells tests apart by their source and signature, to keep their examples apart. The source is the same.
    fuzzed.__annotations__ = {"case": f"a case for {subject.client}"}
    fuzzed.__name__ = f"fuzz_{target.name.rpartition('.')[2]}"
    fuzzed.__qualname__, fuzzed.__doc__ = (
        fuzzed.__name__,
        f"{target.name} keeps its promises, whatever the server does.",
    )
    return given(case=st.deferred(ready))(fuzzed)


def _prove(run: Run) -> None:
    """A client that fails without any fault proves nothing under faults.

    Raises:
        CannotRun: It does; its own exception is the cause.
    """
    from fuzzmcp.search.readiness import CannotRun, unready

    if unready(run):
        raise CannotRun(run) from (run.connect_error or run.outcomes[0].error)


# -- cases that Hypothesis prints --------------------------------------------------------------------------------------


class _Played(Case):
    """A case with its run."""

    run: Run

    def __init__(self, case: Case, run: Run) -> None:
        super().__init__(**{field.name: getattr(case, field.name) for field in dataclasses.fields(case)})
        object.__setattr__(self, "run", run)


# -- failures ----------------------------------------------------------------------------------------------------------


@cache
def _failure(check: str) -> Any:
    """The exception of a check, with the case in its text; one class for each check, so each shrinks by itself."""
    parent = CHECKS[check].failure

    def init(self: Any, violation: Violation, run: Run, subject: Subject) -> None:
        parent.__init__(self, violation)
        self.run, self._subject = run, subject

    def text(self: Any) -> str:
        return _text(check, self.violation, self.run, self._subject)

    members = {"__init__": init, "__str__": text, "__module__": parent.__module__, "__doc__": parent.__doc__}
    return type(parent.__name__, (parent,), members)


def _text(check: str, violation: Violation, run: Run, subject: Subject) -> str:
    """The violation as a finding; made only when somebody looks, for Hypothesis raises many that nobody sees."""
    from fuzzmcp.report.build import violated
    from fuzzmcp.report.terminal.console import show_finding
    from fuzzmcp.report.terminal.style import console_for

    out = io.StringIO()
    for finding in violated(subject, run, {check: violation}):
        show_finding(finding, console_for(out))
    return f"{check}: {violation.message}\n\n{out.getvalue().rstrip()}"


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
