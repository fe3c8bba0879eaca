"""The fake server, sans-IO: a frame and a time in, timed deliveries out. No async, no I/O, no clock of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fuzzmcp.core.case import Case
from fuzzmcp.core.faults import why_inapplicable
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, METHODS, STATELESS_VERSIONS, era_of
from fuzzmcp.core.script import OK, PLAIN, Action, Step
from fuzzmcp.harness.server import answers, pages, split, wire
from fuzzmcp.harness.server.answers import Asked, Reply
from fuzzmcp.harness.server.deliveries import Delivery, due, moment, of_answer, seconds
from fuzzmcp.harness.server.wire import Frame

_FOREIGN_LINE = "WARNUNG: Größe überschritten\n"
_NOTHING_TO_SPLIT = "split: there is no answer to split"
_SCRIPT_METHOD = {wire_name: name for name, wire_name in METHODS.items()}


class Ticket(NamedTuple):
    """A request that was counted in: its serial number and the step that it takes."""

    serial: int
    scripted: bool
    step: Step

    @property
    def wants_ok(self) -> bool:
        """Whether its answer is made of an `ok` result: then a real server behind the fake has to be asked for one."""
        return self.step.answer.name in ("ok", "strid", "batch", "truncated")


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
        self._ticket = Ticket(0, False, PLAIN["call"])

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
        self._ticket = ticket or self.take(frame)
        return self._on_request(session, frame, start, ok_result)

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
            f"{d.action or 'late'}: the client never cancelled request {held.serial} on the wire"
            for held in self._held.values()
            for d in held.deliveries
        )

    # -- requests --------------------------------------------------------------------------------------------------

    def _on_request(self, session: _Session, frame: Frame, start: float, ok_result: Frame | None) -> list[Delivery]:
        name = _SCRIPT_METHOD.get(frame["method"]) if isinstance(frame["method"], str) else None
        serial, scripted, step = self._ticket
        if step.plain and name != "listen":  # most requests
            reply = answers.build(OK, self._asked(session, frame, start, ok_result))
            return [Delivery(start, "frame", session.number, serial, reply.frame, answer=reply.answer)]
        for extra in step.extras:
            if extra.name == "block":
                begin = start + seconds(extra.at)
                end = begin + float(extra.value)  # type: ignore[arg-type]
                self._blocks.append((moment(begin), moment(end)))
        asked = self._asked(session, frame, start, ok_result)
        answer = self._possible(step.answer, asked, name, session)
        if scripted and not step.plain:
            self.steps.append((serial, step))
        silently = (answer, *step.extras) if scripted else ()
        self.played += [(serial, a) for a in silently if a.name in ("hang", "block") or _delays(a, answer)]
        reply = answers.build(answer, asked)
        deliveries = [
            self._timed(d, session, start) for d in self._sequence(session, frame, asked, answer, reply, step, scripted)
        ]
        self._hold(session, frame, [d for d in deliveries if d.at < 0])
        return sorted((d for d in deliveries if d.at >= 0), key=lambda d: d.at)

    def _possible(self, action: Action, asked: Asked, name: str | None, session: _Session) -> Action:
        reason = None
        if name and action != OK:
            reason = why_inapplicable(action.name, name, asked.version, session.transport)
        reason = reason or (answers.why_undeliverable(action, asked) if action != OK else None)
        if reason is None:
            return action
        self.undelivered.append(reason)
        return Action("ok", at=action.at)

    def _asked(self, session: _Session, frame: Frame, start: float, ok_result: Frame | None) -> Asked:
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
            plain = self._plain(session, frame, params, start)
        base = self.case.outputs.get(tool.name) if tool else None
        return Asked(frame["id"], self._ticket.serial, session.version, tool, arguments, base, ok_result, plain)

    def _tools(self, now: float) -> tuple[Any, ...]:
        changed = self._changed_at is not None and now >= self._changed_at
        return self.case.changed if changed and self.case.changed is not None else self.case.tools

    def _plain(
        self, session: _Session, frame: Frame, params: Frame, start: float
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
                mode = self._ticket.step.answer.name
                return pages.page(self._tools(start), params.get("cursor"), session.version, mode)
            case "subscriptions/listen" if stateless:
                return {"_meta": {wire.META_SUBSCRIPTION: frame["id"]}, "resultType": "complete"}
            case "ping" if not stateless:
                return {}
            case "logging/setLevel" if not stateless:
                return {}
            case _:
                return wire.METHOD_NOT_FOUND, None, None

    # -- deliveries ------------------------------------------------------------------------------------------------

    def _sequence(
        self,
        session: _Session,
        frame: Frame,
        asked: Asked,
        answer: Action,
        reply: Reply,
        step: Step,
        scripted: bool,
    ) -> Iterator[Delivery]:
        """Extras before the answer, the answer, extras after it; times are still relative to the request."""
        listens = frame["method"] == "subscriptions/listen" and era_of(self.case.protocol) == "stateless"
        own = answer if scripted and answer != OK else None
        splits = [extra for extra in step.extras if extra.name == "split" and self._applies(extra, frame, session)]
        for extra in step.extras:
            if extra.name == "orphan":
                stray = answers.foreign(asked)
                yield due(extra.at, frame=stray.frame, action=extra, answer=stray.answer)
            elif extra.name not in ("dup", "progress_after", "split"):
                yield from self._extra(session, frame, extra)
        if listens and answer.name == "ok":
            reply = Reply()
            self.undelivered += [_NOTHING_TO_SPLIT for _ in splits]
            yield from self._acknowledge(session, frame, answer, own)
        elif splits:
            yield from self._split(answer, reply, own, splits[0])
        else:
            yield from of_answer(answer, reply, own)
        for extra in step.extras:
            at = extra.at if extra.at is not None else answer.at
            if extra.name == "dup":
                if reply.frame is None and reply.line is None:
                    self.undelivered.append("dup: there is no answer to repeat")
                else:
                    yield due(at, frame=reply.frame, line=reply.line or "", action=extra, answer=reply.answer)
            elif extra.name == "progress_after":
                yield due(at, frame=wire.progress(_token(frame), 1), action=extra)

    def _acknowledge(self, session: _Session, frame: Frame, answer: Action, own: Action | None) -> Iterator[Delivery]:
        """A `subscriptions/listen` stream opens with an acknowledgement and stays open."""
        params = frame.get("params") or {}
        wanted = params.get("notifications") if isinstance(params, dict) else None
        tools = bool(isinstance(wanted, dict) and wanted.get("toolsListChanged"))
        session.subscriptions[_hashable(frame["id"])] = tools
        acknowledgement = wire.acknowledged(frame["id"], {"toolsListChanged": True} if tools else {})
        yield due(answer.at, frame=acknowledgement, action=own)

    def _extra(self, session: _Session, frame: Frame, extra: Action) -> Iterator[Delivery]:
        if not self._applies(extra, frame, session):
            return
        match extra.name:
            case "log":
                yield from self._log(session, frame, extra)
            case "progress":
                token = _token(frame)
                for i in range(int(extra.value)):  # type: ignore[arg-type]
                    at = extra.at if isinstance(extra.at, str) else seconds(extra.at) + i
                    yield due(at, frame=wire.progress(token, i + 1), action=extra)
            case "ping" | "sampling" | "elicit" | "roots":
                self._asked_client += 1
                request_id = f"server-{self._asked_client}"
                yield due(extra.at, frame=wire.server_request(extra.name, request_id), action=extra)
            case "noise":
                yield due(extra.at, line="WARNING: connection pool is full", action=extra)
            case "badutf8":
                data = _FOREIGN_LINE.encode("latin-1")
                shown = data.decode(errors="backslashreplace").rstrip()
                yield due(extra.at, "bytes", line=shown, action=extra, data=data)
            case "list_changed":
                yield from self._list_changed(session, extra)
            case "server_cancel":
                params = {"requestId": frame["id"], "reason": "the server gave up"}
                yield due(extra.at, frame=wire.notification("notifications/cancelled", params), action=extra)
            case "cancel":
                yield due(extra.at, kind="cancel", action=extra)

    def _applies(self, extra: Action, frame: Frame, session: _Session) -> bool:
        """Whether the version and the transport can carry an extra; a reason why not is kept."""
        reason = why_inapplicable(extra.name, _SCRIPT_METHOD[frame["method"]], session.version, session.transport)
        if reason:
            self.undelivered.append(reason)
        return reason is None

    def _split(self, answer: Action, reply: Reply, own: Action | None, extra: Action) -> Iterator[Delivery]:
        """The answer in two pieces, as bytes."""
        if reply.frame is None and reply.line is None:
            self.undelivered.append(_NOTHING_TO_SPLIT)
            yield from of_answer(answer, reply, own)
            return
        frame, head, rest = split.split(reply.frame, reply.line)
        shown = head.decode(errors="backslashreplace")
        yield due(answer.at, "bytes", line=shown, action=extra, data=head)
        at = split.moment_of_rest(answer.at, extra.at)
        yield due(at, "rest", frame=frame, line=reply.line or "", action=own, answer=reply.answer, data=rest)

    def _log(self, session: _Session, frame: Frame, extra: Action) -> Iterator[Delivery]:
        params = frame.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if era_of(session.version) == "stateless" and not (isinstance(meta, dict) and wire.META_LOG_LEVEL in meta):
            self.undelivered.append("log: the request asked for no log level, so the server must not send any")
        else:
            yield due(extra.at, frame=wire.log_message(), action=extra)

    def _list_changed(self, session: _Session, extra: Action) -> Iterator[Delivery]:
        if era_of(session.version) == "handshake":
            yield due(extra.at, frame=wire.list_changed(), action=extra)
            return
        subscribed = [request_id for request_id, tools in session.subscriptions.items() if tools]
        if not subscribed:
            self.undelivered.append("list_changed: the client has no open subscription for it")
        for request_id in subscribed:
            yield due(extra.at, frame=wire.list_changed(request_id), action=extra)

    def _timed(self, delivery: Delivery, session: _Session, start: float) -> Delivery:
        """The delivery at its absolute time; one that waits for a cancellation keeps the time -1."""
        at, kind, _, _, frame, line, action, answer, data = delivery
        if at >= 0:
            at = start + at if kind == "cancel" else self.unblocked(start + at)
            self._takes_effect(delivery, session, at)
        # `_replace` takes several times as long, and a script may ask for thousands.
        return Delivery(at, kind, session.number, self._ticket.serial, frame, line, action, answer, data)

    def _takes_effect(self, delivery: Delivery, session: _Session, at: float) -> None:
        """What is different for later requests from this delivery on."""
        if delivery.kind == "close":
            session.closes = min(session.closes, at)
        if delivery.action is not None and delivery.action.name == "list_changed":
            self._changed_at = at if self._changed_at is None else min(self._changed_at, at)

    def unblocked(self, at: float) -> float:
        """The moment from `at` on at which the server next handles anything."""
        for begin, end in sorted(self._blocks) if self._blocks else ():
            if begin <= at < end:
                at = end
        return at

    # -- cancellation ----------------------------------------------------------------------------------------------

    def _hold(self, session: _Session, frame: Frame, waiting: list[Delivery]) -> None:
        if waiting:
            self._held[(session.number, _hashable(frame["id"]))] = _Held(self._ticket.serial, waiting)

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


def _token(frame: Frame) -> Any:
    params = frame.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return frame["id"] if token is None else token


def _delays(action: Action, answer: Action) -> bool:
    """Whether the silence before a late answer is what happens, also where the answer comes too late to be sent."""
    return action is answer and seconds(action.at) > 0
