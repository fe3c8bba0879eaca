"""What is written down: one frozen record for each HTTP request, and one for a whole run."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fuzzmcp.core.script import Action, Script
from fuzzmcp.core.trace import Blocking, Loop, Outcome, Site
from fuzzmcp.harness.observe.layers import Attempt, Stack, stack_of


@dataclass(frozen=True)
class HttpRequest:
    """A request as the server reads it, given to the function that makes the `ok` bodies.

    `headers` have lower-case names. `number` counts the requests of one upstream, from 1.
    """

    number: int
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: It is none.
        """
        return json.loads(self.body)


@dataclass(frozen=True)
class Exchange:
    """One request and what became of it. No header and no body: they carry keys.

    Attributes:
        at: Virtual second at which it was sent.
        request: Its number, from 1.
        method: The HTTP method.
        path: The path of the URL, without its query.
        call: The call that it was sent for, or None.
        answer: What the script had for it; `ok` where the script had nothing, or nothing that HTTP carries.
        site: The client's code line that sent it.
        loop: Where it repeats an earlier request of its call: the place that came back to send it again, and how deep
            it lies.
        status: The HTTP status of the answer, None where none came.
        hint: The retry-after that the answer announced, in seconds.
        ended: Virtual second at which the answer came, or the client gave up; None while it waits.
        failure: Why no answer came: `timed out` (by the client's own limit), `closed` (by the server), or the name of
            what else ended the wait, such as `CancelledError`; otherwise the empty string.
        operation: What it asked for, among the different things that its call asked for: requests with the same method,
            URL and body have the same number, from 0.
    """

    at: float
    request: int
    method: str
    path: str
    call: int | None
    answer: Action
    site: Site | None = None
    loop: Loop | None = None
    status: int | None = None
    hint: float | None = None
    ended: float | None = None
    failure: str = ""
    operation: int = 0

    @property
    def attempt(self) -> Attempt:
        """The request as `fuzzmcp.harness.observe.layers` looks at one."""
        return Attempt(self.at, self.at if self.ended is None else self.ended, self.loop, self.hint)

    def __str__(self) -> str:
        call = "" if self.call is None else f" call={self.call}"
        became = str(self.status) if self.status is not None else self.failure or "waits"
        moment = "" if self.ended is None else f" at {self.ended:.6f}"
        site = f" <{self.site}>" if self.site else ""
        return f"{self.at:.6f} {self.method} {self.path}{call} [{self.answer}] {became}{moment}{site}"


@dataclass(frozen=True)
class HttpRun:
    """The record of one function driven against one upstream over HTTP. Its public name is `Happened`.

    Attributes:
        script: What the upstream played.
        requests: Every HTTP request, in order.
        outcomes: How the function ended, as the one call of this run.
        ended: Virtual second at which it ended.
        idle: Whether it ended because nothing could happen any more: someone waits for ever.
        stopped: Why it was cut short, or the empty string.
        blocked: Who blocked the event loop, for a coroutine function.
        unreached: Steps of the script that no request took.
        undelivered: Parts of the script that could not be sent, with the reason.
    """

    script: Script
    requests: tuple[Exchange, ...]
    outcomes: tuple[Outcome, ...]
    ended: float
    idle: bool = False
    stopped: str = ""
    blocked: tuple[Blocking, ...] = ()
    unreached: tuple[str, ...] = ()
    undelivered: tuple[str, ...] = ()

    @property
    def status(self) -> Literal["returned", "raised", "cancelled", "unfinished"]:
        """How the function ended."""
        return self.outcomes[0].status

    @property
    def value(self) -> Any:
        """What the function returned, or None."""
        return self.outcomes[0].value

    @property
    def error(self) -> BaseException | None:
        """What the function raised, or None."""
        return self.outcomes[0].error

    def requests_of(self, call: int | None = 0) -> tuple[Exchange, ...]:
        """The requests sent for one call."""
        return tuple(exchange for exchange in self.requests if exchange.call == call)

    def waits_of(self, call: int | None = 0) -> tuple[float, ...]:
        """Virtual seconds from the end of each request of a call to the start of its next one."""
        return waits(self.requests_of(call))

    def stack_of(self, call: int | None = 0) -> Stack:
        """The layers that sent the requests of one call, outermost first.

        Of a call that asked for several different things: those of the one that cost most, for only the same request
        can have been sent again.
        """
        most = max(operations(self.requests_of(call)), key=len, default=())
        return stack_of([e.attempt for e in most])

    def lines(self) -> list[str]:
        """The run as text, one request a line: the same bytes for the same script and function."""
        head = [f"upstream {self.script}"]
        tail = [f"outcome {outcome.call}: {outcome}" for outcome in self.outcomes]
        tail += [f"blocked {b.seconds:g} s at {b.at:g}: {b.where}" for b in self.blocked]
        return head + [str(exchange) for exchange in self.requests] + tail + [f"ended {self.ended:g} idle={self.idle}"]


def operations(exchanges: Iterable[Exchange]) -> list[tuple[Exchange, ...]]:
    """The requests, apart by their call and by what they asked for, in the order of the first of each."""
    found: dict[tuple[int | None, int], list[Exchange]] = {}
    for exchange in exchanges:
        found.setdefault((exchange.call, exchange.operation), []).append(exchange)
    return list(map(tuple, found.values()))


def waits(exchanges: tuple[Exchange, ...]) -> tuple[float, ...]:
    """Virtual seconds from the end of each request to the start of the next; 0 where the two overlap.

    >>> first = Exchange(0.0, 1, "GET", "/", 0, Action("429", 2.0), ended=0.5)
    >>> waits((first, Exchange(2.5, 2, "GET", "/", 0, Action("ok"))))
    (2.0,)
    """
    pairs = itertools.pairwise(exchanges)
    return tuple(
        round(max(0.0, after.at - (before.at if before.ended is None else before.ended)), 9) for before, after in pairs
    )
