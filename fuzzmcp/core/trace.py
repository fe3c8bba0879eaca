"""What happened in one run: timed events on the wire, one outcome per call, and what was left behind.

Frozen data and no judgement: the harness writes it, the checks read it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from fuzzmcp.core.case import Case
from fuzzmcp.core.script import Action, Step

Kind = Literal[
    "open",  # the client opened a connection
    "request",  # client → server, expects an answer
    "notify",  # client → server, expects none
    "reply",  # client → server, answers a request of the server
    "junk",  # client → server, no JSON-RPC message
    "deliver",  # server → client, a frame or a raw line
    "close",  # the server closed the stream
    "hang_up",  # the client closed the stream
    "start",  # the workload asks for a call
    "cancel",  # the caller cancels a call
    "settle",  # the client returned from a call, or raised
    "over",  # the last call has settled; what follows is the probe and the end of the session
]

PROBE = -1
"""The number of the probe call, made after the script on the same session."""


@dataclass(frozen=True, slots=True)
class Site:
    """A place in somebody's code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line} {self.function}"


@dataclass(frozen=True, slots=True)
class Loop(Site):
    """The place that came back to send a request again.

    Attributes:
        depth: How deep it lies: tasks and threads above its own, then frames above it in its own. The deeper of two
            places of one call is the inner one. None where a task that is older than the call sends for it: what
            loops above that task cannot be seen.
        library: The retry library whose loop it is, such as `tenacity`; the place is then the function that it retries.
    """

    depth: tuple[int, int] | None = None
    library: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the fake knows of a response it sent.

    `kind` is how a client must take it. `value_json` is the structured content as JSON text, None without; `text` are
    the text blocks. `visible` says that the content breaks the tool's outputSchema. `hint` is the retry-after, in
    seconds. `foreign` answers carry an id that no request has: their content belongs to nobody.
    """

    kind: Literal["success", "execution_error", "protocol_error", "broken"]
    value_json: str | None = None
    text: str = ""
    visible: bool = False
    hint: float | None = None
    code: int | None = None
    foreign: bool = False

    @property
    def value(self) -> Any:
        """The structured content, parsed anew each time."""
        return None if self.value_json is None else json.loads(self.value_json)


class Event(NamedTuple):
    """One thing that happened at virtual second `at`.

    Attributes:
        request: Serial number of the client's request that this event is, or answers, or belongs to.
        call: Number of the call it was sent for (`PROBE` for the probe), None for what the client does by itself.
        frame: The JSON-RPC message, or None.
        text: The raw line where no frame can carry it, or a remark.
        action: The part of the script that caused a delivery; None for the fake's ordinary behaviour.
        answer: What a delivered response means; None for anything else.
        site: For a request: the client's code line that sent it.
        loop: For a request that repeats an earlier one of its call: the place that came back to send it again, and how
            deep it lies.
    """

    at: float
    kind: Kind
    connection: int = 0
    call: int | None = None
    request: int | None = None
    frame: dict[str, Any] | None = None
    text: str = ""
    action: Action | None = None
    answer: Answer | None = None
    site: Site | None = None
    loop: Loop | None = None

    @property
    def method(self) -> str:
        """The JSON-RPC method, or the empty string."""
        method = self.frame.get("method") if self.frame else None
        return method if isinstance(method, str) else ""

    def __str__(self) -> str:
        frame = "" if self.frame is None else " " + json.dumps(self.frame, ensure_ascii=False, sort_keys=True)
        script = f" [{self.action}]" if self.action else ""
        site = f" <{self.site}>" if self.site else ""
        call = "" if self.call is None else f" call={self.call}"
        text = f" {self.text!r}" if self.text else ""
        return f"{self.at:.6f} {self.kind}{call}{frame}{text}{script}{site}"


@dataclass(frozen=True)
class Outcome:
    """How one call ended.

    `status` is `returned`, `raised`, `cancelled` (by the caller) or `unfinished` (it never settled). Times are virtual
    seconds. `error` is the exception itself, kept without its traceback; `traceback` its text.
    """

    call: int
    status: Literal["returned", "raised", "cancelled", "unfinished"]
    started: float
    ended: float
    value: Any = None
    error: BaseException | None = None
    traceback: str = ""

    @property
    def exceptions(self) -> tuple[BaseException, ...]:
        """The exception, or the members of an exception group, flattened."""
        return tuple(_flatten(self.error)) if self.error is not None else ()

    def __str__(self) -> str:
        what = f": {type(self.error).__name__}: {_one_line(str(self.error))}" if self.error is not None else ""
        return f"{self.status} after {self.ended - self.started:g} s{what}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:160]


def _flatten(error: BaseException) -> list[BaseException]:
    members = getattr(error, "exceptions", None)
    if isinstance(members, tuple):
        return [leaf for member in members for leaf in _flatten(member)]
    return [error]


@dataclass(frozen=True)
class Reading:
    """What a returned value says. `is_error` is its error flag, None where it has none; `looks_failed` says that plain
    data without a flag reads like an error (`status: error`, or an `error` key)."""

    is_error: bool | None = None
    structured: Any = None
    text: str = ""
    looks_failed: bool = False

    @property
    def says_error(self) -> bool:
        """Whether a caller would take it for an error."""
        return bool(self.is_error) or self.looks_failed


@dataclass(frozen=True, slots=True)
class Log:
    """One log record or warning that appeared during the run."""

    at: float
    logger: str
    level: str
    message: str


@dataclass(frozen=True, slots=True)
class Leak:
    """Something left behind: a task, a thread, a stream, an unretrieved exception, a shutdown that did not end."""

    kind: Literal["task", "thread", "stream", "exception", "shutdown"]
    what: str


@dataclass(frozen=True, slots=True)
class Blocking:
    """The event loop was blocked at virtual second `at` for `seconds` (infinite: it never turned again) by `where`."""

    at: float
    seconds: float
    where: str


@dataclass(frozen=True)
class Run:
    """The record of one case driven against one client.

    Attributes:
        case: What was driven; its transport is the one that the client was seen to use.
        role: `client` (fuzzmcp made the calls) or `agent` (one run is one call).
        events: Everything on the wire and around it, in order.
        outcomes: One for each call.
        probe: The call made after the script on the same session; None where there was none.
        logs, leaks, blocked: What was observed around the wire.
        ended: Virtual second at which the session was closed.
        idle: Whether the run ended because nothing could happen any more: someone waits for ever.
        stopped: Why the run was cut short (frame budget, horizon), or the empty string.
        unreached: Steps of the script that no request took.
        undelivered: Parts of the script that a request took but that could not be sent, with the reason.
        played: Serial of the request and action, for every part of the script that really happened.
        steps: Serial of the request and step, for every request that took a step of the script.
        connect_error: The exception that the client raised outside of any call, while connecting or closing.
        connected: Whether the client came as far as to accept calls.
    """

    case: Case
    role: Literal["client", "agent"]
    events: tuple[Event, ...]
    outcomes: tuple[Outcome, ...]
    probe: Outcome | None = None
    logs: tuple[Log, ...] = ()
    leaks: tuple[Leak, ...] = ()
    blocked: tuple[Blocking, ...] = ()
    ended: float = 0.0
    idle: bool = False
    stopped: str = ""
    unreached: tuple[str, ...] = ()
    undelivered: tuple[str, ...] = ()
    played: tuple[tuple[int, Action], ...] = ()
    steps: tuple[tuple[int, Step], ...] = ()
    connect_error: BaseException | None = field(default=None, compare=False)
    connect_traceback: str = ""
    connected: bool = True

    @cached_property
    def requests(self) -> tuple[Event, ...]:
        """The client's requests, in order."""
        return tuple(event for event in self.events if event.kind == "request")

    def requests_of(self, call: int) -> tuple[Event, ...]:
        """The `tools/call` requests sent for one call."""
        return tuple(e for e in self.requests if e.call == call and e.method == "tools/call")

    def lines(self) -> list[str]:
        """The run as text, one event a line: the same bytes for the same case and client."""
        head = [f"case {self.case.script} | {' ; '.join(map(str, self.case.calls))} | {self.case.protocol}"]
        tail = [f"outcome {o.call}: {o}" for o in (*self.outcomes, *((self.probe,) if self.probe else ()))]
        notes = [f"leak {leak.kind}: {leak.what}" for leak in self.leaks]
        notes += [f"blocked {b.seconds:g} s at {b.at:g}: {b.where}" for b in self.blocked]
        return head + [str(event) for event in self.events] + tail + notes + [f"ended {self.ended:g} idle={self.idle}"]
