"""All that the clock takes from the private parts of the standard library, anyio and trio.

There is no public way to it: the waits of `threading`, a run inside of a running loop, timers that the loop does not
keep itself, a cheap look for asynchronous generators and for exceptions that nobody saw, the threads of pools, a seed
for trio's scheduler, and an end for trio's tasks that swallow every cancellation. A release of these libraries can
break this module, and no other; tests fail when one does.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import queue
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fuzzmcp.harness.clock.base import Exhausted, raise_exhausted

# -- threading and queue -----------------------------------------------------------------------------------------------

CONDITION_WAIT = threading.Condition.wait.__code__
"""The code that makes a lock for each wait, by the function below. Releasing that lock ends the wait."""
ALLOCATE_LOCK = "_allocate_lock"
"""The name in `threading` of the function that makes that lock."""
THREADING_CLOCK, QUEUE_CLOCK = "_time", "time"
"""The names for `time.monotonic` in `threading` and in `queue`."""
WAITING_FILES = {
    code.co_filename
    for code in (
        CONDITION_WAIT,
        queue.Queue.get.__code__,
        concurrent.futures.Future.result.__code__,
        concurrent.futures.wait.__code__,
    )
} | {os.path.join(os.path.dirname(__file__), name) for name in ("waits.py", "threads.py")}

# -- asyncio -----------------------------------------------------------------------------------------------------------


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop of this thread, if one runs. The public function raises instead, and costs more."""
    return asyncio.events._get_running_loop()


def others_wait_for(loop: asyncio.AbstractEventLoop | None) -> bool:
    """Whether more than the running task would like this loop to go on."""
    return loop is not None and len(asyncio.all_tasks(loop)) > 1


class outside_of_any_loop:  # noqa: N801  (a block, as in contextlib, whose generators would cost every run more)
    """Makes asyncio, trio and sniffio forget the loop that is running on this thread, for a while.

    sniffio keeps the name of the loop in two places: trio writes it to a thread-local, anyio to a context variable. If
    either of them named the outer loop, anyio would call that one from within the inner one.

    trio has no public way to run inside of itself. What it knows of the run of a thread is the content of one
    thread-local, which is put aside. So is the file descriptor that it is woken through by signals: a second run would
    warn of it.
    """

    __slots__ = ("_library", "_loop", "_name", "_sniffed", "_task", "_trio", "_variable", "_wakeup")

    def __enter__(self) -> None:
        self._loop = loop = running_loop()
        self._task = None if loop is None else asyncio.current_task(loop)
        sniffio = sys.modules.get("sniffio")
        self._library = getattr(sniffio, "thread_local", None)
        self._name = getattr(self._library, "name", None)
        self._variable = getattr(sniffio, "current_async_library_cvar", None)
        self._sniffed = None if self._variable is None else self._variable.get()
        if loop is not None and self._task is not None:
            asyncio.tasks._leave_task(loop, self._task)
        asyncio.events._set_running_loop(None)
        if self._name is not None:
            self._library.name = None  # type: ignore[union-attr]
        if self._sniffed is not None:
            self._variable.set(None)  # type: ignore[union-attr]
        self._trio, self._wakeup = _trio_put_aside()

    def __exit__(self, *_: object) -> None:
        if self._trio is not None:
            _trio_taken_up(self._trio, self._wakeup)
        if self._sniffed is not None:
            self._variable.set(self._sniffed)  # type: ignore[union-attr]  # no token: this may be another context
        if self._name is not None:
            self._library.name = self._name  # type: ignore[union-attr]
        asyncio.events._set_running_loop(self._loop)
        if self._loop is not None and self._task is not None:
            asyncio.tasks._enter_task(self._loop, self._task)


def _trio_put_aside() -> tuple[dict[str, Any] | None, int]:
    """What trio knows of its run on this thread, which it then no longer knows, and its wakeup file descriptor."""
    trio = sys.modules.get("trio")
    if trio is None or not trio.lowlevel.in_trio_run():
        return None, -1
    context = trio._core._run.GLOBAL_RUN_CONTEXT.__dict__
    known = dict(context)
    context.clear()
    main = threading.current_thread() is threading.main_thread()
    return known, signal.set_wakeup_fd(-1) if main else -1


def _trio_taken_up(known: dict[str, Any], wakeup: int) -> None:
    context = sys.modules["trio"]._core._run.GLOBAL_RUN_CONTEXT.__dict__
    context.clear()
    context.update(known)
    if wakeup != -1:
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)


def has_asyncgens(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether some may have to be closed. The public way to ask costs a third of an empty run."""
    return bool(getattr(loop, "_asyncgens", True))


def fire(timer: asyncio.TimerHandle) -> None:
    """Call it, as the loop does with its own timers."""
    if not timer.cancelled():  # an earlier callback of the same turn may have cancelled it
        timer._run()


def failed_unseen(task: Any) -> bool:
    """Whether it failed and no code has asked why. The public way marks it as seen, and its `repr` costs too much."""
    return bool(getattr(task, "_log_traceback", False))


# -- anyio -------------------------------------------------------------------------------------------------------------


ANYIO_POOL = "anyio._backends._asyncio"
"""The module of its class of worker threads, which wait for jobs as long as their loop lives."""


# -- trio: imported where it is used, because it is an extra -----------------------------------------------------------


def trio_thread_cache() -> Any:
    """The class of its thread cache, through which trio starts every thread."""
    import trio

    return type(trio._core._thread_cache.THREAD_CACHE)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Make trio's scheduler draw from `seed`. It is one for the process: runs in parallel threads share it."""
    import trio

    core = trio._core._run
    names = ("_r", "_ALLOW_DETERMINISTIC_SCHEDULING")
    before = [getattr(core, name) for name in names]
    for name, value in zip(names, (random.Random(seed), True), strict=True):
        setattr(core, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(core, name, value)


def throw_into(task: Any) -> None:
    """Throw into the task and its descendants, shielded or not, as trio itself does with KeyboardInterrupt."""
    for nursery in task.child_nurseries:
        for child in tuple(nursery.child_tasks):
            throw_into(child)
    if task._abort_func is not None:  # it waits for something
        task._attempt_abort(raise_exhausted)
    elif task._next_send_fn is not None:  # it is about to run
        task._next_send_fn, task._next_send = task.coro.throw, Exhausted()
