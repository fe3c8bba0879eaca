"""Synchronous code in virtual time: the loop turns in a thread of its own, and the calling thread lives in its time."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Iterator

from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.clock.errors import RunOver
from fuzzmcp.harness.clock.internals import outside_of_any_loop
from fuzzmcp.harness.clock.limits import GRACE
from fuzzmcp.harness.clock.loop_run import Timeline
from fuzzmcp.harness.clock.managed import Member
from fuzzmcp.harness.clock.real import real_start
from fuzzmcp.harness.clock.thread_registry import here
from fuzzmcp.harness.clock.threads import at_work
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.upstream.sessions import Session, place_now, register

BUDGET = 1_000
"""HTTP requests that a run may send, all in all."""


@contextlib.contextmanager
def virtual(*, budget: int = BUDGET, stacks: Stacks | None = None) -> Iterator[Callable[[], float]]:
    """Let a block of synchronous code live in virtual time; gives a function that says how late it is.

    Within it, an upstream answers, and `time.sleep` never sleeps for real, also in threads that the block starts; the
    requests belong to call 0. `random` starts from the same seed each time, so that jitter repeats. Inside of a run the
    block uses that run's clock.

    Args:
        budget: HTTP requests that the block may send.
        stacks: Takes the code locations of its requests.

    Raises:
        Deadlock: A request without a timeout waits for an answer that never comes, and nothing else can happen.
        BudgetSpent: The block sent more requests than that.

    >>> import time
    >>> with virtual() as now:
    ...     time.sleep(3600)
    ...     now()
    3600.0
    """
    if here() is not None:
        yield place_now().timeline.now
        return
    stacks = stacks or Stacks()
    beside = _Beside(Session(stacks, 0, budget))
    beside.start()
    try:
        with outside_of_any_loop(), beside.living(), seeded():
            yield beside.clock.now
    except RunOver:  # what the run ended with says why
        if beside.verdict() is None:
            raise
    finally:
        stacks.clear()
    verdict = beside.verdict()
    if verdict is not None:
        raise verdict


class _Beside:
    """A virtual clock on a thread of its own. The calling thread is one of its run's.

    The clock stands still while that thread works. So it may wait for other threads, and those for the clock.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._member: Member | None = None
        self._ready = threading.Event()
        self._timeline: Timeline | None = None
        self._done: asyncio.Event | None = None
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._turn, name="fuzzmcp upstream", daemon=True)
        ours = Ours(lambda fault: self.clock.fail(fault), "synchronous code")
        self.clock = VirtualClock(on_idle=self._look_again, on_task=session.stacks.births(ours))

    def start(self) -> None:
        """Return when the loop turns."""
        real_start(self._thread)
        self._ready.wait()

    @contextlib.contextmanager
    def living(self) -> Iterator[None]:
        """The calling thread lives in the time of the run, and the run ends with the block."""
        timeline, member, token = self._timeline, self._member, CALL.set(0)
        assert timeline is not None
        assert member is not None
        try:
            with at_work(timeline, member):
                try:
                    yield
                finally:
                    if self._done is not None:
                        timeline.post(self._done.set)
        finally:
            CALL.reset(token)
            self._thread.join()

    def verdict(self) -> BaseException | None:
        """How the run ended badly, if it did."""
        return self._fault

    def _turn(self) -> None:
        try:
            self.clock.run(self._main)
        except BaseException as fault:
            self._fault = fault
        finally:
            self._ready.set()

    async def _main(self) -> None:
        timeline = place_now().timeline
        register(timeline, self._session)
        self._timeline, self._done = timeline, asyncio.Event()
        self._member = timeline.crewed().hire(GRACE, name=threading.current_thread().name)
        self._ready.set()
        await self._done.wait()

    def _look_again(self) -> None:
        """Nothing can happen any more, unless the calling thread is merely at work for long."""
        if self._member is not None and self._member.away:
            self._member.patience = GRACE


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Jitter that repeats: `random` starts from the same seed, and goes on afterwards where it was."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)
