"""Whose time it is: each run has one session here, with its script, its requests and what is left of its budget."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from fuzzmcp.core.script import Script, Step
from fuzzmcp.core.trace import Loop, Site
from fuzzmcp.harness.clock.asyncio_loop import AsyncioRun
from fuzzmcp.harness.clock.loop_run import Timeline
from fuzzmcp.harness.clock.thread_registry import Place, here
from fuzzmcp.harness.observe.stacks import CALL, STACKS, Stacks
from fuzzmcp.upstream.record import Exchange


class NoVirtualTime(RuntimeError):
    """An upstream was asked outside of any run: it answers in virtual time only."""

    def __init__(self) -> None:
        super().__init__(
            "no virtual time here: call it inside of fuzzmcp.upstream.run or fuzzmcp.upstream.virtual, and give run an "
            "async function itself (an event loop that is not asyncio's own, such as uvloop's, waits in real time)"
        )


class BudgetSpent(RuntimeError):
    """The code under test sends requests for ever."""

    def __init__(self, requests: int) -> None:
        super().__init__(f"the budget of {requests:,} requests is spent")


@dataclass(eq=False)
class Session:
    """What the upstreams know of one run.

    Args:
        stacks: Takes the client's code locations.
        call: The call of a request whose context names none, as in the threads of a pool.
        budget: Requests that may be sent; None leaves that to whoever drives the run.
        script: What an upstream plays here that has no script of its own.
        context_known: Whether code whose context names no call works for `call` all the same.
        on_spent: What ends the run when the budget is spent; the run fails with `BudgetSpent` when None.
    """

    stacks: Stacks = field(default_factory=Stacks)
    call: int | None = None
    budget: int | None = None
    script: Script | None = None
    context_known: bool = True
    on_spent: Callable[[], None] | None = None
    sent: int = 0
    exchanges: list[Callable[[], Exchange]] = field(default_factory=list)
    _taken: int = 0
    _operations: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def step(self) -> tuple[int | None, Step]:
        """The next step of the run's own script, and its place there."""
        place, step = (self.script or Script()).step_for("call", self._taken)
        self._taken += 1
        return place, step

    def call_now(self) -> int | None:
        """The call that the running code works for."""
        call = CALL.get()
        if call is None:
            call = self.stacks.call_served()
        return self.call if call is None else call

    def operation(self, call: int | None, *asked: Any) -> int:
        """The number of what a request asks for, among the different things that its call has asked for."""
        known = [key for key in self._operations if key[0] == call]
        return self._operations.setdefault((call, *asked), len(known))

    def take(self, call: int | None, operation: int = 0) -> tuple[Site | None, Loop | None]:
        """What `Stacks.take` says of a request. The MCP requests of the same call are counted apart from it."""
        key = None if call is None else ("http", call, operation)
        return self.stacks.take(key, context_known=self.context_known or CALL.get() is not None)

    def stop(self, timeline: Timeline) -> None:
        """End the run, as its budget is spent; on the loop's thread."""
        if self.on_spent is None:
            timeline.fail(BudgetSpent(self.budget or 0))
        else:
            self.on_spent()

    def end(self) -> None:
        """Let go of the client's frames."""
        self.stacks.clear()

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.budget is not None and self.sent > self.budget


_SESSIONS: weakref.WeakKeyDictionary[Timeline, weakref.ref[Session]] = weakref.WeakKeyDictionary()
"""Weak on both sides: a client's frame may know its event loop, and so the run that it belongs to."""


def place_now() -> Place:
    """The place of the calling thread in the run that it belongs to.

    Raises:
        NoVirtualTime: It belongs to none.
    """
    place = here()
    if place is None:
        raise NoVirtualTime
    return place


def register(timeline: Timeline, session: Session) -> None:
    """Make `session` the one of this run. Whoever drives the run keeps it, and lets go of its frames at the end."""
    _SESSIONS[timeline] = weakref.ref(session)


def session_of(timeline: Timeline) -> Session:
    """The session of a run. One for which nobody has registered any gets one with its own stacks, until it ends."""
    reference = _SESSIONS.get(timeline)
    session = None if reference is None else reference()
    if session is None:
        session = Session(STACKS.get() or Stacks())
        register(timeline, session)
        if get_ident() == timeline.thread:
            _keep(timeline, session)
        else:
            timeline.post(_keep, timeline, session)
    return session


def _keep(timeline: Timeline, session: Session) -> None:
    """Let the loop of the run hold the session, and so its frames: with the loop they go."""
    if isinstance(timeline, AsyncioRun):
        timeline.call_at(math.inf, session.end)
        return
    import trio

    class AtTheEnd(trio.abc.Instrument):
        def after_run(self) -> None:
            session.end()

    trio.lowlevel.add_instrument(AtTheEnd())
