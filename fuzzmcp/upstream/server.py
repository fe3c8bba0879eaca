"""The upstream: it plays a script to whoever sends HTTP requests, and writes them down."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from fuzzmcp.core.script import OK, Action, Script, Step
from fuzzmcp.core.spelling import meant
from fuzzmcp.core.trace import Site
from fuzzmcp.harness.clock import LoopStalled, Registration
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.upstream import answers, httpx_transport, requests_adapter, waiting
from fuzzmcp.upstream.answers import HINTS, Hints, HttpReply
from fuzzmcp.upstream.failures import Closed, Hopeless, TimedOut
from fuzzmcp.upstream.record import Exchange, HttpRequest, waits
from fuzzmcp.upstream.sessions import BudgetSpent, HttpSession, registration_now, session_of

if TYPE_CHECKING:
    from types import ModuleType


@dataclass(frozen=True)
class _Pending:
    """A request that was read: its answer, and the virtual second at which it is due."""

    number: int
    request: HttpRequest
    answer: Action
    due: float
    registration: Registration
    session: HttpSession
    site: Site | None
    ours: Ours


class Upstream:
    """A plain HTTP API that plays a script. The i-th request takes the i-th `call` step; past the end all is `ok`.

    One without a script plays that of the run in which it is asked, where `fuzzmcp stack --upstream` gives it one: so a
    client that keeps an upstream for its backend, or a server object whose tools do, can be explored as it is.

    It answers `ok`, `error` (400), `429` and `429cap` (429), `504`, `529`, `truncated`, `hang` and `close`, each with
    `@seconds` and `*`, and keeps `block(SECONDS)`. What HTTP cannot carry is in `undelivered`; its request gets `ok`.

    It belongs to one run: it goes on in its script wherever it is used.

    Args:
        script: The value of `FAULTS`.
        ok: The body of a success: bytes as they are, anything else as JSON, or a function of the `HttpRequest` that
            gives either. None is `{"ok": true, "request": NUMBER}`.
        hints: How a retry-after is written: `seconds` (whole, rounded up), `decimal`, or `date` (an HTTP date of the
            virtual `time.time`, rounded up to its second).

    Raises:
        ScriptError: The script cannot be read.
        ValueError: There is no such form of hint.

    >>> Upstream("429, list:hang").undelivered
    ('list:hang: a plain HTTP API has no list requests',)
    """

    def __init__(self, script: str | Script = "", *, ok: Any = None, hints: Hints = "seconds") -> None:
        if hints not in HINTS:
            raise ValueError(f"hints must be one of {', '.join(HINTS)}, not {hints!r}{meant(hints, HINTS)}")
        self.script = script if isinstance(script, Script) else Script.parse(script)
        self._ok, self._hints = ok, hints
        self._requests: list[Exchange] = []
        self._undelivered = [reason for step in self.script.steps if (reason := answers.why_unreachable(step))]
        self._reached: set[int] = set()
        self._blocks: list[tuple[float, float]] = []
        self._lock = threading.Lock()

    def transport(self, library: str | ModuleType = "httpx") -> Any:
        """A transport for the clients of `httpx` or `httpx2`, sync and async: `Client(transport=…)`.

        Args:
            library: The module, or its name.

        Raises:
            ImportError: It is not installed.
            ValueError: It is no such library.
        """
        return httpx_transport.transport(self, library)

    def adapter(self, **options: Any) -> Any:
        """An adapter for `requests`: `session.mount("https://", upstream.adapter())`.

        Args:
            options: What `requests.adapters.HTTPAdapter` takes, as `max_retries`: urllib3's own retries work.

        Raises:
            ImportError: requests is not installed.
        """
        return requests_adapter.adapter(self, options)

    def playing(self, script: Script) -> Upstream:
        """Another one that answers in the same way, plays `script`, and was asked for nothing yet."""
        return Upstream(script, ok=self._ok, hints=self._hints)

    def __repr__(self) -> str:
        return f"Upstream({str(self.script)!r})"

    # -- what was seen ---------------------------------------------------------------------------------------------

    @property
    def requests(self) -> tuple[Exchange, ...]:
        """Every request, in order."""
        return tuple(self._requests)

    def waits(self, call: int | None = 0) -> tuple[float, ...]:
        """Virtual seconds from the end of each request of a call to the start of its next one."""
        return waits(tuple(exchange for exchange in self._requests if exchange.call == call))

    @property
    def undelivered(self) -> tuple[str, ...]:
        """Parts of the script that no HTTP request can take, and those that one took and could not be sent."""
        return tuple(dict.fromkeys(self._undelivered))

    @property
    def unreached(self) -> tuple[str, ...]:
        """Steps of the script that no request took."""
        steps = enumerate(self.script.steps)
        return tuple(str(step) for place, step in steps if place not in self._reached and step.method == "call")

    # -- what the transports call ----------------------------------------------------------------------------------

    def receive(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> _Pending:
        """Read a request: count it, write it down, and take its step."""
        registration = registration_now()
        path, ours = urlsplit(url).path or "/", Ours(registration.loop_run.stop, self)
        with ours:
            session, now = session_of(registration.loop_run), registration.loop_run.now()
            call = session.call_now()
            with self._lock:
                operation = session.operation(call, method, url, body)
            site, loop = session.take(call, operation)
            with self._lock:
                number = len(self._requests) + 1
                step = self._take(number - 1, session)
                answer = OK if answers.why_undeliverable(step.answer) else step.answer
                exchange = Exchange(now, number, method, path, call, answer, site, loop, operation=operation)
                self._requests.append(exchange)
                session.exchanges.append(lambda: self._requests[number - 1])
                self._obey(step, now)
                session.sent += 1
        late = answer.at if isinstance(answer.at, (int, float)) else 0.0
        due = math.inf if answer.fault.timing == "never" else now + late
        request = HttpRequest(number, method, url, {name.lower(): value for name, value in headers.items()}, body)
        return _Pending(number, request, answer, due, registration, session, site, ours)

    async def answer(self, pending: _Pending, patience: float | None) -> HttpReply:
        """Wait for the answer as a task.

        Args:
            pending: What `receive` gave.
            patience: Virtual seconds that the client waits, None for ever.

        Raises:
            TimedOut, Closed: No answer came.
        """
        with _Ending(self, pending):
            if pending.session.spent:
                pending.session.stop(pending.registration.loop_run)
                await waiting.sleep_until(pending.registration, math.inf)
            limit = self._limit(pending, patience)
            while (moment := self._moment(pending, limit)) is not None:
                await waiting.sleep_until(pending.registration, moment)
            return self._reply(pending)

    def answer_blocking(self, pending: _Pending, patience: float | None) -> HttpReply:
        """The same for a synchronous client."""
        with _Ending(self, pending):
            if pending.session.spent:
                self._stop_blocking(pending)
            limit = self._limit(pending, patience)
            while (moment := self._moment(pending, limit)) is not None:
                waiting.block_until(pending.registration, moment, pending.site)
            return self._reply(pending)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _take(self, index: int, session: HttpSession) -> Step:
        if not self.script.steps and session.script is not None:
            _, step = session.step()
        else:
            place, step = self.script.step_for("call", index)
            if place is not None:
                self._reached.add(place)
        self._undelivered += [why for action in step.actions if (why := answers.why_undeliverable(action))]
        return step

    def _obey(self, step: Step, now: float) -> None:
        for extra in step.extras:
            if "blocks" in extra.fault.ways and answers.why_undeliverable(extra) is None:
                begin = now + cast(float, extra.at or 0.0)
                self._blocks.append((begin, begin + cast(float, extra.value)))

    def _limit(self, pending: _Pending, patience: float | None) -> float:
        return math.inf if patience is None else pending.registration.loop_run.now() + patience

    def _moment(self, pending: _Pending, limit: float) -> float | None:
        """Until when to wait before looking again; None when the answer is due."""
        now, due = pending.registration.loop_run.now(), pending.due
        for begin, end in sorted(self._blocks):
            due = max(due, end) if begin <= due else due
        due = round(due, 9) if due < math.inf else due
        if due <= now:
            return None
        if round(limit, 9) <= now and due > limit:
            raise TimedOut
        return min(due, round(limit, 9))

    def _reply(self, pending: _Pending) -> HttpReply:
        if "closes" in pending.answer.fault.traits:
            raise Closed
        ok, now = self._body(pending.request), pending.registration.loop_run.now()
        with pending.ours if self._ok is None else contextlib.nullcontext():  # else it may be the body that is no JSON
            reply = answers.build(pending.answer, pending.number, now, ok, self._hints)
        with pending.ours:
            self._note(pending, status=reply.status, hint=reply.hint)
        return reply

    def _body(self, request: HttpRequest) -> Any:
        if self._ok is None:
            return {"ok": True, "request": request.number}
        return self._ok(request) if callable(self._ok) else self._ok

    def _stop_blocking(self, pending: _Pending) -> None:
        session, registration = pending.session, pending.registration
        if registration.thread is None:
            if session.on_spent is not None:
                session.on_spent()
            raise LoopStalled(str(BudgetSpent(session.budget or 0)))
        registration.loop_run.post(session.stop, registration.loop_run)
        waiting.block_until(registration, math.inf, pending.site)

    def _note(self, pending: _Pending, **facts: Any) -> None:
        with self._lock:
            index = pending.number - 1
            self._requests[index] = replace(self._requests[index], **facts)


class _Ending:
    """Writes down when a request ended, and how where no answer came."""

    def __init__(self, upstream: Upstream, pending: _Pending) -> None:
        self._upstream, self._pending = upstream, pending

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        loop_run = self._pending.registration.loop_run
        if loop_run.over or loop_run.draining:
            return  # the run ended, not the wait
        failure = "" if kind is None else kind.word if issubclass(kind, Hopeless) else kind.__name__
        with self._pending.ours:
            self._upstream._note(self._pending, ended=loop_run.now(), failure=failure)
