"""Joins one client to one fake server: routes, records and counts what goes over their connections.

The fake server runs inside the client's `send()`. There is no server task: answers that are due now are in the read
stream before `send()` returns, later ones are timers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT
from fuzzmcp.core.trace import Event
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.harness.server import Delivery, FakeServer
from fuzzmcp.harness.tasks import ANY_LOOP, Waits
from fuzzmcp.harness.transports.attribution import CallAttribution, WriterAttribution
from fuzzmcp.harness.transports.other_thread import MainThread
from fuzzmcp.harness.transports.streams import Inbox, WriteEnd

End = TypeVar("End", bound=WriteEnd)


class Clock(Protocol):
    """What a wire needs of the virtual clock."""

    def now(self) -> float: ...
    def call_at(self, when: float, callback: Callable[[], None]) -> Any: ...
    def on_loop(self, callback: Callable[[], None]) -> None: ...


_FAREWELLS = 100
"""Cancellations and replies that a client may still send after its frame budget is spent."""


class Wire:
    """Joins one fake server to one client, and records every message with its virtual time.

    Args:
        fake: The server.
        clock: The virtual clock.
        stacks: Takes the client's code locations.
        ours: A block of fuzzmcp's own code: what goes wrong in it is not the client's fault.
        calls: The workload's calls, to find a request's call by its arguments when its context says nothing.
        frame_budget: Messages that the client may send; `on_budget` is called when they are used up, and a client that
            sends another request then never gets to send more.
        on_cancel: Called when the script says that the caller cancels a call; says whether there was one to cancel.
        ask: Asks a real server behind the fake for a result.
        waits: How the loop of the run waits.
    """

    def __init__(
        self,
        fake: FakeServer,
        clock: Clock,
        stacks: Stacks,
        ours: Ours,
        *,
        calls: tuple[Call, ...] = (),
        frame_budget: int = 1_000,
        on_budget: Callable[[], None] = lambda: None,
        on_cancel: Callable[[int | None], bool | None] = lambda call: False,
        ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] | None = None,
        waits: Waits = ANY_LOOP,
    ) -> None:
        self.events: list[Event] = []
        self.streams: list[tuple[Inbox, WriteEnd]] = []
        """Both ends of each connection."""
        self.stacks, self.ours = stacks, ours
        self.attribution = CallAttribution(self.events, calls, stacks)
        self.main_thread = MainThread(clock, waits)
        self.uncancelled = ""  # why the caller has not cancelled a call that was there to cancel
        self._fake, self._clock, self._waits = fake, clock, waits
        self._left = frame_budget
        self._on_budget, self._on_cancel, self._ask = on_budget, on_cancel, ask
        self._transport = fake.case.transport
        self._writers: dict[int, WriterAttribution] = {}
        self._call_of: dict[int, int | None] = {}
        self._due: dict[int, Delivery] = {}

    @property
    def closed_by_server(self) -> bool:
        """Whether the server has closed the last connection: one that the client closed is its own affair."""
        return bool(self.streams) and self.streams[-1][1].dropped

    @property
    def case(self) -> Case:
        """The case as it is played: a client that joins itself by another transport is over that, whatever it says."""
        case = self._fake.case
        return case if case.transport == self._transport else replace(case, transport=self._transport)

    def attach(
        self,
        inbox: Inbox,
        write_end: Callable[[int], End],
        transport: str = DEFAULT_TRANSPORT,
        attribution: WriterAttribution | None = None,
    ) -> tuple[End, int]:
        """Open a connection, and return what the client writes to, with the connection's number.

        Args:
            inbox: What the client reads.
            write_end: Makes what it writes to, of the number.
            transport: How they are joined. Streams of messages, which any client may ask for, change no case.
            attribution: Says whose request is written, where neither context nor stack of the writer do.
        """
        with self.ours:
            connection = self._fake.connect(transport)
            end = write_end(connection)
            self.streams.append((inbox, end))
            if transport != DEFAULT_TRANSPORT:
                self._transport = transport
            if attribution is not None:
                self._writers[connection] = attribution
            self.note("open", connection=connection)
            return end, connection

    def unsent(self) -> tuple[str, ...]:
        """Parts of the script that were due later than the connection, or the run, lasted."""
        parts = {(id(d.action), d.kind): d for d in self._due.values() if d.action is not None}  # of thousands, maybe
        ended = "the connection or the run had ended before it was due"
        return tuple(f"{d.action}: {(d.kind == 'cancel' and self.uncancelled) or ended}" for d in parts.values())

    def dissolve(self) -> None:
        """The run is over: let go of what was recorded, for leftovers of the client may hold its streams for long."""
        self.events, self.streams, self._writers, self._due, self._call_of = [], [], {}, {}, {}
        self.attribution.forget()
        self._on_budget, self._on_cancel, self._ask = lambda: None, lambda call: False, None

    def note(self, kind: Any, **facts: Any) -> None:
        """Record something that is no frame."""
        self.events.append(Event(self._clock.now(), kind, **facts))

    def hung_up(self, connection: int) -> None:
        """The client closed its side."""
        with self.ours:
            self.note("hang_up", connection=connection)

    def free_at(self) -> float | None:
        """The moment at which the server will handle something again, or None where it is not blocked now."""
        now = self._clock.now()
        free = self._fake.unblocked(now)
        return free if free > now else None

    def at(self, when: float, callback: Callable[[], None]) -> None:
        """Do something of fuzzmcp's own at a virtual second."""

        def ours() -> None:
            with self.ours:
                callback()

        self._clock.call_at(when, ours)

    async def send(self, connection: int, frame: Any) -> None:
        """One message of the client: record it, run the server, and deliver what is due."""
        heard = False
        try:  # no block and no function of its own: each message would pay for it
            now = self._clock.now()
            if self._record_sent(connection, frame, now):
                heard = True
                ticket, result = None, None
                if self._ask is not None and isinstance(frame, dict) and frame.get("method") == "tools/call":
                    ticket = self._fake.take(frame)
                    if ticket.wants_ok:
                        context = CALL.get()
                        with self.stacks.serving(self.attribution.call_of(frame) if context is None else context):
                            result = await self.main_thread.ask(self._ask, frame.get("params") or {})
                for delivery in self._fake.receive(frame, now, connection, result, ticket):
                    self._due[id(delivery)] = delivery
                    if delivery.at <= now:
                        self._deliver(delivery)
                    else:
                        self._clock.call_at(delivery.at, partial(self._deliver_later, delivery))
            else:
                self._on_budget()
        except Exception as error:
            self.ours.failed(error)
            raise
        if not heard and (self._left < -_FAREWELLS or self.events[-1].kind not in ("notify", "reply")):
            await anyio.sleep_forever()
        await self._waits.checkpoint()

    def _record_sent(self, connection: int, frame: Any, now: float) -> bool:
        self._left -= 1
        if not isinstance(frame, dict):
            self.events.append(Event(now, "junk", connection, CALL.get(), text=repr(frame)[:200]))
        elif "method" not in frame:
            self.events.append(Event(now, "reply", connection, CALL.get(), frame=frame))
        elif "id" not in frame:
            self.events.append(Event(now, "notify", connection, CALL.get(), frame=frame))
        else:
            serial = self._fake.serial + 1
            call, site, loop = self._writers.get(connection, self.attribution).of_request(frame)
            self._call_of[serial] = call
            self.events.append(Event(now, "request", connection, call, serial, frame, site=site, loop=loop))
        return self._left >= 0

    def _deliver_later(self, d: Delivery) -> None:
        """`_deliver` for the clock to call: below no `send` that would see what goes wrong."""
        try:
            self._deliver(d)
        except Exception as error:
            self.ours.failed(error)
            raise

    def _deliver(self, d: Delivery) -> None:
        now, call = self._clock.now(), self._call_of.get(d.request)
        if d.kind == "cancel":
            if self._on_cancel(call) and d.action is not None:
                del self._due[id(d)]
                self._fake.played.append((d.request, d.action))
            return
        inbox, outbox = self.streams[d.connection]
        if outbox.broken:
            return
        if inbox.held is not None and d.kind != "rest":
            inbox.held.append(d)
            return
        free = self._fake.unblocked(now)
        if free > now:
            self._clock.call_at(free, partial(self._deliver_later, d))
            return
        del self._due[id(d)]
        text = "" if d.kind == "frame" else d.line
        kind: Any = "close" if d.kind == "close" else "deliver"
        self.events.append(Event(now, kind, d.connection, call, d.request, d.frame, text, d.action, d.answer))
        match d.kind:
            case "close":
                outbox.drop(d.action)
                inbox.end()
            case "line":
                inbox.put(inbox.form.of_line(d.line))
            case "bytes":
                inbox.held = None if d.data.endswith(b"\n") else []
                inbox.put(d.data)
            case "rest":
                inbox.put(d.data)
                waited, inbox.held = inbox.held or [], None
                for other in waited:
                    self._deliver(other)
            case _:
                inbox.put(inbox.form.of_frame(d.frame or {}))
