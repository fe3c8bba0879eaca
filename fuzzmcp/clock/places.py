"""Whose time a thread has: that of the run it belongs to, or the real one."""

from __future__ import annotations

from threading import get_ident
from typing import NamedTuple

from fuzzmcp.clock import internals
from fuzzmcp.clock.timeline import Timeline
from fuzzmcp.clock.workers import Worker


class Place(NamedTuple):
    """Where a thread belongs. Without a worker: it is the loop's own."""

    timeline: Timeline
    worker: Worker | None


places: dict[int, Place] = {}


def here() -> Place | None:
    place = places.get(get_ident())
    if place is None or place.timeline.over:
        return None
    if place.worker is not None and internals.running_loop() is not None:
        return None  # a second event loop, in a thread of the client: its selector waits in real time
    return place
