"""Helpers. No test here sleeps, and none looks at a real clock: each `time.sleep` in a run is a virtual one."""

from __future__ import annotations

import concurrent.futures
import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator

import anyio
import pytest

from fuzzmcp.harness.clock import EPOCH, VirtualClock, base

BACKENDS = ["asyncio", "trio"]
both = pytest.mark.parametrize("backend", BACKENDS)
HOUR = 3600.0
STANDARD = (time.sleep, time.monotonic, time.monotonic_ns, time.time, time.time_ns)
STANDARD_METHODS = (threading.Thread.start, concurrent.futures.Future.result)


async def never() -> None:
    await anyio.sleep(math.inf)


def times(virtual: VirtualClock, *, since: float = 0.0) -> list[float]:
    """All the clocks there are, as seconds since `since`."""
    return [
        round(seconds, 6)
        for seconds in (
            virtual.now() - since,
            time.monotonic() - base.UPTIME - since,
            time.monotonic_ns() / 1e9 - base.UPTIME - since,
            time.time() - EPOCH - since,
            (time.time_ns() - int(EPOCH) * 10**9) / 1e9 - since,
        )
    ]


def spin_until(condition: Callable[[], bool], *, tries: int = 100_000) -> None:
    """Wait for another thread; with few `tries`, only give it the chance to go wrong."""
    pause = threading.Lock()  # which the clock does not know, unlike an event
    pause.acquire()
    for _ in range(tries):
        if condition():
            return
        pause.acquire(timeout=0.0001)


@contextlib.contextmanager
def impatience(virtual: VirtualClock, *, idle: bool = False) -> Iterator[None]:
    """As soon as the loop waits for a thread, its patience is used up, as if the watchdog had looked for long."""
    over = threading.Event()

    def charge() -> None:
        while not over.wait(0.001):
            loop_run = virtual._loop_run
            if loop_run is not None and loop_run.waiting and (idle or not loop_run.idle):
                loop_run.charge(loop_run.watchdog)

    thread = threading.Thread(target=charge)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
