"""What stands in for the waits of the standard library while a run is active.

`Condition.wait` makes a new lock for each wait, takes it, and takes it again; `notify` releases that lock. Events,
semaphores, barriers, futures and queues all wait in a condition. So one replacement covers them all: the maker of that
lock (`_allocate_lock`), which gives a lock of ours to `Condition.wait` and a real one to everything else. The second
`acquire` parks the thread, and `release` wakes it. The objects stay the standard ones, and one that was made before the
run works too.

Three waits need more. Executors keep their jobs in a queue that is written in C, so a queue that stands on a condition
replaces it. `Thread.join` waits in C. A pool that is older than the run has threads that belong to no run, so the jobs
that it gets (`_submit`) join the run for as long as they last.
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
"""The executors that a run has made: their threads belong to the run."""


def _scheduler_of(registration: Registration | None) -> tuple[ThreadScheduler, ManagedThread] | None:
    """The scheduler for a wait, and the thread that waits; None for a wait in real time.

    A main thread without other threads has no scheduler to wait in: only a thread of no run could wake it, and that
    thread works in real time.
    """
    if registration is None:
        return None
    scheduler = registration.loop_run.scheduler
    if scheduler is None or (registration.thread is None and not scheduler.threads):
        return None
    return scheduler, registration.thread or scheduler.main


class _Lock:
    """The lock of one wait of a condition. The first `acquire` is free, the second one is the wait."""

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
    """The frame of the code that waits. The frames in between are those of a condition, an event, a future."""
    own: FrameType | None = frame
    while own is not None and own.f_code.co_filename in internals.WAITING_FILES:
        own = own.f_back
    return own or frame


class _SimpleQueue(queue.Queue[Any]):
    """The queue in which executors keep their jobs.

    A thread that waits here without a time limit is a thread of a pool without a job. It is `jobless` meanwhile, so the
    clock never stands still for it.
    """

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
        except RunOver:  # a thread of a pool may outlive the run, as it outlives its jobs
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
    """Give a job to an executor that is older than the run: the clock stands still until the job has begun.

    The threads of the executor belong to no run and cannot be made to. The job itself is registered as a thread of the
    run while it lasts (`inside`). The future is made here and set by the job, while the job still has its turn. The
    executor would set its own future after the job has left the run, and the order of what follows would be accidental.
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
