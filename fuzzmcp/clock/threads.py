"""The threads that code of a run starts, and the jobs they do, as workers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import get_ident
from typing import Any

from fuzzmcp.clock.errors import RunOver
from fuzzmcp.clock.limits import GRACE
from fuzzmcp.clock.places import Place, here, places
from fuzzmcp.clock.timeline import Timeline
from fuzzmcp.clock.workers import Worker

real_start, _real_result = threading.Thread.start, Future.result


def inside(timeline: Timeline, worker: Worker, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func`, at work as `worker` on whatever thread calls it."""

    def work(*args: Any) -> Any:
        ident = get_ident()
        if ident == timeline.thread:
            return func(*args)
        before = places.get(ident)
        if before is not None and before.worker is not None:
            before.worker.dismissed = True
        worker.running = True
        places[ident] = Place(timeline, worker)
        try:
            return func(*args)
        finally:
            if before is None:
                del places[ident]
            else:
                places[ident] = before
            timeline.post(timeline.finished, worker)

    return work


def _start(thread: threading.Thread) -> None:
    place = places.get(get_ident())
    if place is None or place.timeline.over:
        return real_start(thread)
    timeline = place.timeline
    worker = Worker(GRACE, daemon=thread.daemon, running=True)
    work = inside(timeline, worker, thread.run)

    def run() -> None:
        del thread.run
        with suppress(RunOver):
            work()

    thread.run = run  # type: ignore[method-assign]
    timeline.hire(worker)
    try:
        return real_start(thread)
    except BaseException:
        timeline.workers.discard(worker)
        raise


def _result(future: Future[Any], timeout: float | None = None) -> Any:
    place = None if future.done() else here()
    if place is None or place.worker is None:
        return _real_result(future, timeout)
    timeline, worker = place.timeline, place.worker

    def awake(_: object = None) -> None:
        if worker.waits_for is future:
            worker.asleep = False
            timeline.post(timeline.changed)

    worker.waits_for = future
    future.add_done_callback(awake)
    timeline.post(timeline.wait_for, worker, future)
    try:
        return _real_result(future, timeout)
    finally:
        awake()
        worker.waits_for = None


REPLACEMENTS: list[tuple[Any, str, Any]] = [(threading.Thread, "start", _start), (Future, "result", _result)]
