"""What the upstreams know of each run: one session, with its script, its requests and what is left of its budget."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fuzzmcp.core.errors import CANNOT_RUN, FuzzmcpError
from fuzzmcp.core.script import Script, Step
from fuzzmcp.core.trace import Loop, Site
from fuzzmcp.harness.clock import LoopRun, Registration, current
from fuzzmcp.harness.observe.stacks import CALL, STACKS, Stacks
from fuzzmcp.upstream.record import Exchange


class NoVirtualTime(FuzzmcpError, RuntimeError):
    """An upstream was asked outside of any run: it answers in virtual time only."""

    exit_code = CANNOT_RUN

    def __init__(self) -> None:
        super().__init__(
            "no virtual time here: call it inside of fuzzmcp.upstream.run or fuzzmcp.upstream.virtual, and give run an "
            "async function itself (an event loop that is not asyncio's own, such as uvloop's, waits in real time)"
        )


class BudgetSpent(FuzzmcpError, RuntimeError):
    """The code under test sends requests for ever."""

    exit_code = CANNOT_RUN

    def __init__(self, requests: int) -> None:
        super().__init__(f"the budget of {requests:,} requests is spent")


@dataclass(eq=False)
class HttpSession:
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

    def stop(self, loop_run: LoopRun) -> None:
        """End the run, as its budget is spent; on the loop's thread."""
        if self.on_spent is None:
            loop_run.fail(BudgetSpent(self.budget or 0))
        else:
            self.on_spent()

    def end(self) -> None:
        """Let go of the client's frames."""
        self.stacks.clear()

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.budget is not None and self.sent > self.budget


_SESSIONS: weakref.WeakKeyDictionary[LoopRun, weakref.ref[HttpSession]] = weakref.WeakKeyDictionary()
"""Weak on both sides: a client's frame may know its event loop, and so the run that it belongs to."""


def registration_now() -> Registration:
    """The registration of the calling thread with the run that it belongs to.

    Raises:
        NoVirtualTime: It belongs to none.
    """
    registration = current()
    if registration is None:
        raise NoVirtualTime
    return registration


def register(loop_run: LoopRun, session: HttpSession) -> None:
    """Make `session` the one of this run. Whoever drives the run keeps it, and lets go of its frames at the end."""
    _SESSIONS[loop_run] = weakref.ref(session)


def session_of(loop_run: LoopRun) -> HttpSession:
    """The session of a run. One for which nobody has registered any gets one with its own stacks, until it ends."""
    reference = _SESSIONS.get(loop_run)
    session = None if reference is None else reference()
    if session is None:
        session = HttpSession(STACKS.get() or Stacks())
        register(loop_run, session)
        loop_run.at_end(session.end)  # so the run keeps the session, and its frames go with the run
    return session
