"""Interrupts a loop that does not turn."""

from __future__ import annotations

import math
import os
import sys
import threading
from dataclasses import dataclass

from fuzzmcp.harness.clock.base import LoopStalled, real_monotonic, real_sleep, real_start
from fuzzmcp.harness.clock.loop_run import Blocked, Timeline, where_is

_STRIKES = 5
_POLL = 0.25


@dataclass
class _Seen:
    timeline: Timeline
    turns: int
    since: float
    strikes: int = 0


class Watchdog:
    """One daemon thread for the process. It looks at the active runs a few times a second, and sleeps without any."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._process: int | None = None
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._parked = False
        self._active: dict[int, Timeline] = {}
        self._seen: dict[int, _Seen] = {}

    def watch(self, timeline: Timeline) -> Timeline | None:
        with self._lock:
            if self._process != os.getpid():  # none yet, or this process is a fork, and threads are not copied
                self._thread = threading.Thread(target=self._run, name="fuzzmcp watchdog", daemon=True)
                real_start(self._thread)
                self._process = os.getpid()
            above = self._active.get(timeline.thread)
            self._active[timeline.thread] = timeline
        if self._parked:
            self._bell.set()
        return above

    def unwatch(self, timeline: Timeline, above: Timeline | None) -> None:
        while True:
            try:
                with self._lock:
                    if above is None:
                        self._active.pop(timeline.thread, None)
                    else:
                        self._active[timeline.thread] = above
                if timeline.struck:
                    _take_pending()  # what is under way must not hit the caller of run()
            except LoopStalled:
                continue
            return

    def _run(self) -> None:
        last = real_monotonic()
        while True:
            if not self._active:
                self._parked = True
                if not self._active:  # else a run began in between, and did not see the flag
                    self._bell.wait()
                self._parked = False
                self._bell.clear()
                last = real_monotonic()
            real_sleep(min([_POLL, *(timeline.watchdog / 4 for timeline in list(self._active.values()))]))
            now = real_monotonic()
            for ident, timeline in list(self._active.items()):
                self._look(ident, timeline, now, now - last)
            self._seen = {ident: seen for ident, seen in self._seen.items() if ident in self._active}
            last = now

    def _look(self, ident: int, timeline: Timeline, now: float, elapsed: float) -> None:
        seen = self._seen.get(ident)
        if timeline.waiting:
            timeline.charge(elapsed)
        if seen is None or seen.timeline is not timeline or seen.turns != timeline.turns or timeline.waiting:
            self._seen[ident] = _Seen(timeline, timeline.turns, now)
        elif now - seen.since >= timeline.watchdog and seen.strikes < _STRIKES:
            seen.since = now
            seen.strikes += 1
            self._strike(ident, seen)

    def _strike(self, ident: int, seen: _Seen) -> None:
        timeline, where = seen.timeline, where_is(sys._current_frames().get(ident))
        with self._lock:
            if self._active.get(ident) is timeline and timeline.turns == seen.turns:
                if seen.strikes == 1:
                    timeline.blocked.append(Blocked(timeline.now(), math.inf, where))
                timeline.struck = True
                _interrupt(ident, LoopStalled)


def _interrupt(ident: int, exception: type[BaseException]) -> None:
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(exception))


def _take_pending() -> None:
    """Give an exception that is under way to this thread the chance to arrive here.

    Withdrawing it (PyThreadState_SetAsyncExc with NULL) would leave CPython 3.11's eval breaker set for good, and the
    next traced function call, as in Hypothesis's explain phase, would never return.
    """
    for _ in range(1_000):
        pass


WATCHDOG = Watchdog()
