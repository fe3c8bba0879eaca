"""The threads that code of a run starts, and the jobs that they do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from fuzzmcp.harness.clock import internals
from fuzzmcp.harness.clock.base import GRACE, RunOver, real_start
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread
from fuzzmcp.harness.clock.thread_registry import Registration, registrations

JOBS_FILE = __file__
"""The file whose frames lie below every job of a thread: on a stack, they tell a thread of a run."""

managed_threads: dict[threading.Thread, ManagedThread] = {}
"""The threads that runs have started and that still live."""


@contextmanager
def unregistered() -> Iterator[None]:
    """Take the calling thread out of its run for a block whose waits are short and real."""
    ident = get_ident()
    registration = registrations.pop(ident, None)
    try:
        yield
    finally:
        if registration is not None:
            registrations[ident] = registration


def inside(loop_run: LoopRun, func: Callable[[], Any]) -> Callable[[], Any]:
    """`func` as a job for the thread of a pool. The thread may belong to the run, to another run or to none."""

    def work() -> Any:
        before = registrations.get(get_ident())
        if before is not None and before.loop_run is loop_run:
            return _as_job(before.thread, func)
        me = loop_run.ensure_scheduler().register(loop_run.watchdog, name=threading.current_thread().name)
        me.pool = True
        with at_work(loop_run, me):
            return func()

    return work


def _as_job(me: ManagedThread | None, func: Callable[[], Any]) -> Any:
    if me is None:  # the loop's own thread
        return func()
    me.pool, me.jobless = True, False
    try:
        return func()
    finally:
        me.jobless = True


@contextmanager
def at_work(loop_run: LoopRun, me: ManagedThread) -> Iterator[None]:
    """The calling thread is `me`, from its first turn on."""
    ident, scheduler = get_ident(), loop_run.ensure_scheduler()
    before = registrations.get(ident)
    scheduler.begin(me)
    registrations[ident] = Registration(loop_run, me)
    try:
        yield
    finally:
        if before is None:
            registrations.pop(ident, None)
        else:
            registrations[ident] = before
        scheduler.release(me)


def _told(loop_run: LoopRun, work: Callable[[], Any]) -> None:
    """Do the work; tell `on_exception` of an error that nothing catches. Without `on_exception` Python prints it."""
    try:
        work()
    except SystemExit:
        raise  # Python ignores it in a thread, and `RunOver` is one
    except BaseException as error:
        if loop_run.ensure_scheduler().ending:
            return
        if loop_run.on_exception is None:
            raise
        loop_run.on_exception({"message": "unhandled exception in a thread", "exception": error})


def _start(thread: threading.Thread) -> None:
    registration = registrations.get(get_ident())
    if registration is None or registration.loop_run.over:
        return real_start(thread)
    loop_run, scheduler = registration.loop_run, registration.loop_run.ensure_scheduler()
    if registration.thread is not None:
        scheduler.requeue(registration.thread)
    me = scheduler.register(GRACE, daemon=thread.daemon, name=thread.name)
    me.pool = type(thread).__module__ == internals.ANYIO_POOL
    work = thread.run

    def run() -> None:
        del thread.run
        try:
            with at_work(loop_run, me):
                _told(loop_run, work)
        except RunOver:
            pass
        finally:
            managed_threads.pop(thread, None)

    thread.run = run  # type: ignore[method-assign]
    managed_threads[thread] = me
    try:
        with unregistered():  # it waits for the thread's first sign of life
            return real_start(thread)
    except BaseException:
        managed_threads.pop(thread, None)
        scheduler.release(me)
        raise


REPLACEMENTS: list[tuple[Any, str, Any]] = [(threading.Thread, "start", _start)]
