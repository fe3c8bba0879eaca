"""The threads that code of a run starts, and the jobs they do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from fuzzmcp.harness.clock import internals
from fuzzmcp.harness.clock.base import GRACE, RunOver, real_start
from fuzzmcp.harness.clock.loop_run import Timeline
from fuzzmcp.harness.clock.managed import Member
from fuzzmcp.harness.clock.thread_registry import Place, places

members: dict[threading.Thread, Member] = {}
"""Of the threads that runs have started and that still live."""


@contextmanager
def out_of_place() -> Iterator[None]:
    """For a while, nothing of what this thread does is the run's: what it waits for comes at once, in real time."""
    ident = get_ident()
    place = places.pop(ident, None)
    try:
        yield
    finally:
        if place is not None:
            places[ident] = place


def inside(timeline: Timeline, func: Callable[[], Any]) -> Callable[[], Any]:
    """`func` as a job on the thread of a pool, whoever has started that."""

    def work() -> Any:
        before = places.get(get_ident())
        if before is not None and before.timeline is timeline:
            return _as_job(before.worker, func)
        me = timeline.crewed().hire(timeline.watchdog, name=threading.current_thread().name)
        me.pool = True
        with at_work(timeline, me):
            return func()

    return work


def _as_job(me: Member | None, func: Callable[[], Any]) -> Any:
    if me is None:  # the loop's own thread
        return func()
    me.pool, me.dismissed = True, False
    try:
        return func()
    finally:
        me.dismissed = True


@contextmanager
def at_work(timeline: Timeline, me: Member) -> Iterator[None]:
    """This thread is that member; it begins when it is its turn."""
    ident, crew = get_ident(), timeline.crewed()
    before = places.get(ident)
    crew.begin(me)
    places[ident] = Place(timeline, me)
    try:
        yield
    finally:
        if before is None:
            places.pop(ident, None)
        else:
            places[ident] = before
        crew.end(me)


def _told(timeline: Timeline, work: Callable[[], Any]) -> None:
    """What nobody catches is told to whoever drives the run; without him it is printed, as ever."""
    try:
        work()
    except SystemExit:
        raise  # nobody hears of that, and a run that ends is one
    except BaseException as error:
        if timeline.crewed().ending:
            return
        if timeline.on_exception is None:
            raise
        timeline.on_exception({"message": "unhandled exception in a thread", "exception": error})


def _start(thread: threading.Thread) -> None:
    place = places.get(get_ident())
    if place is None or place.timeline.over:
        return real_start(thread)
    timeline, crew = place.timeline, place.timeline.crewed()
    if place.worker is not None:
        crew.return_to(place.worker)
    me = crew.hire(GRACE, daemon=thread.daemon, name=thread.name)
    me.pool = type(thread).__module__ == internals.ANYIO_POOL
    work = thread.run

    def run() -> None:
        del thread.run
        try:
            with at_work(timeline, me):
                _told(timeline, work)
        except RunOver:
            pass
        finally:
            members.pop(thread, None)

    thread.run = run  # type: ignore[method-assign]
    members[thread] = me
    try:
        with out_of_place():  # it waits for the thread's first sign of life
            return real_start(thread)
    except BaseException:
        members.pop(thread, None)
        crew.end(me)
        raise


REPLACEMENTS: list[tuple[Any, str, Any]] = [(threading.Thread, "start", _start)]
