"""One run of one event loop, as the loop, the replaced functions and the watchdog share it."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import get_ident
from types import FrameType
from typing import Any, NoReturn, Protocol

from fuzzmcp.harness.clock import base
from fuzzmcp.harness.clock.base import UPTIME, Deadlock, LoopStalled
from fuzzmcp.harness.clock.managed import ManagedThread, Worker
from fuzzmcp.harness.clock.thread_scheduler import ThreadScheduler


@dataclass(frozen=True)
class Blocked:
    """The event loop was blocked: at virtual `at`, for `seconds` (inf: it did not turn any more), by `where`."""

    at: float
    seconds: float
    where: str  # "file.py:12 function"


class Handle(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Never call it. Too late, or twice, does nothing."""


class LoopRun(ABC):
    """What a loop, the replaced functions and the watchdog share about one run.

    A run with one thread has no scheduler. A run with more has one: one thread works at a time, and only the loop's
    thread moves the time. It moves the time when all threads are parked. What they had to tell the loop is in the queue
    of the loop by then.
    """

    on_task: Callable[..., None] | None = None
    on_exception: Callable[[dict[str, Any]], None] | None = None

    def __init__(self, watchdog: float, on_idle: Callable[[], None] | None) -> None:
        self.watchdog = watchdog
        self.main_ident = get_ident()
        self.blocked: list[Blocked] = []
        self.workers: set[Worker] = set()
        self.turns = 0
        self.last_turn = base.SPIN
        self.waiting = False  # in real time, for a worker
        self.idle = False  # while waiting: nothing but the workers could make anything happen
        self.draining = False
        self.over = False
        self.struck = False
        self.fault: BaseException | None = None
        self.scheduler: ThreadScheduler | None = None
        self._on_idle = on_idle
        self._at_end: list[Callable[[], None]] = []
        self._idle_turn = -9
        self._slept: dict[str, int] = {}
        self._slept_turn = self._slept_count = 0

    @abstractmethod
    def monotonic(self) -> float: ...

    @abstractmethod
    def advance(self, seconds: float) -> None: ...

    @abstractmethod
    def call_at(self, when: float, callback: Callable[[], None], *, guard: bool = False) -> Handle: ...

    @abstractmethod
    def post(self, callback: Callable[..., object], *args: object) -> None:
        """Call it on the loop's thread, soon; from any thread; nothing happens when the loop is gone."""

    def changed(self) -> None:  # noqa: B027  (a hook)
        """The workers that hold up the clock may be others now."""

    def now(self) -> float:
        # Rounded: (UPTIME + 0.1) - UPTIME is not 0.1, and a nanosecond is the resolution of a real clock too.
        return round(self.monotonic() - UPTIME, 9)

    def ensure_scheduler(self) -> ThreadScheduler:
        """The scheduler of this run's threads, made when a second thread comes or might come."""
        if self.scheduler is None:
            self.scheduler = ThreadScheduler(self)
        return self.scheduler

    def hurry(self) -> None:  # noqa: B027  (a hook)
        """Let the threads in the queue work soon, also when the loop is busy."""

    # -- the loop's decisions ------------------------------------------------------------------------------------------

    def held(self, *, idle: bool) -> bool:
        return bool(self.workers) and any(worker.holds(idle) for worker in tuple(self.workers))

    def ask_idle(self, quiet_turns: int) -> None:
        """Tell `on_idle`; raise Deadlock if it was told `quiet_turns` ago and nothing came of it."""
        if self._on_idle is None or self.turns == self._idle_turn + quiet_turns:
            stuck = sum(worker.running and not worker.jobless for worker in self.workers if worker.patience <= 0)
            raise Deadlock(
                "nothing is ready, no timer is set and no thread is at work: this waits for ever"
                + (f" ({stuck} threads were given up on: they did nothing in real time)" if stuck else "")
            )
        self._idle_turn = self.turns
        self._on_idle()

    def fail(self, fault: BaseException) -> None:
        """End the run with this exception; one that is ending already ends in its own way first."""
        if self.fault is None:
            self.fault = fault
        if not self.draining:
            self.last_turn = -1

    def stop(self, fault: BaseException) -> None:
        """The same from any thread."""
        if get_ident() == self.main_ident:
            self.fail(fault)
        else:
            self.post(self.fail, fault)

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            try:
                callback()
            except BaseException as fault:
                self.fail(fault)

        return call

    def begin_drain(self) -> None:
        self.draining = True
        self.last_turn = self.turns + base.DRAIN

    def end_threads(self) -> bool:
        """End the threads that wait for something; False when they were told before, or there are none."""
        scheduler = self.scheduler
        if scheduler is None or scheduler.over:
            return False
        scheduler.end_all()
        return True

    def at_end(self, callback: Callable[[], None]) -> None:
        """Call it when the run is over. From any thread of the run."""
        self._at_end.append(callback)

    def end(self) -> None:
        self.end_threads()
        self.over = True
        while self._at_end:
            self._at_end.pop()()

    # -- time.sleep ----------------------------------------------------------------------------------------------------

    def block(self, seconds: float, frame: FrameType) -> None:
        """time.sleep on the loop's thread. It has one entry per place and turn: else polling would fill the memory."""
        if self._slept_turn != self.turns:
            self._slept, self._slept_turn, self._slept_count = {}, self.turns, 0
        where = where_is(frame)
        self._slept_count += 1
        if seconds > 0:
            if where in self._slept:
                entry = self.blocked[self._slept[where]]
                self.blocked[self._slept[where]] = replace(entry, seconds=round(entry.seconds + seconds, 9))
            else:
                self._slept[where] = len(self.blocked)
                self.blocked.append(Blocked(self.now(), seconds, where))
            if self.scheduler is None:
                self.advance(seconds)
            else:
                self.scheduler.pass_time(seconds)
        if self._slept_count == base.SLEEPS:
            self.blocked.append(Blocked(self.now(), math.inf, where))
        if self._slept_count >= base.SLEEPS:
            raise LoopStalled(f"the loop does not turn: time.sleep was called {base.SLEEPS} times without awaiting")

    def block_for_ever(self, frame: FrameType, why: str) -> NoReturn:
        """Raise `LoopStalled`: the loop's thread would wait for ever. The frame says who blocks the loop."""
        self.blocked.append(Blocked(self.now(), math.inf, where_is(frame)))
        raise LoopStalled(f"the loop does not turn: {why}")

    def sleep_in_thread(self, managed: ManagedThread, seconds: float, frame: FrameType) -> None:
        """Park another thread, as `time.sleep` does; inf is until the run ends."""
        self.ensure_scheduler().wait(managed, _never, seconds, frame)

    def held_up(self, since: float, frame: FrameType, *, for_ever: bool) -> None:
        """Write down that a wait blocked a loop. It began at `since`, in the time of `time.monotonic`."""
        seconds = math.inf if for_ever else round(self.monotonic() - since, 9)
        if seconds > 0:
            self.blocked.append(Blocked(round(since - UPTIME, 9), seconds, where_is(frame)))

    # -- workers -------------------------------------------------------------------------------------------------------

    def register(self, worker: Worker) -> None:
        self.workers.add(worker)
        if get_ident() == self.main_ident:
            self.changed()

    def delivered(self, worker: Worker) -> None:
        worker.awaited = False
        self.workers.discard(worker)
        self.changed()

    def charge(self, seconds: float) -> None:
        """The watchdog saw the loop stand still for `seconds` more."""
        if self.scheduler is not None:
            self.scheduler.patience -= seconds
        for worker in tuple(self.workers):
            if worker.holds(self.idle) and not (isinstance(worker, ManagedThread) and not worker.preempted):
                worker.patience -= seconds
                if not worker.holds(self.idle):
                    self.post(self.changed)


def _never() -> bool:
    return False


def where_is(frame: FrameType | None) -> str:
    if frame is None:
        return "?"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
