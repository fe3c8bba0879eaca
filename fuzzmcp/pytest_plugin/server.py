"""The server behind `fake_server`: one script, played to a test in virtual time or to a client that it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import replace
from typing import Any

from fuzzmcp import api
from fuzzmcp.checks import raise_first
from fuzzmcp.core.case import Case
from fuzzmcp.core.config import Config
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.errors import FuzzmcpError, ScriptError
from fuzzmcp.core.protocol import DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.core.script import Script
from fuzzmcp.core.spelling import meant
from fuzzmcp.core.trace import Event, Run
from fuzzmcp.harness.backing_server import BackingServer, catalogue_and_server
from fuzzmcp.harness.target import target_of
from fuzzmcp.pytest_plugin.failures import explained, failure
from fuzzmcp.report.escape import harmless
from fuzzmcp.search.job import Job, tools_of

_KEYWORDS = ("calls", "tools", "protocol", "transport", "backend")


class ScriptedServer:
    """A fake server for one test: what a client takes as its server.

    In the body of an async test `connect(fake_server)` is a session in virtual time: an hour of waiting takes no time,
    and `time.monotonic()` agrees. In any other test `run` and `check` drive a client. Either way `events` and
    `requests` tell afterwards, and meanwhile, what happened on the wire.

    Args:
        case: Its script, and what else there is to know.
        backing: A real server behind it.
        promised: What the configuration says of the contract.
        backend: The loop that the marker asks for; None where it asks for none.
    """

    def __init__(
        self, case: Case, backing: BackingServer | None, promised: Mapping[str, Any], backend: str | None = None
    ) -> None:
        self.case, self.backing, self.backend = case, backing, backend
        self._promised = promised
        self.body: Any = None  # the test's body, while it runs in virtual time
        self.runs: list[Run] = []

    def __repr__(self) -> str:
        return f"fake_server({str(self.case.script)!r})"

    # -- in an async test ----------------------------------------------------------------------------------------------

    def connect(self) -> AbstractAsyncContextManager[Any]:
        """A connection, as an async context manager of `(read, write)`: what the SDK calls a transport."""
        __tracebackhide__ = True
        return self._server().connect()  # type: ignore[no-any-return]

    def lines(self) -> AbstractAsyncContextManager[Any]:
        """The same for a client without the SDK: the streams carry lines of text, one JSON message each."""
        __tracebackhide__ = True
        return self._server().lines()  # type: ignore[no-any-return]

    def process(self) -> AbstractContextManager[None]:
        """A block in which the SDK's stdio client starts a fake process, for clients that start their server."""
        __tracebackhide__ = True
        return self._server().process()  # type: ignore[no-any-return]

    async def open_process(self, *command: Any, **options: Any) -> Any:
        """A fake child process, in place of `anyio.open_process`: command and options are not looked at."""
        __tracebackhide__ = True
        return await self._server().open_process(*command, **options)

    def _server(self) -> Any:
        __tracebackhide__ = True
        if self.body is None:
            raise RuntimeError(
                "fake_server lives in the virtual time of an async test: connect in the body of the test itself (a "
                "fixture of an async plugin runs on a loop of its own), or drive a client by fake_server.run(client)"
            )
        return self.body.server

    # -- in any test ---------------------------------------------------------------------------------------------------

    def run(self, client: Any, *, contract: Contract | None = None) -> Run:
        """Drive a client through the script, as `fuzzmcp.run` does.

        Args:
            client: A client or an agent.
            contract: What it promises; None for the contract beside it, with what the configuration says.

        Raises:
            TargetError: It is neither.
        """
        __tracebackhide__ = True
        job = Job(target_of(client), self.case, self._contract(client, contract), backing=self.backing, quiet=False)
        happened = job.drive(self.case)
        self.runs.append(happened)
        return happened

    def check(self, client: Any, *, checks: Iterable[str] | None = None, contract: Contract | None = None) -> Run:
        """Drive a client through the script and fail if it breaks a promise, as `fuzzmcp.check` does.

        Raises:
            fuzzmcp.CheckFailed: It broke one; an `AssertionError`. Of several it is the first one's, and its
                message has them all.
        """
        __tracebackhide__ = True
        promised = self._contract(client, contract)
        happened = self.run(client, contract=promised)
        raise_first(api.violations(happened, promised, checks))
        return happened

    def _contract(self, client: Any, contract: Contract | None) -> Contract:
        return contract or replace(api.contract_of(client), **self._promised)

    # -- what happened -------------------------------------------------------------------------------------------------

    @property
    def record(self) -> Run | None:
        """What has happened so far; of several runs the last."""
        if self.body is not None:
            return self.body.record()  # type: ignore[no-any-return]
        return self.runs[-1] if self.runs else None

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything on the wire, in order, with its virtual time."""
        return self.record.events if self.record is not None else ()

    @property
    def requests(self) -> tuple[Event, ...]:
        """The client's requests, in order, those of the handshake too."""
        return self.record.requests if self.record is not None else ()

    def requests_of(self, call: int = 0) -> tuple[Event, ...]:
        """The `tools/call` requests sent for one call; in an async test, calls of other arguments are other calls."""
        return self.record.requests_of(call) if self.record is not None else ()

    def remarks(self) -> list[str]:
        """What of the script never happened, a sentence each.

        Raises:
            BaseException: No fault happened at all, so the test proves nothing; pytest prints the reason alone.
        """
        if self.case.script.steps and not any(run.played for run in self.runs):
            reasons = [reason for run in self.runs for reason in run.undelivered]
            why = reasons[0] if reasons else "no request of the client took a step of the script"
            raise failure("proves nothing", f"no fault of '{self.case.script}' ever fired: {why}")
        found = [f"'{step}' was never reached: no request took it" for run in self.runs for step in run.unreached]
        found += [f"not delivered: {reason}" for run in self.runs for reason in run.undelivered]
        return list(dict.fromkeys(found))


def server_for(item: Any, config: Config) -> ScriptedServer:
    """The server of a test: what its marker says, and what the configuration says where that says nothing.

    Raises:
        BaseException: The marker cannot be used; pytest prints the reason alone.
    """
    marker = item.get_closest_marker("faults")
    arguments, options = (marker.args, dict(marker.kwargs)) if marker else ((), {})
    try:
        script = _script(arguments, options)
        tools, backing = _tools(options.get("tools"), config)
        case = api.case_of(
            script,
            calls=options.get("calls") or config.calls or None,
            tools=tools,
            protocol=options.get("protocol") or config.protocol or DEFAULT_VERSION,
            transport=options.get("transport") or config.transport or DEFAULT_TRANSPORT,
            backend=options.get("backend") or config.backend or DEFAULT_BACKEND,
        )
    except ScriptError as error:
        text = harmless(error.text)
        caret = " " * len(harmless(error.text[: error.position])) + "^"
        raise failure("error", f"{item.name}: {error}\n  {text}\n  {caret}") from None
    except (FuzzmcpError, ValueError, TypeError) as error:
        raise failure("error", f"{item.name}: {explained(error)}") from None
    return ScriptedServer(case, backing, config.contract, options.get("backend"))


def _script(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Script:
    if len(arguments) > 1 or not all(isinstance(script, (str, Script)) for script in arguments):
        raise TypeError(f"faults takes one script, as in '429,hang', found {', '.join(map(repr, arguments))}")
    for name in options:
        if name not in _KEYWORDS:
            raise TypeError(f"faults takes no '{name}'" + meant(name, _KEYWORDS))
    script = arguments[0] if arguments else ""
    return script if isinstance(script, Script) else Script.parse(script)


def _tools(tools: Any, config: Config) -> tuple[Any, BackingServer | None]:
    """The catalogue, and the real server that gives it if there is one."""
    if tools is None:
        tools = config.spelled("tools")
    if tools is None or isinstance(tools, str):
        found, backing, _ = tools_of(tools)
        return found, backing
    return catalogue_and_server(tools)
