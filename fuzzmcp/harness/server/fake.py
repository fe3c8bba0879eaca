"""The fake server, sans-IO: a frame and a time in, timed deliveries out. No async, no I/O, no clock of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fuzzmcp.core.case import Case
from fuzzmcp.core.fault_row import Place
from fuzzmcp.core.faults import LATE, why_inapplicable
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, METHODS, STATELESS_VERSIONS, era_of
from fuzzmcp.core.script import OK, PLAIN, Action, Step
from fuzzmcp.harness.server import answers, extras, pages, wire
from fuzzmcp.harness.server.answers import Asked, Reply
from fuzzmcp.harness.server.deliveries import Delivery, due, moment, of_answer, seconds
from fuzzmcp.harness.server.extras import Around
from fuzzmcp.harness.server.wire import Frame

_SCRIPT_METHOD = {wire_name: name for name, wire_name in METHODS.items()}


class Ticket(NamedTuple):
    """A request that was counted in: its serial number and the step that it takes."""

    serial: int
    scripted: bool
    step: Step

    @property
    def wants_ok(self) -> bool:
        """Whether its answer is made of an `ok` result: then a real server behind the fake has to be asked for one."""
        return "whole" in self.step.answer.fault.ways


@dataclass
class _Session:
    """One connection: what was negotiated on it, and which subscriptions are open."""

    number: int
    version: str
    transport: str = DEFAULT_TRANSPORT
    closes: float = math.inf
    subscriptions: dict[Any, bool] = field(default_factory=dict)


@dataclass
class _Held:
    """Deliveries that wait for the client's cancellation of their request, and the blocking that may delay them."""

    serial: int
    deliveries: list[Delivery]


class FakeServer:
    """Plays a case's script against one client.

    >>> from fuzzmcp.core.script import Script
    >>> server = FakeServer(Case(script=Script.parse("429@3")))
    >>> call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_order", "arguments": {}}}
    >>> [(d.at, d.frame["result"]["isError"]) for d in server.receive(call, now=10.0)]
    [(13.0, True)]
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.over = False
        self.serial = 0
        self.played: list[tuple[int, Action]] = []
        """Parts of the script that show in no delivery, carried out, with the serial of their request."""
        self.steps: list[tuple[int, Step]] = []
        """The steps that requests took, with the serial of the request; plain ones are left out."""
        self.undelivered: list[str] = []
        self._sessions: list[_Session] = []
        self._taken: dict[str, int] = {}
        self._reached: set[int] = set()
        self._held: dict[tuple[int, Any], _Held] = {}
        self._blocks: list[tuple[float, float]] = []
        self._changed_at: float | None = None
        self._asked_client = 0

    # -- what the transport calls ----------------------------------------------------------------------------------

    def connect(self, transport: str = DEFAULT_TRANSPORT) -> int:
        """Open a connection and return its number."""
        self._sessions.append(_Session(len(self._sessions), self.case.protocol, transport))
        return len(self._sessions) - 1

    def take(self, frame: Frame) -> Ticket:
        """Count a request in and give it its step; `receive` does so for whoever brings no ticket."""
        name = _SCRIPT_METHOD.get(frame["method"]) if isinstance(frame["method"], str) else None
        self.serial += 1
        if name is None or self.over:
            return Ticket(self.serial, False, PLAIN[name or "call"])
        index = self._taken.get(name, 0)
        self._taken[name] = index + 1
        place, step = self.case.script.step_for(name, index)
        if place is not None:
            self._reached.add(place)
        return Ticket(self.serial, place is not None, step)

    def receive(
        self,
        frame: Any,
        now: float,
        connection: int = 0,
        ok_result: Frame | None = None,
        ticket: Ticket | None = None,
    ) -> list[Delivery]:
        """What the server does with one message of the client.

        Args:
            frame: The decoded JSON of the message.
            now: Virtual second of its arrival.
            connection: The number that `connect` returned.
            ok_result: The result of a real server for this request.
            ticket: What `take` gave for this request.

        Returns:
            Deliveries in the order in which they are due.
        """
        while connection >= len(self._sessions):
            self.connect()
        session = self._sessions[connection]
        if not isinstance(frame, dict) or "method" not in frame:
            return []
        start = self.unblocked(now)
        if start >= session.closes:
            if "id" in frame and ticket is None:
                self.serial += 1  # a request that nobody reads has a number as well
            return []
        if "id" not in frame:
            return self._on_notification(session, frame, start)
        return self._on_request(session, frame, start, ok_result, ticket or self.take(frame))

    def finish(self) -> None:
        """The script is over: from now on every request is answered at once, as `ok`."""
        self.over = True
        self._blocks.clear()

    def unreached(self) -> tuple[str, ...]:
        """The steps of the script that no request took."""
        return tuple(str(step) for i, step in enumerate(self.case.script.steps) if i not in self._reached)

    def still_held(self) -> tuple[str, ...]:
        """Parts of the script that waited for a cancellation which never came."""
        return tuple(
            f"{d.action or LATE}: the client never cancelled request {held.serial} on the wire"
            for held in self._held.values()
            for d in held.deliveries
        )

    # -- requests --------------------------------------------------------------------------------------------------

    def _on_request(
        self, session: _Session, frame: Frame, start: float, ok_result: Frame | None, ticket: Ticket
    ) -> list[Delivery]:
        serial, scripted, step = ticket
        asked = self._asked(session, frame, start, ok_result, ticket)
        if step.plain and step.method != "listen":  # most requests
            reply = answers.build(OK, asked)
            return [Delivery(start, "frame", session.number, serial, reply.frame, answer=reply.answer)]
        for extra in step.extras:
            if "blocks" in extra.fault.ways:
                begin = start + seconds(extra.at)
                end = begin + float(extra.value)  # type: ignore[arg-type]
                self._blocks.append((moment(begin), moment(end)))
        answer = self._possible(step.answer, asked, step, session)
        if scripted and not step.plain:
            self.steps.append((serial, step))
        silently = (answer, *step.extras) if scripted else ()
        self.played += [(serial, a) for a in silently if a.fault.silence or _delays(a, answer)]
        reply = answers.build(answer, asked)
        own = answer if scripted and answer != OK else None
        around = Around(frame, asked, answer, reply, own, session.subscriptions, self._next_id, self.undelivered.append)
        deliveries = [self._timed(d, session, start, serial) for d in self._sequence(session, around, step)]
        if waiting := [d for d in deliveries if d.at < 0]:
            self._held[(session.number, _hashable(frame["id"]))] = _Held(serial, waiting)
        return sorted((d for d in deliveries if d.at >= 0), key=lambda d: d.at)

    def _possible(self, action: Action, asked: Asked, step: Step, session: _Session) -> Action:
        """The answer of the step, or `ok` at the same moment where this request cannot have it."""
        if action == OK:
            return action
        reason = why_inapplicable(action.name, step.method, asked.version, session.transport)
        reason = reason or answers.why_undeliverable(action, asked)
        if reason is None:
            return action
        self.undelivered.append(reason)
        return Action(OK.name, at=action.at)

    def _asked(self, session: _Session, frame: Frame, start: float, ok_result: Frame | None, ticket: Ticket) -> Asked:
        params = frame.get("params")
        params = params if isinstance(params, dict) else {}
        tool, arguments = None, None
        plain: Frame | tuple[int, str | None, Any] | None = None
        if frame["method"] == "tools/call":
            tool = next((t for t in self._tools(start) if t.name == params.get("name")), None)
            given = params.get("arguments")
            arguments = given if isinstance(given, dict) else {}
            if tool is None:
                plain = (wire.INVALID_PARAMS, f"Unknown tool: {params.get('name')}", None)
        else:
            plain = self._plain(session, frame, params, start, ticket.step.answer)
        base = self.case.outputs.get(tool.name) if tool else None
        return Asked(frame["id"], ticket.serial, session.version, tool, arguments, base, ok_result, plain)

    def _tools(self, now: float) -> tuple[Any, ...]:
        changed = self._changed_at is not None and now >= self._changed_at
        return self.case.changed if changed and self.case.changed is not None else self.case.tools

    def _plain(
        self, session: _Session, frame: Frame, params: Frame, start: float, answer: Action
    ) -> Frame | tuple[int, str | None, Any]:
        """What `ok` means for every method but `tools/call`."""
        stateless = era_of(self.case.protocol) == "stateless"
        match frame["method"]:
            case "initialize" if stateless:
                asked = params.get("protocolVersion")
                data = {"supported": list(STATELESS_VERSIONS), "requested": str(asked)}
                return wire.UNSUPPORTED_VERSION, None, data
            case "initialize":
                session.version = wire.negotiated(params.get("protocolVersion"), self.case.protocol)
                return wire.initialize_result(session.version)
            case "server/discover" if stateless:
                return wire.discover_result(session.version)
            case "tools/list":
                return pages.page(self._tools(start), params.get("cursor"), session.version, answer.name)
            case "subscriptions/listen" if stateless:
                return {"_meta": {wire.META_SUBSCRIPTION: frame["id"]}, "resultType": "complete"}
            case "ping" if not stateless:
                return {}
            case "logging/setLevel" if not stateless:
                return {}
            case _:
                return wire.METHOD_NOT_FOUND, None, None

    # -- deliveries ------------------------------------------------------------------------------------------------

    def _sequence(self, session: _Session, around: Around, step: Step) -> Iterator[Delivery]:
        """Extras beside the answer, the answer, extras behind it; times are still relative to the request."""
        within = list(self._extras(step, "within", session))
        for extra in self._extras(step, "beside", session):
            yield from extras.play(extra, around)
        if step.method == "listen" and around.answer.name == OK.name and era_of(self.case.protocol) == "stateless":
            around = around._replace(reply=Reply())
            for extra in within:
                yield from extras.play(extra, around)
            yield from self._acknowledge(session, around)
        elif within:
            yield from extras.play(within[0], around)
        else:
            yield from of_answer(around.answer, around.reply, around.own)
        for extra in self._extras(step, "behind", session):
            yield from extras.play(extra, around)

    def _extras(self, step: Step, place: Place, session: _Session) -> Iterator[Action]:
        """The extras at a place that the version and the transport can carry; a reason why not is kept."""
        for extra in step.extras:
            if extra.fault.place == place:
                reason = why_inapplicable(extra.name, step.method, session.version, session.transport)
                if reason:
                    self.undelivered.append(reason)
                else:
                    yield extra

    def _acknowledge(self, session: _Session, around: Around) -> Iterator[Delivery]:
        """A `subscriptions/listen` stream opens with an acknowledgement and stays open."""
        frame = around.frame
        params = frame.get("params") or {}
        wanted = params.get("notifications") if isinstance(params, dict) else None
        tools = bool(isinstance(wanted, dict) and wanted.get("toolsListChanged"))
        session.subscriptions[_hashable(frame["id"])] = tools
        acknowledgement = wire.acknowledged(frame["id"], {"toolsListChanged": True} if tools else {})
        yield due(around.answer.at, frame=acknowledgement, action=around.own)

    def _next_id(self) -> str:
        self._asked_client += 1
        return f"server-{self._asked_client}"

    def _timed(self, delivery: Delivery, session: _Session, start: float, serial: int) -> Delivery:
        """The delivery at its absolute time; one that waits for a cancellation keeps the time -1."""
        at, kind, _, _, frame, line, action, answer, data = delivery
        if at >= 0:
            at = start + at if kind == "cancel" else self.unblocked(start + at)
            self._takes_effect(delivery, session, at)
        # `_replace` takes several times as long, and a script may ask for thousands.
        return Delivery(at, kind, session.number, serial, frame, line, action, answer, data)

    def _takes_effect(self, delivery: Delivery, session: _Session, at: float) -> None:
        """What is different for later requests from this delivery on."""
        if delivery.kind == "close":
            session.closes = min(session.closes, at)
        if delivery.action is not None and "changes" in delivery.action.fault.ways:
            self._changed_at = at if self._changed_at is None else min(self._changed_at, at)

    def unblocked(self, at: float) -> float:
        """The moment from `at` on at which the server next handles anything."""
        for begin, end in sorted(self._blocks) if self._blocks else ():
            if begin <= at < end:
                at = end
        return at

    # -- cancellation ----------------------------------------------------------------------------------------------

    def _on_notification(self, session: _Session, frame: Frame, start: float) -> list[Delivery]:
        params = frame.get("params")
        if frame["method"] != "notifications/cancelled" or not isinstance(params, dict):
            return []
        name = _hashable(params.get("requestId"))
        held = self._held.pop((session.number, name), None)
        session.subscriptions.pop(name, None)
        if held is None:
            return []
        released = []
        for d in held.deliveries:
            self._takes_effect(d, session, start)
            released.append(d._replace(at=start))
        return released


def _hashable(value: Any) -> Any:
    return value if isinstance(value, (str, int)) else repr(value)


def _delays(action: Action, answer: Action) -> bool:
    """Whether the silence before a late answer is what happens, also where the answer comes too late to be sent."""
    return action is answer and seconds(action.at) > 0
