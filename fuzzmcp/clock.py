"""Virtual time: an hour's wait costs microseconds, and an idle loop without a timer proves that it waits for ever.

When nothing is ready, the clock jumps to the next timer; nothing else moves it, except `time.sleep`. So a run depends
on no wall clock, and the same run gives the same times. `_patched_time` says which threads see that time,
`_trio_clock` holds the other backend.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import selectors
import sys
import weakref
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import Any, TypeVar, cast

from fuzzmcp import _patched_time
from fuzzmcp._patched_time import (
    EPOCH,
    UPTIME,
    Blocked,
    Deadlock,
    Exhausted,
    Handle,
    LoopStalled,
    Timeline,
    Worker,
    find,
    virtual_time,
)

__all__ = ["EPOCH", "Blocked", "Deadlock", "Handle", "LoopStalled", "VirtualClock"]

T = TypeVar("T")
OnTask = Callable[["asyncio.Task[Any]", "asyncio.Task[Any] | None"], None]
OnException = Callable[[dict[str, Any]], None]

_CANCELS = 10  # how often a teardown cancels a task that swallows it


class VirtualClock:
    """Runs async code in virtual time, on asyncio or trio.

    The threads of a run (the loop's, and those started from it) see the virtual time in `time.time`, `time.monotonic`,
    their `_ns` forms and the loop's own clock. `time.sleep` never sleeps there: on the loop's thread it moves the clock
    and is recorded in `blocked`; in another thread of the run it waits until the clock has moved. The clock stands
    still while a worker thread works (`run_in_executor`, `asyncio.to_thread`, anyio's and trio's `to_thread`). A thread
    that the client started by itself may work for one real second; after that, time passes without it. A loop that
    polls (`while not done: await sleep(0)`) lets time pass after 50,000 turns at one moment. Moments less than
    a nanosecond apart are the same moment.

    Not virtual: a name bound before the run (`from time import sleep`: that one really sleeps, and the watchdog sees
    a stall if it is long), `datetime.now`, `time.perf_counter`, waits with a timeout on locks and queues, a second
    event loop in a thread of the client, and real sockets and subprocesses, which the clock does not wait for.

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
            RuntimeError: this clock is running, or the backend is trio, and trio runs on this thread or is missing.
            BaseException: whatever `main`, `on_idle` or a callback of `call_at` raised.
        """
        if self._timeline is not None:
            raise RuntimeError("this clock is running already: make one VirtualClock for each run at a time")
        with _outside_of_any_loop():
            timeline, drive = self._prepare()
            self._timeline, self.blocked = timeline, timeline.blocked
            try:
                with virtual_time(timeline):
                    result = drive(main)
            except BaseException as error:
                verdict = timeline.fault if timeline.fault is not None else find(error, LoopStalled)
                if verdict is None or verdict is error:
                    raise
                raise verdict from error
            finally:
                self._ended, self._timeline = timeline.now(), None  # and nothing of the run is kept alive
        if timeline.fault is not None:
            raise timeline.fault
        return cast(T, result)

    def now(self) -> float:
        """Virtual seconds since `run` began; after it, when it ended."""
        return self._ended if self._timeline is None else self._timeline.now()

    def call_at(self, when: float, callback: Callable[[], None]) -> Handle:
        """Call `callback` on the loop's thread at virtual `when`, or at the next turn if that is not in the future.

        What is due at the same moment is called in the order of scheduling. `inf` means never. To be called on the
        loop's thread, during a run.

        Raises:
            RuntimeError: no run is active.

        Example:
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
        return self._timeline.call_at(when, callback)

    def _prepare(self) -> tuple[Timeline, Callable[[Callable[[], Awaitable[Any]]], Any]]:
        if self._backend == "asyncio":
            run = _AsyncioRun(self._watchdog, self._on_idle, self._on_task, self._on_exception)
            return run, run.drive
        try:
            import trio  # noqa: F401
        except ImportError:
            raise RuntimeError("the trio backend needs trio: pip install fuzzmcp[trio]") from None
        from fuzzmcp._trio_clock import TrioRun

        trio_run = TrioRun(self._watchdog, self._on_idle, self._seed)
        return trio_run, trio_run.drive


@contextmanager
def _outside_of_any_loop() -> Iterator[None]:
    """Make asyncio and sniffio forget the loop that is running on this thread, for a while."""
    loop = asyncio.events._get_running_loop()
    task = None if loop is None else asyncio.current_task(loop)
    library = getattr(sys.modules.get("sniffio"), "thread_local", None)
    name = getattr(library, "name", None)
    if loop is not None and task is not None:
        asyncio.tasks._leave_task(loop, task)
    asyncio.events._set_running_loop(None)
    if name is not None:
        library.name = None  # type: ignore[union-attr]
    try:
        yield
    finally:
        if name is not None:
            library.name = name  # type: ignore[union-attr]
        asyncio.events._set_running_loop(loop)
        if loop is not None and task is not None:
            asyncio.tasks._enter_task(loop, task)


# -- asyncio -----------------------------------------------------------------------------------------------------------


class _AsyncioRun(Timeline):
    """One run on a `_Loop`."""

    def __init__(
        self,
        watchdog: float,
        on_idle: Callable[[], None] | None,
        on_task: OnTask | None,
        on_exception: OnException | None,
    ) -> None:
        super().__init__(watchdog, on_idle)
        self.uptime = UPTIME
        self.on_task = on_task
        self.loop = _Loop(self)
        if on_exception is not None:
            self.loop.set_exception_handler(lambda _, context: on_exception(context))

    def monotonic(self) -> float:
        return self.uptime

    def advance(self, seconds: float) -> None:
        self.uptime += seconds

    def call_at(self, when: float, callback: Callable[[], None]) -> Handle:
        return self.loop.call_at(self.uptime if when <= self.now() else UPTIME + when, self.guarded(callback))

    def post(self, callback: Callable[..., object], *args: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(callback, *args)

    def drive(self, main: Callable[[], Awaitable[T]]) -> T:
        async def root() -> T:
            return await main()

        try:
            task: asyncio.Task[T] = self.loop.create_task(root())
            try:
                return self.loop.run_until_complete(task)
            finally:
                self._tear_down(task)
        finally:
            self.loop.close()

    def _tear_down(self, root: asyncio.Task[Any]) -> None:
        for _ in range(_CANCELS):
            tasks = self.loop.living_tasks()
            if not tasks:
                break
            for task in tasks:
                task.cancel()
            self._drain(self._all_done(tasks))
            for task in tasks:
                self._report(task, root)
        if getattr(self.loop, "_asyncgens", True):  # a peek, because it costs a third of an empty run
            self._drain(self.loop.shutdown_asyncgens())

    def _drain(self, awaitable: Awaitable[None]) -> None:
        self.begin_drain()
        with suppress(Exhausted, LoopStalled):
            self.loop.run_until_complete(awaitable)

    def _all_done(self, tasks: list[asyncio.Task[Any]]) -> asyncio.Future[None]:
        done: asyncio.Future[None] = self.loop.create_future()
        left = set(tasks)

        def end(task: asyncio.Task[Any]) -> None:
            left.discard(task)
            if not left and not done.done():
                done.set_result(None)

        for task in tasks:
            task.add_done_callback(end)
        return done

    def _report(self, task: asyncio.Task[Any], root: asyncio.Task[Any]) -> None:
        if not task.done() or task.cancelled():
            return
        error = task.exception()  # asking marks it as retrieved: the root's comes out of run()
        if error is not None and task is not root:
            message = "unhandled exception in a task that was cancelled at the end of the run"
            self.loop.call_exception_handler({"message": message, "exception": error, "task": task})

    # -- called by the selector ----------------------------------------------------------------------------------------

    def out_of_turns(self) -> None:
        """Too many turns at one moment: somebody polls, so let time pass; or it is time to give up."""
        if self.fault is not None:
            raise self.fault
        if self.draining:
            raise Exhausted
        due = self.loop.next_due()
        if due == math.inf:
            raise Deadlock(f"the loop turned {_patched_time.SPIN} times with no timer set: something polls for ever")
        self._jump(due)

    def stand_still(self, select: Callable[[None], list[Any]]) -> list[Any]:
        """Nothing is ready: wait for a worker, or jump, or be idle."""
        due = self.loop.next_due()
        self.idle = due == math.inf
        if due > self.uptime and self.held(idle=self.idle):
            self.waiting = True
            try:
                return select(None)
            finally:
                self.waiting = False
        if due < math.inf:
            self._jump(due)
        elif self.draining:
            raise Exhausted
        else:
            self.ask_idle(quiet_turns=1)
        return []

    def _jump(self, due: float) -> None:
        self.uptime = max(self.uptime, due)
        if not self.draining:
            self.last_turn = self.turns + _patched_time.SPIN


class _Selector(selectors.DefaultSelector):
    """The place where an event loop waits: ours does not."""

    run: _AsyncioRun

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        run = self.run
        run.turns += 1
        if run.turns > run.last_turn:
            run.out_of_turns()
        events = super().select(0)
        if timeout is None and not events:  # the loop's own timers are unused, so None says that nothing is ready
            events = run.stand_still(super().select)
        run.loop.release_due()
        return events


class _Loop(asyncio.SelectorEventLoop):
    """asyncio's loop with its own timers: exact, however far away, and first come first served at the same moment."""

    def __init__(self, run: _AsyncioRun) -> None:
        selector = _Selector()
        selector.run = run
        self._run = run
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._sequence = itertools.count()
        self._full = 64
        self._births: weakref.WeakValueDictionary[int, asyncio.Task[Any]] = weakref.WeakValueDictionary()
        super().__init__(selector)

    def time(self) -> float:
        return self._run.uptime

    def call_at(  # type: ignore[override]  # typeshed's TypeVarTuple needs Python 3.11
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        if when < math.inf:  # sleep(inf) is no reason to jump, and nan would poison the heap
            if len(self._timers) >= self._full:
                self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
                heapq.heapify(self._timers)
                self._full = max(64, 2 * len(self._timers))
            heapq.heappush(self._timers, (when, next(self._sequence), timer))
        return timer

    def close(self) -> None:
        self._timers.clear()
        super().close()

    def next_due(self) -> float:
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else math.inf

    def release_due(self) -> None:
        now = self._run.uptime
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            if not timer.cancelled():
                self.call_soon(_fire, timer)

    def create_task(self, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        # Not a task factory: a client may set one of its own, and that would replace ours.
        on_task = self._run.on_task
        parent = None if on_task is None else asyncio.current_task(self)
        task = super().create_task(coro, **kwargs)
        self._births[next(self._sequence)] = task
        if on_task is not None and not self._run.draining:
            on_task(task, parent)
        return task

    def living_tasks(self) -> list[asyncio.Task[Any]]:
        """In the order of birth: asyncio keeps them in a set, whose order differs from run to run."""
        known = [task for task in self._births.values() if not task.done()]
        if not known:
            return []  # the usual end, and cheap: all_tasks looks at the tasks of every loop that ever was
        living = asyncio.all_tasks(self)
        return known + sorted(living.difference(known), key=asyncio.Task.get_name)

    def run_in_executor(  # type: ignore[override]  # as above
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        run = self._run
        worker = Worker(run.watchdog, awaited=True)
        if executor is None or isinstance(executor, ThreadPoolExecutor):  # what goes to a process must be picklable
            func = run.inside(worker, func)
        run.hire(worker)
        try:
            future: asyncio.Future[Any] = super().run_in_executor(executor, func, *args)
        except BaseException:
            run.delivered(worker)
            raise
        future.add_done_callback(lambda _: run.delivered(worker))
        return future


def _fire(timer: asyncio.TimerHandle) -> None:
    if not timer.cancelled():  # by a callback before it in the same turn
        timer._run()
