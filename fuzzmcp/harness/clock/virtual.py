"""`VirtualClock`: runs one after the other, each in a time of its own."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from threading import get_ident
from typing import Any, TypeVar, cast

from fuzzmcp.harness.clock.asyncio_loop import AsyncioRun, OnException, OnTask
from fuzzmcp.harness.clock.errors import LoopStalled, find
from fuzzmcp.harness.clock.internals import outside_of_any_loop
from fuzzmcp.harness.clock.loop_run import Blocked, Handle, Timeline
from fuzzmcp.harness.clock.patches import patch, restore
from fuzzmcp.harness.clock.thread_registry import Place, places
from fuzzmcp.harness.clock.watchdog import WATCHDOG

T = TypeVar("T")


class VirtualClock:
    """Runs async code in virtual time, on asyncio or trio.

    The threads of a run (the loop's, and those started from it) see the virtual time in `time.time`, `time.monotonic`,
    their `_ns` forms and the clocks of their loops. `time.sleep` never sleeps there: on the loop's thread it moves the
    clock and is recorded in `blocked`; in another thread of the run it waits until the clock has moved. So do waits for
    events, conditions, semaphores, queues, futures and threads, and the timers of a loop of asyncio's that a thread
    makes for itself. Threads take turns: one works until it waits, so that each run has the same order. The clock
    stands still while any works. A thread that works for longer than the watchdog's patience loses its turn, as does
    one that waits for something else, such as a lock; of those that the client started by itself, each may then keep
    the clock standing for one real second, all in all. A loop that polls (`while not done: await sleep(0)`) lets time
    pass after 50,000 turns at one moment. Moments less than a nanosecond apart are the same moment. Threads that wait
    when the run ends are ended.

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

    blocked: list[Blocked]  # who blocked the loop in the last run, in order; one entry per place and turn of the loop

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
        self._timeline: Timeline | None = None
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
        if self._timeline is not None:
            raise RuntimeError("this clock is running already: make one VirtualClock for each run at a time")
        with outside_of_any_loop():
            timeline, drive = self._prepare()
            self._timeline, self.blocked = timeline, timeline.blocked
            self.now = timeline.now  # type: ignore[method-assign]  # asked at every frame: no detour
            try:
                with _virtual_time(timeline):
                    result = drive(main)
            except BaseException as error:
                verdict = timeline.fault if timeline.fault is not None else find(error, LoopStalled)
                if verdict is None or verdict is error:
                    raise
                raise verdict from (verdict.__cause__ or error)
            finally:
                self._ended, self._timeline = timeline.now(), None  # and nothing of the run is kept alive
                del self.now
        if timeline.fault is not None:
            raise timeline.fault
        return cast(T, result)

    def now(self) -> float:
        """Virtual seconds since `run` began; after it, when it ended."""
        timeline = self._timeline
        return self._ended if timeline is None else timeline.now()

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
        if self._timeline is None:
            raise RuntimeError("VirtualClock.call_at needs an active run")
        timeline = self._timeline
        if timeline.crew is not None and get_ident() != timeline.thread:
            return timeline.crew.call_at(when, timeline.guarded(callback))
        return timeline.call_at(when, callback, guard=guard)

    def on_loop(self, callback: Callable[[], None]) -> None:
        """Call it on the loop's thread: at once if that is this one, else soon."""
        timeline = self._timeline
        if timeline is None or timeline.thread == get_ident():
            callback()
        else:
            timeline.post(timeline.guarded(callback))

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
        if self._timeline is not None:
            self._timeline.stop(fault)

    def threads_left(self) -> list[str]:
        """The threads that the client has started and that live, by name and without numbers, in the order of birth.

        The threads of pools do not count, nor daemon threads without an event loop: they serve the whole process.
        """
        crew = None if self._timeline is None else self._timeline.crew
        return [] if crew is None else [re.sub(r"-\d+", "", member.name) for member in crew.left()]

    def _prepare(self) -> tuple[Timeline, Callable[[Callable[[], Awaitable[Any]]], Any]]:
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
    """Within it, the calling thread and the threads that it starts live in `timeline`, under the watchdog's eye."""

    __slots__ = ("_above", "_outer", "_timeline")

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def __enter__(self) -> None:
        timeline = self._timeline
        self._outer = places.get(timeline.thread)
        patch()
        places[timeline.thread] = Place(timeline, None)
        try:
            self._above = WATCHDOG.watch(timeline)
        except BaseException:
            self._leave()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            WATCHDOG.unwatch(self._timeline, self._above)  # first, so that nothing can interrupt the rest
        finally:
            self._leave()

    def _leave(self) -> None:
        timeline = self._timeline
        timeline.end()
        if self._outer is None:
            places.pop(timeline.thread, None)
        else:
            places[timeline.thread] = self._outer
        restore()
