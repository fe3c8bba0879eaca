"""What every module of the clock needs: its numbers, its exceptions, and the standard functions that it replaces."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

# -- the numbers -------------------------------------------------------------------------------------------------------

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z
UPTIME = 10_000.0  # time.monotonic() at virtual 0.0; far from zero, because code takes 0 for "long ago"
GRACE = 1.0  # real seconds that a thread the client started by itself may keep the clock standing, all in all
SPIN = 50_000  # turns at one virtual moment, before a loop that is never idle counts as polling and time moves on
SLEEPS = 10_000  # calls of time.sleep within one turn, before the loop counts as stalled
DRAIN = 1_000  # turns that cancelled tasks get to end
FAIR = 50  # turns of a loop, after which the threads that wait for their turn go first
POLLS = 1_000  # how often a thread lets the others go first at one moment, before it counts as polling and is parked
LOOK = 0.02  # real seconds between two looks at the thread whose turn it is
LOOKS = 5  # looks at a thread that has not moved, after which the others go on without it

# -- how a run can end badly -------------------------------------------------------------------------------------------


class Deadlock(RuntimeError):
    """Nothing can happen any more: no callback is ready, no timer is set and no thread is at work."""


class LoopStalled(BaseException):
    """Raised into the code on the loop's thread that keeps the loop from turning."""

    def __init__(self, message: str = "the loop does not turn: this code works or waits without awaiting") -> None:
        super().__init__(message)


class Exhausted(BaseException):
    """Ends a teardown that would never end by itself. Never leaves `VirtualClock.run`."""


def raise_exhausted() -> NoReturn:
    """Raise `Exhausted`: for a place that wants a function."""
    raise Exhausted


class RunOver(SystemExit):
    """Ends a thread that waits when its run ends: `while True: time.sleep(1)` would go on for ever."""


def find_error(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """The first `kind` in an exception, its groups and its causes."""
    if error is None or isinstance(error, kind):
        return error
    grouped: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return next(filter(None, (find_error(inner, kind) for inner in (*grouped, error.__cause__))), None)


# -- the standard functions that runs replace, as they are -------------------------------------------------------------

real_sleep, real_monotonic = time.sleep, time.monotonic
real_lock: Any = threading.Lock
real_start, real_join = threading.Thread.start, threading.Thread.join
real_pool, real_submit = ThreadPoolExecutor.__init__, ThreadPoolExecutor.submit
real_new_event_loop = asyncio.new_event_loop
