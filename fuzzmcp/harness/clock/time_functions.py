"""What stands in for `time.sleep` and its kin while a run is active.

Each looks its own thread up. It calls the real function for a thread that belongs to no run. The functions are the same
objects in every run: a module that is first imported during a run (`from time import sleep`) keeps one of them, which
is right after the run too.
"""

from __future__ import annotations

import operator
import sys
import time
from typing import Any

from fuzzmcp.harness.clock.base import EPOCH, real_monotonic, real_sleep
from fuzzmcp.harness.clock.thread_registry import current

_real_monotonic_ns, _real_time, _real_time_ns = time.monotonic_ns, time.time, time.time_ns


def _seconds(value: float) -> float:
    seconds = value if isinstance(value, float) else operator.index(value)
    if not 0 <= seconds < 2**63 / 1e9:
        real_sleep(seconds)  # negative, nan or too long: raises, as the real one does
    return float(seconds)


def _sleep(seconds: float, /) -> None:
    registration = current()
    if registration is None:
        real_sleep(seconds)
    else:
        registration.block(_seconds(seconds), sys._getframe(1))


def monotonic() -> float:
    registration = current()
    return real_monotonic() if registration is None else registration.loop_run.monotonic()


def _monotonic_ns() -> int:
    registration = current()
    return _real_monotonic_ns() if registration is None else round(registration.loop_run.monotonic() * 1e9)


def _time() -> float:
    registration = current()
    return _real_time() if registration is None else EPOCH + registration.loop_run.now()


def _time_ns() -> int:
    registration = current()
    return _real_time_ns() if registration is None else int(EPOCH) * 10**9 + round(registration.loop_run.now() * 1e9)


REPLACEMENTS: list[tuple[Any, str, Any]] = [
    (time, "sleep", _sleep),
    (time, "monotonic", monotonic),
    (time, "monotonic_ns", _monotonic_ns),
    (time, "time", _time),
    (time, "time_ns", _time_ns),
]
