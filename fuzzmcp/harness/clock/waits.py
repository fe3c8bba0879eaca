"""What stands in for the waits of the standard library while a run is active.

All of them come down to the lock that a condition waits for: events, semaphores, barriers, futures and queues. The
queue that executors use is written in C, so it is replaced by one that is not; and a thread is joined in its own way.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from fuzzmcp.harness.clock import internals
from fuzzmcp.harness.clock.base import RunOver, real_join, real_lock, real_pool, real_submit
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread, Worker
from fuzzmcp.harness.clock.thread_registry import Registration, current
from fuzzmcp.harness.clock.thread_scheduler import ThreadScheduler
from fuzzmcp.harness.clock.threads import inside, managed_threads, unregistered
from fuzzmcp.harness.clock.time_functions import monotonic

pools: WeakKeyDictionary[ThreadPoolExecutor, LoopRun] = WeakKeyDictionary()
"""Those that a run has made: their threads are its own."""


def _scheduler_of(registration: Registration | None) -> tuple[ThreadScheduler, ManagedThread] | None:
    """Nobody but a foreign thread could wake a main thread that is alone: that is waited for in real time."""
    if registration is None:
        return None
    scheduler = registration.loop_run.scheduler
    if scheduler is None or (registration.thread is None and not scheduler.threads):
        return None
    return scheduler, registration.thread or scheduler.main


class _Lock:
    """The lock that a condition makes for one wait: it takes it, and takes it again as soon as it is notified."""

    def __init__(self, scheduler: ThreadScheduler, me: ManagedThread, frame: FrameType) -> None:
        self._scheduler, self._me, self._frame = scheduler, me, frame
        self._free = True

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not self._free:
            seconds = None if blocking and timeout < 0 else timeout if blocking else 0.0
            if not self._scheduler.wait(self._me, lambda: self._free, seconds, self._frame):
                return False
        self._free = False
        return True

    def release(self) -> None:
        if self._free:
            raise RuntimeError("release unlocked lock")
        self._free = True
        self._scheduler.wake(self._me)


def _allocate_lock() -> Any:
    frame = sys._getframe(1)
    if frame.f_code is internals.CONDITION_WAIT:
        found = _scheduler_of(current())
        if found is not None:
            return _Lock(*found, _outside_of_threading(frame))
    return real_lock()


def _outside_of_threading(frame: FrameType) -> FrameType:
    """Who waits, in his own words: not the condition in the event in the future."""
    own: FrameType | None = frame
    while own is not None and own.f_code.co_filename in internals.WAITING_FILES:
        own = own.f_back
    return own or frame


class _SimpleQueue(queue.Queue[Any]):
    """What executors keep their jobs in."""

    def __init__(self) -> None:
        super().__init__()

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        registration = current()
        me = None if registration is None else registration.thread
        if me is None or not block or timeout is not None:
            return super().get(block, timeout)
        me.pool = me.jobless = True
        try:
            return super().get()
        except RunOver:  # it may outlive the run, as it does elsewhere
            with unregistered():
                return super().get()
        finally:
            me.jobless = False


def _pool(self: ThreadPoolExecutor, *args: Any, **kwargs: Any) -> None:
    real_pool(self, *args, **kwargs)
    registration = current()
    if registration is not None:
        pools[self] = registration.loop_run


def _submit(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
    """To the threads of an executor that is older than the run: the clock stands still until they have begun.

    The future is one of ours: whoever waits for it is told while its thread still has its turn.
    """
    registration = current()
    if registration is None or pools.get(self) is registration.loop_run:
        return real_submit(self, fn, *args, **kwargs)
    loop_run, answer = registration.loop_run, Future[Any]()
    worker = Worker(loop_run.watchdog, awaited=True)

    def job() -> None:
        loop_run.workers.discard(worker)
        if answer.set_running_or_notify_cancel():
            try:
                value = fn(*args, **kwargs)
            except BaseException as error:
                answer.set_exception(error)
            else:
                answer.set_result(value)

    def dropped(future: Future[Any]) -> None:
        loop_run.workers.discard(worker)
        if future.cancelled():
            answer.cancel()

    loop_run.register(worker)
    try:
        real_submit(self, inside(loop_run, job)).add_done_callback(dropped)
    except BaseException:
        loop_run.delivered(worker)
        raise
    return answer


def _join(thread: threading.Thread, timeout: float | None = None) -> None:
    found, managed = _scheduler_of(current()), managed_threads.get(thread)
    if found is not None and managed is not None and thread is not threading.current_thread():
        scheduler, me = found
        if managed in scheduler.threads:
            managed.joiners.append(me)
            if not scheduler.wait(me, lambda: managed.gone, timeout, sys._getframe(1)):
                return None
            with unregistered():
                return real_join(thread)
    real_join(thread, timeout)
    return None


REPLACEMENTS: list[tuple[Any, str, Any]] = [
    (threading.Thread, "join", _join),
    (threading, internals.ALLOCATE_LOCK, _allocate_lock),
    (threading, internals.THREADING_CLOCK, monotonic),
    (queue, internals.QUEUE_CLOCK, monotonic),
    (queue, "SimpleQueue", _SimpleQueue),
    (ThreadPoolExecutor, "__init__", _pool),
    (ThreadPoolExecutor, "submit", _submit),
]
