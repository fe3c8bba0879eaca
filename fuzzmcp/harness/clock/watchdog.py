"""Interrupts a loop that does not turn.

Virtual time stands still while code works. A client that loops for ever would hang the search, so one daemon thread
looks at the active runs in real time. It counts the turns of each loop: a loop that has not turned between two looks
for longer than its patience gets `LoopStalled`, thrown into its thread by CPython's `PyThreadState_SetAsyncExc`. The
exception strikes between two bytecodes, so code that waits in C is not interrupted before it comes back.

The exception may strike late, when the stalled code has ended by itself. Three measures keep it inside of the run: a
strike happens under the lock, and only at a run that is still watched and has not turned; `unwatch` takes the run off
under the same lock; and `unwatch` then lets an exception that is under way strike at once, and swallows it.

A loop that waits for a thread (`waiting`) does not stall. The wait uses up the patience of that thread instead
(`LoopRun.charge`).
"""

from __future__ import annotations

import math
import os
import sys
import threading
from dataclasses import dataclass

from fuzzmcp.harness.clock.base import LoopStalled, real_monotonic, real_sleep, real_start
from fuzzmcp.harness.clock.loop_run import Blocked, LoopRun, where_is

_STRIKES = 5
_POLL = 0.25


@dataclass
class _Seen:
    loop_run: LoopRun
    turns: int
    since: float
    strikes: int = 0


class Watchdog:
    """One daemon thread for the process. It looks at the active runs a few times a second; without runs it sleeps."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._process: int | None = None
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._parked = False
        self._active: dict[int, LoopRun] = {}
        self._seen: dict[int, _Seen] = {}

    def watch(self, loop_run: LoopRun) -> LoopRun | None:
        with self._lock:
            if self._process != os.getpid():  # none yet, or this process is a fork, and threads are not copied
                self._thread = threading.Thread(target=self._run, name="fuzzmcp watchdog", daemon=True)
                real_start(self._thread)
                self._process = os.getpid()
            above = self._active.get(loop_run.main_ident)
            self._active[loop_run.main_ident] = loop_run
        if self._parked:
            self._bell.set()
        return above

    def unwatch(self, loop_run: LoopRun, above: LoopRun | None) -> None:
        while True:
            try:
                with self._lock:
                    if above is None:
                        self._active.pop(loop_run.main_ident, None)
                    else:
                        self._active[loop_run.main_ident] = above
                if loop_run.struck:
                    _take_pending()  # an exception that is under way must not strike the caller of run()
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
            real_sleep(min([_POLL, *(loop_run.watchdog / 4 for loop_run in list(self._active.values()))]))
            now = real_monotonic()
            for ident, loop_run in list(self._active.items()):
                self._look(ident, loop_run, now, now - last)
            self._seen = {ident: seen for ident, seen in self._seen.items() if ident in self._active}
            last = now

    def _look(self, ident: int, loop_run: LoopRun, now: float, elapsed: float) -> None:
        seen = self._seen.get(ident)
        if loop_run.waiting:
            loop_run.charge(elapsed)
        if seen is None or seen.loop_run is not loop_run or seen.turns != loop_run.turns or loop_run.waiting:
            self._seen[ident] = _Seen(loop_run, loop_run.turns, now)
        elif now - seen.since >= loop_run.watchdog and seen.strikes < _STRIKES:
            seen.since = now
            seen.strikes += 1
            self._strike(ident, seen)

    def _strike(self, ident: int, seen: _Seen) -> None:
        loop_run, where = seen.loop_run, where_is(sys._current_frames().get(ident))
        with self._lock:
            if self._active.get(ident) is loop_run and loop_run.turns == seen.turns:
                if seen.strikes == 1:
                    loop_run.blocked.append(Blocked(loop_run.now(), math.inf, where))
                loop_run.struck = True
                _interrupt(ident, LoopStalled)


def _interrupt(ident: int, exception: type[BaseException]) -> None:
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(exception))


def _take_pending() -> None:
    """Let an exception that is under way to this thread strike here.

    Withdrawing it (PyThreadState_SetAsyncExc with NULL) would leave CPython 3.11's eval breaker set for good, and the
    next traced function call, as in Hypothesis's explain phase, would never return.
    """
    for _ in range(1_000):
        pass


WATCHDOG = Watchdog()
