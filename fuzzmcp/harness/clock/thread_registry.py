"""Whose time a thread has: that of the run it belongs to, or the real one."""

from __future__ import annotations

from threading import get_ident
from typing import NamedTuple

from fuzzmcp.harness.clock import internals
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread


class Timed:
    """An event loop that lives in virtual time."""


class Place(NamedTuple):
    """Where a thread belongs. Without a worker: it is the loop's own."""

    loop_run: LoopRun
    worker: ManagedThread | None


places: dict[int, Place] = {}


def here() -> Place | None:
    place = places.get(get_ident())
    if place is None or place.loop_run.over:
        return None
    if place.worker is not None and not isinstance(internals.running_loop(), Timed | None):
        return None  # an event loop that is none of ours: its selector waits in real time
    return place
