"""The memory transport: the fake server runs inside the client's `send()`.

No server task: answers that are due now are in the read stream before `send()` returns, later ones are timers.
`connect()` is an async context manager of `(read, write)`, and `lines()` is the same for clients without the SDK, with
text in place of the SDK's messages.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from threading import get_ident
from typing import Any, NoReturn, Protocol

import anyio
from anyio.abc import Process

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.script import Action
from fuzzmcp.core.trace import Event
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.harness.server import Delivery, FakeServer
from fuzzmcp.harness.tasks import ANY_LOOP, Settled, Waits
from fuzzmcp.harness.transports.attribution import Askers
from fuzzmcp.harness.transports.streams import LINES, MESSAGES, Form, Inbox, Outbox


class Clock(Protocol):
    """What the transport needs of the virtual clock."""

    def now(self) -> float: ...
    def call_at(self, when: float, callback: Callable[[], None]) -> Any: ...
    def on_loop(self, callback: Callable[[], None]) -> None: ...
    def fail(self, fault: BaseException) -> None: ...


_FAREWELLS = 100
"""Notifications and replies that a client gets rid of after its last frame, as it takes back what it has asked."""


class MemoryWire:
    """Joins one fake server to one client, and records every frame with its virtual time.

    Args:
        fake: The server.
        clock: The virtual clock.
        stacks: Takes the client's code locations.
        calls: The workload's calls, to find a request's call by its arguments when its context says nothing.
        frame_budget: Frames that the client may send; `on_budget` is called when they are used up, and who sends
            another request then never gets to send more.
        on_cancel: Called when the script says that the caller cancels a call; says whether there was one to cancel.
        ask: Asks a real server behind the fake for a result.
        waits: How the loop of the run waits.
    """

    def __init__(
        self,
        fake: FakeServer,
        clock: Clock,
        stacks: Stacks,
        *,
        calls: tuple[Call, ...] = (),
        frame_budget: int = 1_000,
        on_budget: Callable[[], None] = lambda: None,
        on_cancel: Callable[[int | None], bool] = lambda call: False,
        ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]] | None = None,
        waits: Waits = ANY_LOOP,
    ) -> None:
        self.events: list[Event] = []
        self.streams: list[tuple[Inbox, Any]] = []
        """Both ends of each connection; the second is an `Outbox`, or the stdin of a fake process."""
        self.processes: list[Any] = []
        self.stacks = stacks
        self.ours = Ours(lambda fault: clock.fail(fault), fake.case)
        """A block of this module's own code: what goes wrong in it is not the client's fault."""
        self._fake, self._clock = fake, clock
        self.calls, self._left = calls, frame_budget
        self._on_budget, self._on_cancel, self._ask = on_budget, on_cancel, ask
        self._waits = waits
        self._call_of: dict[int, int | None] = {}
        self._own_calls: dict[str, int] = {}
        self._due: dict[int, Delivery] = {}
        self._askers: dict[int, Askers] = {}
        self._end_blocks: Callable[[MemoryWire], None] | None = None
        self._thread = get_ident()
        self.uncancelled = ""  # why the caller has not cancelled a call that was there to cancel

    @property
    def closed_by_server(self) -> bool:
        """Whether the server has closed the last connection: one that the client closed is its own affair."""
        return bool(self.streams) and self.streams[-1][1].dropped

    @property
    def case(self) -> Case:
        """The case as it is played: over `stdio` as soon as the client has started a process, whatever it says."""
        case = self._fake.case
        return replace(case, transport="stdio") if self.processes and case.transport != "stdio" else case

    def connect(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        """A new connection to the same fake: what SDK 2.x calls a Transport.

        In a case whose transport is `stdio` it is made by the SDK's stdio client, with a fake process behind it.
        """
        if self._fake.case.transport == "stdio":
            from fuzzmcp.harness.transports.sdk_stdio import over_stdio

            return over_stdio(self)
        return self._connected(MESSAGES)

    def lines(self) -> AbstractAsyncContextManager[tuple[Inbox, Outbox]]:
        """The same for a client without the SDK: every item is a line of text, one JSON text each, as over stdio."""
        return self._connected(LINES)

    def process(self) -> AbstractContextManager[None]:
        """A block in which the SDK's stdio client, whoever uses it and in whichever thread, starts a fake process.

        For frameworks that start their server themselves: the command that they are given is never run.
        """
        from fuzzmcp.harness.transports.sdk_stdio import end_blocks_of, process_of

        self._end_blocks = end_blocks_of
        return process_of(self)

    async def open_process(self, *_: Any, **__: Any) -> Process:
        """A fake child process, for a client that starts its server itself: in place of `anyio.open_process`."""
        from fuzzmcp.harness.transports.fake_process import open_process

        return await open_process(self)

    def transport(self, *_: Any) -> NoReturn:
        """Not here but on an `Upstream`: say so to a function of an HTTP backend that was taken for an MCP client."""
        hint = "a function of an HTTP backend says so by its parameter's annotation, as 'backend: Upstream'"
        raise TypeError(f"this is an MCP server, with connect(), lines() and process(): {hint}")

    adapter = transport

    @asynccontextmanager
    async def _connected(self, form: Form) -> AsyncIterator[tuple[Inbox, Outbox]]:
        inbox = Inbox(form, self.event)
        connection = self.attach(inbox, lambda connection: Outbox(self, connection, form))
        outbox = self.streams[connection][1]
        try:
            yield inbox, outbox
        finally:
            outbox.close()
            inbox.close()

    def attach(
        self, inbox: Inbox, outbox: Callable[[int], Any], transport: str = "memory", askers: Askers | None = None
    ) -> int:
        """Open a connection that ends in `inbox` and in what `outbox` makes of its number, which is returned.

        Args:
            inbox: What the client reads.
            outbox: Makes what it writes to.
            transport: How they are joined.
            askers: Tells whose request is written, where neither context nor stack of the writer do.
        """
        with self.ours:
            connection = self._fake.connect(transport)
            self.streams.append((inbox, outbox(connection)))
            if askers is not None:
                self._askers[connection] = askers
            self.note("open", connection=connection)
            return connection

    @property
    def event(self) -> Callable[[], Settled]:
        """Makes an event for the loop that opens a connection, in whatever thread: the main one can set it."""
        if get_ident() == self._thread:
            return self._waits.event
        from fuzzmcp.harness.transports.other_thread import ThreadEvent

        return ThreadEvent

    def played(self) -> tuple[tuple[int, Action], ...]:
        """What of the script has happened: the number of the request, and the action."""
        seen = dict.fromkeys(self._fake.played)
        for event in self.events:
            if event.action is not None and event.request is not None:
                seen[(event.request, event.action)] = None
        return tuple(sorted(seen, key=lambda pair: pair[0]))

    def undelivered(self) -> tuple[str, ...]:
        """One sentence for each part of the script that could not be delivered."""
        reasons = (*self.case.inapplicable, *self._fake.undelivered, *self._fake.still_held(), *self.unsent())
        return tuple(dict.fromkeys(reasons))

    def unsent(self) -> tuple[str, ...]:
        """Parts of the script that were due later than the connection, or the run, lasted."""
        parts = {(id(d.action), d.kind): d for d in self._due.values() if d.action is not None}  # of thousands, maybe
        ended = "the connection or the run had ended before it was due"
        return tuple(f"{d.action}: {(d.kind == 'cancel' and self.uncancelled) or ended}" for d in parts.values())

    def dissolve(self) -> None:
        """The run is over: let go of what was recorded, for leftovers of the client may hold its streams for long."""
        if self._end_blocks is not None:
            self._end_blocks(self)
        self.events, self.streams, self.processes, self._askers = [], [], [], {}
        self._due, self._call_of, self._own_calls = {}, {}, {}
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
                        with self.stacks.serving(self._call(frame) if context is None else context):
                            result = await self._asked(self._ask, frame.get("params") or {})
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

    async def _asked(self, ask: Callable[[dict[str, Any]], Awaitable[Any]], parameters: dict[str, Any]) -> Any:
        if get_ident() == self._thread:
            return await ask(parameters)
        from fuzzmcp.harness.transports.other_thread import ask_at_home

        return await ask_at_home(self._clock, ask, parameters)

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
            if connection in self._askers:
                call, site, loop = self._askers[connection].who_asks(frame)
            else:
                call = self._call(frame)
                ours = call if frame["method"] == "tools/call" else None
                site, loop = self.stacks.take(ours, context_known=CALL.get() is not None)
            self._call_of[serial] = call
            self.events.append(Event(now, "request", connection, call, serial, frame, site=site, loop=loop))
        return self._left >= 0

    def _call(self, frame: dict[str, Any]) -> int | None:
        """The call of a request: from its context; an agent's own calls, and lost contexts, by tool and arguments."""
        call = CALL.get()
        params = frame.get("params")
        if frame["method"] != "tools/call" or not isinstance(params, dict):
            return call
        if self.calls and call is not None:
            return call
        tool, arguments = params.get("name"), params.get("arguments") or {}
        if self.calls:
            same = [n for n, c in enumerate(self.calls) if c.tool == tool and dict(c.arguments) == arguments]
            return same[0] if same else None
        return self.own_call(tool, arguments)

    def own_call(self, tool: Any, arguments: Any) -> int:
        """The number of a call that an agent makes by itself."""
        given = sorted(map(repr, arguments.items())) if isinstance(arguments, dict) else arguments  # whatever it sent
        return self._own_calls.setdefault(f"{tool} {given}", len(self._own_calls))

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
