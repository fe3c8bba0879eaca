"""One run of one event loop, as the loop, the replaced functions and the watchdog share it."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import get_ident
from types import FrameType
from typing import Any, Protocol

from fuzzmcp.harness.clock import limits
from fuzzmcp.harness.clock.errors import Deadlock, LoopStalled
from fuzzmcp.harness.clock.limits import UPTIME
from fuzzmcp.harness.clock.managed import Member, Worker
from fuzzmcp.harness.clock.thread_scheduler import Crew


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

    A run with one thread has no crew. With more, one of them at a time is at work, and only the loop's thread moves the
    time. So when it finds everybody at rest, whatever they had to say is in its queue already.
    """

    on_task: Callable[..., None] | None = None
    on_exception: Callable[[dict[str, Any]], None] | None = None

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
        self.crew: Crew | None = None
        self._on_idle = on_idle
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

    def crewed(self) -> Crew:
        """The threads of this run: asked for as soon as there is a second one, or might be."""
        if self.crew is None:
            self.crew = Crew(self)
        return self.crew

    def hurry(self) -> None:  # noqa: B027  (a hook)
        """Threads wait for their turn: let them go first before long, however busy the loop is."""

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
        """End the run with this exception; one that is ending already ends in its own way first."""
        if self.fault is None:
            self.fault = fault
        if not self.draining:
            self.last_turn = -1

    def stop(self, fault: BaseException) -> None:
        """The same from any thread."""
        if get_ident() == self.thread:
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
        self.last_turn = self.turns + limits.DRAIN

    def dismiss(self) -> bool:
        """End the threads that wait for something; whether there was any that had not been told before."""
        crew = self.crew
        if crew is None or crew.over:
            return False
        crew.disband()
        return True

    def end(self) -> None:
        self.dismiss()
        self.over = True

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
            if self.crew is None:
                self.advance(seconds)
            else:
                self.crew.pass_time(seconds)
        if self._slept_count == limits.SLEEPS:
            self.blocked.append(Blocked(self.now(), math.inf, where))
        if self._slept_count >= limits.SLEEPS:
            raise LoopStalled(f"the loop does not turn: time.sleep was called {limits.SLEEPS} times without awaiting")

    def sleep_in_thread(self, member: Member, seconds: float, frame: FrameType) -> None:
        """time.sleep on another thread; inf is until the run ends."""
        self.crewed().wait(member, _never, seconds, frame)

    def held_up(self, since: float, frame: FrameType, *, for_ever: bool) -> None:
        """A loop was blocked by a wait that began at `since`, by the time of `time.monotonic`."""
        seconds = math.inf if for_ever else round(self.monotonic() - since, 9)
        if seconds > 0:
            self.blocked.append(Blocked(round(since - UPTIME, 9), seconds, where_is(frame)))

    # -- workers -------------------------------------------------------------------------------------------------------

    def hire(self, worker: Worker) -> None:
        self.workers.add(worker)
        if get_ident() == self.thread:
            self.changed()

    def delivered(self, worker: Worker) -> None:
        worker.awaited = False
        self.workers.discard(worker)
        self.changed()

    def charge(self, seconds: float) -> None:
        """The watchdog saw the loop stand still for `seconds` more."""
        if self.crew is not None:
            self.crew.patience -= seconds
        for worker in tuple(self.workers):
            if worker.holds(self.idle) and not (isinstance(worker, Member) and not worker.away):
                worker.patience -= seconds
                if not worker.holds(self.idle):
                    self.post(self.changed)


def _never() -> bool:
    return False


def where_is(frame: FrameType | None) -> str:
    if frame is None:
        return "?"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
