"""`VirtualClock`: runs one after the other, each in a time of its own."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from threading import get_ident
from typing import Any, TypeVar, cast

from fuzzmcp.harness.clock.asyncio_loop import AsyncioRun, OnException, OnTask
from fuzzmcp.harness.clock.base import LoopStalled, find_error
from fuzzmcp.harness.clock.internals import outside_of_any_loop
from fuzzmcp.harness.clock.loop_run import Blocked, Handle, LoopRun
from fuzzmcp.harness.clock.patches import patch, restore
from fuzzmcp.harness.clock.thread_registry import Registration, registrations
from fuzzmcp.harness.clock.watchdog import WATCHDOG

T = TypeVar("T")


class VirtualClock:
    """Runs async code in virtual time, on asyncio or trio.

    The threads of a run (the loop's, and those started from it) see the virtual time in `time.time`, `time.monotonic`,
    their `_ns` forms and the clocks of their loops. `time.sleep` never sleeps there: on the loop's thread it moves the
    clock and is recorded in `blocked`; in another thread of the run it waits until the clock has moved. Waits for
    events, conditions, semaphores, queues, futures and threads do the same, and so do the timers of a loop of asyncio
    that a thread makes for itself. Threads take turns: one works until it waits, so each run has the same order. The
    clock stands still while a thread works. A thread loses its turn when it works for longer than the watchdog's
    patience, or waits for something else, such as a lock. It may then keep the clock standing for one real second, all
    in all, if the client started it by itself. A loop that polls (`while not done: await sleep(0)`) lets time pass
    after 50,000 turns at one moment. Moments less than a nanosecond apart are the same moment. Threads that wait when
    the run ends are ended.

    Not virtual: a name bound before the run (`from time import sleep`: that one really sleeps, and the watchdog sees
    a stall if it is long), `datetime.now`, `time.perf_counter`, locks, an event loop that asyncio did not make
    (uvloop), and real sockets and subprocesses, which the clock does not wait for.

    Args:
        backend: "asyncio" or "trio".
        seed: chooses trio's task schedule. asyncio has only one.
        watchdog: real seconds without a turn of the loop, after which `LoopStalled` is raised in the code that holds
            it up: at most five times per stall. Python code can be interrupted; a C call that never returns (a lock
            that is never released) cannot, and is only recorded. Also the real seconds for which the clock stands
            still for one job of a worker thread.
        on_idle: called each time that nothing can happen any more. It may cancel tasks or schedule something.
        on_task: called with each new task of asyncio and the task that made it, if any.
        on_exception: gets what asyncio gives its exception handler, such as exceptions that nobody retrieved.

    Example:
        >>> import asyncio
        >>> clock = VirtualClock()
        >>> async def main():
        ...     await asyncio.sleep(3600)
        ...     return clock.now()
        >>> clock.run(main)
        3600.0
    """

    blocked: list[Blocked]  # what blocked the loop in the last run, in order; one entry per place and turn of the loop

    def __init__(
        self,
        backend: str = "asyncio",
        *,
        seed: int = 0,
        watchdog: float = 10.0,
        on_idle: Callable[[], None] | None = None,
        on_task: OnTask | None = None,
        on_exception: OnException | None = None,
    ) -> None:
        if backend not in ("asyncio", "trio"):
            raise ValueError(f"backend must be 'asyncio' or 'trio', not {backend!r}")
        if not watchdog > 0:
            raise ValueError(f"watchdog must be a positive number of seconds, not {watchdog!r}")
        self.blocked = []
        self._backend, self._seed, self._watchdog = backend, seed, watchdog
        self._on_idle, self._on_task, self._on_exception = on_idle, on_task, on_exception
        self._loop_run: LoopRun | None = None
        self._ended = 0.0

    def run(self, main: Callable[[], Awaitable[T]]) -> T:
        """Call `main` on a fresh loop that begins at virtual 0.0, drive it to its end, and leave nothing behind.

        Tasks that are left are cancelled; one that swallows every cancellation is abandoned after a bounded number of
        turns. May be called from inside a running loop (an async test), which stands still meanwhile.

        Raises:
            Deadlock: nothing can happen any more, and `on_idle` did not change that; or the loop polls for ever.
            LoopStalled: the loop was held up, and no task caught it.
            RuntimeError: this clock is running, or the backend is trio, and trio is missing.
            BaseException: whatever `main`, `on_idle` or a callback of `call_at` raised.
        """
        if self._loop_run is not None:
            raise RuntimeError("this clock is running already: make one VirtualClock for each run at a time")
        with outside_of_any_loop():
            loop_run, drive = self._prepare()
            self._loop_run, self.blocked = loop_run, loop_run.blocked
            self.now = loop_run.now  # type: ignore[method-assign]  # asked at every frame: no detour
            try:
                with _virtual_time(loop_run):
                    result = drive(main)
            except BaseException as error:
                verdict = loop_run.fault if loop_run.fault is not None else find_error(error, LoopStalled)
                if verdict is None or verdict is error:
                    raise
                raise verdict from (verdict.__cause__ or error)
            finally:
                self._ended, self._loop_run = loop_run.now(), None  # and nothing of the run is kept alive
                del self.now
        if loop_run.fault is not None:
            raise loop_run.fault
        return cast(T, result)

    def now(self) -> float:
        """Virtual seconds since `run` began; after it, when it ended."""
        loop_run = self._loop_run
        return self._ended if loop_run is None else loop_run.now()

    def call_at(self, when: float, callback: Callable[[], None], *, guard: bool = False) -> Handle:
        """Call `callback` on the loop's thread at virtual `when`, or at the next turn if that is not in the future.

        What is due at the same moment is called in the order of scheduling. `inf` means never. To be called on the
        loop's thread, during a run. A `guard` watches over the run and is no part of it: a loop with nothing but guards
        ahead is idle (asyncio says so at once, trio when the first guard is due).

        Raises:
            RuntimeError: no run is active.

        Example:
            >>> import asyncio
            >>> clock = VirtualClock()
            >>> async def main():
            ...     answer = asyncio.get_running_loop().create_future()
            ...     clock.call_at(2.5, lambda: answer.set_result(clock.now()))
            ...     return await answer
            >>> clock.run(main)
            2.5
        """
        if self._loop_run is None:
            raise RuntimeError("VirtualClock.call_at needs an active run")
        loop_run = self._loop_run
        if loop_run.scheduler is not None and get_ident() != loop_run.main_ident:
            return loop_run.scheduler.call_at(when, loop_run.guarded(callback))
        return loop_run.call_at(when, callback, guard=guard)

    def on_loop(self, callback: Callable[[], None]) -> None:
        """Call it on the loop's thread: at once on that thread, else soon."""
        loop_run = self._loop_run
        if loop_run is None or loop_run.main_ident == get_ident():
            callback()
        else:
            loop_run.post(loop_run.guarded(callback))

    def fail(self, fault: BaseException) -> None:
        """End the run: `run` raises this exception, or the first of several. From any thread.

        Example:
            >>> import asyncio
            >>> clock = VirtualClock()
            >>> async def main():
            ...     clock.fail(ValueError("no more"))
            ...     await asyncio.sleep(1)
            >>> clock.run(main)
            Traceback (most recent call last):
            ...
            ValueError: no more
        """
        if self._loop_run is not None:
            self._loop_run.stop(fault)

    def threads_left(self) -> list[str]:
        """The threads that the client has started and that live, by name and without numbers, in the order of birth.

        The threads of pools and daemon threads without an event loop do not count: they serve the whole process.
        """
        scheduler = None if self._loop_run is None else self._loop_run.scheduler
        return [] if scheduler is None else [re.sub(r"-\d+", "", managed.name) for managed in scheduler.left()]

    def _prepare(self) -> tuple[LoopRun, Callable[[Callable[[], Awaitable[Any]]], Any]]:
        if self._backend == "asyncio":
            run = AsyncioRun(self._watchdog, self._on_idle, self._on_task, self._on_exception)
            return run, run.drive
        try:
            import trio  # noqa: F401
        except ImportError:
            raise RuntimeError("the trio backend needs trio: pip install fuzzmcp[trio]") from None
        from fuzzmcp.harness.clock.trio_loop import TrioRun

        trio_run = TrioRun(self._watchdog, self._on_idle, self._seed)
        trio_run.on_task, trio_run.on_exception = self._on_task, self._on_exception
        return trio_run, trio_run.drive


class _virtual_time:  # noqa: N801  (a block, as in contextlib, whose generators would cost every run twice as much)
    """Within it, the calling thread and the threads that it starts live in `loop_run`, under the watchdog's eye."""

    __slots__ = ("_above", "_loop_run", "_outer")

    def __init__(self, loop_run: LoopRun) -> None:
        self._loop_run = loop_run

    def __enter__(self) -> None:
        loop_run = self._loop_run
        self._outer = registrations.get(loop_run.main_ident)
        patch()
        registrations[loop_run.main_ident] = Registration(loop_run, None)
        try:
            self._above = WATCHDOG.watch(loop_run)
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            WATCHDOG.unwatch(self._loop_run, self._above)  # first, so that nothing can interrupt the rest
        finally:
            self._leave()

    def _leave(self) -> None:
        loop_run = self._loop_run
        loop_run.end()
        if self._outer is None:
            registrations.pop(loop_run.main_ident, None)
        else:
            registrations[loop_run.main_ident] = self._outer
        restore()
