"""The thread pools of anyio and trio: each of their jobs is a worker.

`loop.run_in_executor` is the asyncio loop's own, so there it needs nothing of this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any

from fuzzmcp.clock import internals
from fuzzmcp.clock.patches import replace_during_runs
from fuzzmcp.clock.places import here, places
from fuzzmcp.clock.threads import inside
from fuzzmcp.clock.timeline import Timeline
from fuzzmcp.clock.workers import Worker


class _Gate:
    """Hires `worker` at the moment when the limiter lets it pass: before, nobody works; after, a thread does."""

    def __init__(self, limiter: Any, timeline: Timeline, worker: Worker) -> None:
        self._limiter, self._timeline, self._worker = limiter, timeline, worker

    async def __aenter__(self) -> None:
        await self._limiter.__aenter__()
        self._worker.awaited = True
        self._timeline.hire(self._worker)

    async def __aexit__(self, *exc: Any) -> None:
        await self._limiter.__aexit__(*exc)


@functools.cache
def watch_anyio_threads() -> None:
    """Must come before the client's first `anyio.to_thread.run_sync`."""
    backend = internals.anyio_backend()
    original = vars(backend)["run_sync_in_worker_thread"].__func__

    async def run_sync_in_worker_thread(
        cls: Any, func: Any, args: Any, abandon_on_cancel: bool = False, limiter: Any = None
    ) -> Any:
        place = here()
        if place is None:
            return await original(cls, func, args, abandon_on_cancel, limiter)
        timeline, worker = place.timeline, Worker(place.timeline.watchdog)
        gate = _Gate(limiter or cls.current_default_thread_limiter(), timeline, worker)
        try:
            return await original(cls, inside(timeline, worker, func), args, abandon_on_cancel, gate)
        finally:
            timeline.delivered(worker)

    replace_during_runs(backend, "run_sync_in_worker_thread", classmethod(run_sync_in_worker_thread))


@functools.cache
def watch_trio_threads() -> None:
    """Count what trio's threads do, whoever asked for it."""
    cache = internals.trio_thread_cache()
    original = cache.start_thread_soon

    def start_thread_soon(self: Any, fn: Callable[[], Any], deliver: Callable[[Any], object], name: Any = None) -> Any:
        place = here()
        if place is None:
            return original(self, fn, deliver, name)
        timeline, worker = place.timeline, Worker(place.timeline.watchdog, awaited=True)

        def deliver_and_rest(outcome: Any) -> None:
            try:
                deliver(outcome)
            finally:
                timeline.post(timeline.delivered, worker)

        timeline.hire(worker)
        # A cached thread outlives the run, so it must not be taken for a thread that the client started.
        del places[get_ident()]
        try:
            return original(self, inside(timeline, worker, fn), deliver_and_rest, name)
        finally:
            places[get_ident()] = place

    replace_during_runs(cache, "start_thread_soon", start_thread_soon)
