"""Synchronous code in virtual time: the loop turns in a thread of its own, and the calling thread lives in its time."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Iterator

from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.clock.base import GRACE, RunOver, real_start
from fuzzmcp.harness.clock.internals import outside_of_any_loop
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread
from fuzzmcp.harness.clock.thread_registry import current
from fuzzmcp.harness.clock.threads import at_work
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.upstream.sessions import Session, register, registration_now

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
    if current() is not None:
        yield registration_now().loop_run.now
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
        self._managed: ManagedThread | None = None
        self._ready = threading.Event()
        self._loop_run: LoopRun | None = None
        self._done: asyncio.Event | None = None
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._turn, name="fuzzmcp upstream", daemon=True)
        self.clock = VirtualClock(on_idle=self._look_again, on_task=session.stacks.task_started)

    def start(self) -> None:
        """Return when the loop turns."""
        real_start(self._thread)
        self._ready.wait()

    @contextlib.contextmanager
    def living(self) -> Iterator[None]:
        """The calling thread lives in the time of the run, and the run ends with the block."""
        loop_run, managed, token = self._loop_run, self._managed, CALL.set(0)
        assert loop_run is not None
        assert managed is not None
        try:
            with at_work(loop_run, managed):
                try:
                    yield
                finally:
                    if self._done is not None:
                        loop_run.post(self._done.set)
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
        loop_run = registration_now().loop_run
        register(loop_run, self._session)
        self._loop_run, self._done = loop_run, asyncio.Event()
        self._managed = loop_run.ensure_scheduler().register(GRACE, name=threading.current_thread().name)
        self._ready.set()
        await self._done.wait()

    def _look_again(self) -> None:
        """Nothing can happen any more, unless the calling thread is merely at work for long."""
        if self._managed is not None and self._managed.preempted:
            self._managed.patience = GRACE


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Jitter that repeats: `random` starts from the same seed, and goes on afterwards where it was."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)
