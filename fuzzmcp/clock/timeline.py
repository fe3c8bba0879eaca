"""One run of one event loop, as the loop, the replaced functions and the watchdog share it."""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import get_ident
from types import FrameType
from typing import Any, Protocol

from fuzzmcp.clock import limits
from fuzzmcp.clock.errors import Deadlock, LoopStalled, RunOver
from fuzzmcp.clock.limits import UPTIME
from fuzzmcp.clock.workers import Worker


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


class Timeline(ABC):
    """What a loop, the replaced functions and the watchdog share about one run.

    Only the loop's thread moves a worker towards rest (delivered, finished, asleep). So when the loop finds everybody
    at rest, whatever they had to say is in its queue already.
    """

    def __init__(self, watchdog: float, on_idle: Callable[[], None] | None) -> None:
        self.watchdog = watchdog
        self.thread = get_ident()
        self.blocked: list[Blocked] = []
        self.workers: set[Worker] = set()
        self.turns = 0
        self.last_turn = limits.SPIN
        self.waiting = False  # in real time, for a worker
        self.idle = False  # while waiting: but for the workers, nothing could happen any more
        self.draining = False
        self.over = False
        self.struck = False
        self.fault: BaseException | None = None
        self._on_idle = on_idle
        self._idle_turn = -9
        self._lock = threading.Lock()
        self._bells: set[threading.Event] = set()
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

    # -- the loop's decisions ------------------------------------------------------------------------------------------

    def held(self, *, idle: bool) -> bool:
        return bool(self.workers) and any(worker.holds(idle) for worker in tuple(self.workers))

    def ask_idle(self, quiet_turns: int) -> None:
        """Tell `on_idle`; raise Deadlock if it was told `quiet_turns` ago and nothing came of it."""
        if self._on_idle is None or self.turns == self._idle_turn + quiet_turns:
            stuck = sum(worker.running and not worker.dismissed for worker in self.workers if worker.patience <= 0)
            raise Deadlock(
                "nothing is ready, no timer is set and no thread is at work: this waits for ever"
                + (f" ({stuck} threads were given up on: they did nothing in real time)" if stuck else "")
            )
        self._idle_turn = self.turns
        self._on_idle()

    def fail(self, fault: BaseException) -> None:
        """End the run with this exception."""
        if self.fault is None:
            self.fault = fault
        self.last_turn = -1

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            try:
                callback()
            except BaseException as fault:
                self.fail(fault)

        return call

    def begin_drain(self) -> None:
        self.draining = True
        self.last_turn = self.turns + limits.DRAIN

    def end(self) -> None:
        with self._lock:
            self.over = True
        for bell in self._bells:
            bell.set()

    # -- time.sleep ----------------------------------------------------------------------------------------------------

    def block(self, seconds: float, frame: FrameType) -> None:
        """time.sleep on the loop's thread. One entry per place and turn, else a polling loop would fill the memory."""
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
            self.advance(seconds)
        if self._slept_count == limits.SLEEPS:
            self.blocked.append(Blocked(self.now(), math.inf, where))
        if self._slept_count >= limits.SLEEPS:
            raise LoopStalled(f"the loop does not turn: time.sleep was called {limits.SLEEPS} times without awaiting")

    def sleep_in_thread(self, worker: Worker, seconds: float) -> None:
        bell = threading.Event()
        with self._lock:
            if self.over:
                raise RunOver
            self._bells.add(bell)
        self.post(self._put_to_sleep, worker, seconds, bell)
        bell.wait()
        if self.over:
            raise RunOver

    def _put_to_sleep(self, worker: Worker, seconds: float, bell: threading.Event) -> None:
        def wake() -> None:
            self._bells.discard(bell)
            worker.asleep = False
            self.changed()
            bell.set()

        worker.asleep = True
        self.call_at(self.now() + seconds, wake)
        self.changed()

    # -- workers -------------------------------------------------------------------------------------------------------

    def hire(self, worker: Worker) -> None:
        self.workers.add(worker)
        if get_ident() == self.thread:
            self.changed()

    def finished(self, worker: Worker) -> None:
        worker.running = False
        self._settle(worker)

    def delivered(self, worker: Worker) -> None:
        worker.awaited = False
        self._settle(worker)

    def _settle(self, worker: Worker) -> None:
        if not (worker.awaited or worker.running):
            self.workers.discard(worker)
        self.changed()

    def charge(self, seconds: float) -> None:
        """The watchdog saw the loop stand still for `seconds` more."""
        for worker in tuple(self.workers):
            if worker.holds(self.idle):
                worker.patience -= seconds
                if not worker.holds(self.idle):
                    self.post(self.changed)

    def wait_for(self, worker: Worker, future: Future[Any]) -> None:
        """A thread waits in `future.result()`: it does nothing until somebody else acts."""
        if worker.waits_for is future:
            worker.asleep = True
            if future.done():
                worker.asleep = False
            self.changed()


def where_is(frame: FrameType | None) -> str:
    if frame is None:
        return "?"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
