"""The check on the client's own frames: valid one by one, and in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fuzzmcp.checks.facts import Facts, Verdict, Violation, held_if, shortened
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.protocol import era_of
from fuzzmcp.core.trace import Event
from fuzzmcp.harness.server import wire

_BEFORE_INITIALIZE = ("initialize", "ping", "server/discover")
_UNREADABLE = (-32700, -32600)
"""Errors of a peer that could not read the id of what it answers: they alone may carry the id null."""


def wire_valid(facts: Facts, contract: Contract) -> Verdict:
    """Each frame that the client sends is valid for the version, ids are unique, the lifecycle is in order.

    Why: JSON-RPC 2.0: a response answers a request of the other side, and nothing answers a notification; MCP, basic:
    ids are strings or integers, never null and never reused in a session (before 2026-07-28); `initialize` comes first,
    once, and `notifications/initialized` behind its answer; from 2026-07-28 every request carries protocol version and
    capabilities.
    Do: let one place mint ids, answer requests only, and wait for the handshake before the first call.
    """
    stateless = era_of(facts.run.case.protocol) == "stateless"
    answered = {id(e.request): e.settled_by for e in facts.exchanges} if stateless else {}
    greeted = {} if stateless else _greetings(facts)

    def is_free(owner: Event, event: Event) -> bool:
        """Whether the id of one request may serve another: from 2026-07-28 it may, once answered."""
        answer = answered.get(id(owner))
        return answer is not None and facts.before(answer, event)

    connections: defaultdict[int, _Connection] = defaultdict(lambda: _Connection(is_free))
    for event in facts.run.events:
        here = connections[event.connection]
        if event.kind == "junk":
            return Violation(f"the client sent no JSON-RPC message: {shortened(event.text)}", (event,))
        if event.kind == "deliver":
            here.hear(event, id(event) in greeted)
        if event.kind not in ("request", "notify", "reply") or event.frame is None:
            continue
        problem = _frame_problem(event) or (here.problem(event) if not stateless else here.stateless_problem(event))
        if problem:
            return Violation(f"the client's {event.method or 'response'} {problem}", (event,), event.call)
    return _argument_violation(facts) or held_if(facts.faulty)


def _greetings(facts: Facts) -> dict[int, Event]:
    """The answers to `initialize` that a client may take for its success, by identity: lenient readings are as good."""
    asked = [e for e in facts.exchanges if e.request.method == "initialize"]
    came = [answer for e in asked for answer in (e.settled_by, e.nearly_by) if answer is not None]
    return {id(event): event for event in came if event.answer is None or event.answer.kind != "protocol_error"}


@dataclass
class _Connection:
    """What has happened on one connection so far: ids in use, open requests of the server, the handshake."""

    is_free: Callable[[Event, Event], bool]
    ids: dict[str, Event] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    greeted: bool = False
    ready: bool = False

    def hear(self, event: Event, greeting: bool) -> None:
        """A message of the server."""
        self.greeted = self.greeted or greeting
        if event.method and event.frame is not None and "id" in event.frame:
            self.asked.add(repr(event.frame["id"]))

    def stateless_problem(self, event: Event) -> str:
        """What is out of order in a message of the stateless era."""
        return (self._id_problem(event) or _meta_problem(event)) if event.kind == "request" else ""

    def problem(self, event: Event) -> str:
        """What is out of order in a message of the handshake era."""
        if event.kind == "reply":
            return self._reply_problem(event.frame or {})
        if event.kind == "request":
            return self._id_problem(event) or self._order_problem(event)
        if event.method == "notifications/initialized":
            if not self.greeted:
                return "was sent before initialize was answered"
            self.ready = True
        return ""

    def _id_problem(self, event: Event) -> str:
        name = (event.frame or {}).get("id")
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            return f"has the id {name!r}: neither string nor integer"
        owner = self.ids.get(repr(name))
        if owner is not None and not self.is_free(owner, event):
            return f"uses the id {name!r} a second time"
        self.ids[repr(name)] = event
        return ""

    def _order_problem(self, event: Event) -> str:
        if event.method == "initialize" and self.ready:
            return "was sent again on a live session"
        if event.method in _BEFORE_INITIALIZE or self.ready:
            return ""
        return "was sent before the handshake was complete"

    def _reply_problem(self, frame: dict[str, Any]) -> str:
        name, error = frame.get("id"), frame.get("error")
        if name is None and isinstance(error, dict) and error.get("code") in _UNREADABLE:
            return ""
        if repr(name) not in self.asked:
            return f"answers {name!r}, which the server did not ask, or not any more"
        self.asked.discard(repr(name))
        return ""


def _frame_problem(event: Event) -> str:
    frame: dict[str, Any] = event.frame or {}
    params = frame.get("params", {})
    if frame.get("jsonrpc") != "2.0":
        return "lacks jsonrpc 2.0"
    if event.kind == "reply":
        return "" if ("result" in frame) != ("error" in frame) else "has not exactly one of result and error"
    if not isinstance(params, dict):
        return "has params that are no object"
    if event.method == "tools/call":
        if not isinstance(params.get("name"), str):
            return "names no tool"
        if not isinstance(params.get("arguments", {}), dict):
            return "has arguments that are no object"
    meta = params.get("_meta", {})
    token = meta.get("progressToken", "") if isinstance(meta, dict) else None
    return "" if isinstance(token, (str, int)) else "has an invalid progress token"


def _meta_problem(event: Event) -> str:
    if event.method in ("initialize", "server/discover"):
        return ""
    params = (event.frame or {}).get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    missing = [
        key for key in (wire.META_VERSION, wire.META_CAPABILITIES) if not isinstance(meta, dict) or key not in meta
    ]
    return f"lacks _meta {missing[0]}" if missing else ""


def _argument_violation(facts: Facts) -> Violation | None:
    """An agent chooses its arguments itself: they must fit the inputSchema."""
    if facts.run.role != "agent":
        return None
    for exchange in facts.exchanges:
        tool = facts.tool(exchange) if exchange.request.method == "tools/call" else None
        params = (exchange.request.frame or {}).get("params", {})
        error = next(tool.input_validator.iter_errors(params.get("arguments") or {}), None) if tool else None
        if error is not None and tool is not None:
            message = f"the agent's arguments for {tool.name} break its inputSchema: {shortened(error.message)}"
            return Violation(message, (exchange.request,), exchange.request.call)
    return None
