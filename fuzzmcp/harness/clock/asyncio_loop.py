"""Virtual time on asyncio: an event loop of our own, whose selector never waits for a timer."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import selectors
import weakref
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from typing import Any, Protocol, TypeVar

from fuzzmcp.harness.clock import base
from fuzzmcp.harness.clock.base import UPTIME, Deadlock, Exhausted, LoopStalled
from fuzzmcp.harness.clock.internals import fire, has_asyncgens
from fuzzmcp.harness.clock.loop_run import Handle, LoopRun
from fuzzmcp.harness.clock.managed import Worker
from fuzzmcp.harness.clock.thread_registry import Timed

T = TypeVar("T")
OnTask = Callable[["asyncio.Task[Any]", "asyncio.Task[Any] | None"], None]
OnException = Callable[[dict[str, Any]], None]

_CANCELS = 10  # how often a teardown cancels a task that swallows it


class AsyncioRun(LoopRun):
    """One run on a `VirtualLoop`."""

    def __init__(
        self,
        watchdog: float,
        on_idle: Callable[[], None] | None,
        on_task: OnTask | None,
        on_exception: OnException | None,
    ) -> None:
        super().__init__(watchdog, on_idle)
        self.uptime, self._now = UPTIME, 0.0
        self.earliest = math.inf
        """No timer or guard is due before: the selector has nothing to release until then."""
        self.on_task, self.on_exception = on_task, on_exception
        self._last_turn = self.last_turn
        self.loop = VirtualLoop(self)
        if on_exception is not None:
            self.loop.set_exception_handler(lambda _, context: on_exception(context))

    @property
    def loop_run(self) -> LoopRun:
        return self

    def monotonic(self) -> float:
        return self.uptime

    def advance(self, seconds: float) -> None:
        self._move(self.uptime + seconds)

    def now(self) -> float:
        return self._now

    def _move(self, uptime: float) -> None:
        # As in LoopRun.now, but once per move: it is read far more often. Both at once: other threads read them too.
        self.uptime, self._now = uptime, round(uptime - UPTIME, 9)

    def call_at(self, when: float, callback: Callable[[], None], *, guard: bool = False) -> Handle:
        schedule = self.loop.guard_at if guard else self.loop.call_at
        return schedule(self.uptime if when <= self.now() else UPTIME + when, self.guarded(callback))

    def woken(self) -> None:
        """Tell the scheduler that another thread has given the loop something to do."""
        if self.scheduler is not None:
            self.scheduler.wake(self.scheduler.main)

    def hurry(self) -> None:
        self.last_turn = min(self.last_turn, self.turns + base.FAIR)

    def begin_drain(self) -> None:
        super().begin_drain()
        self._last_turn = self.last_turn

    def post(self, callback: Callable[..., object], *args: object) -> None:
        with suppress(RuntimeError, AttributeError):  # the loop is closed, or gone
            self.loop.call_soon_threadsafe(callback, *args)

    def drive(self, main: Callable[[], Awaitable[T]]) -> T:
        async def root() -> T:
            return await main()

        try:
            task: asyncio.Task[T] = self.loop.create_task(root())
            self._root = task
            try:
                return self.loop.run_until_complete(task)
            finally:
                self._tear_down(task)
        finally:
            self.loop.close()
            del self._root, self.loop  # they know each other: a cycle would have to wait for the garbage collector

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
        if has_asyncgens(self.loop):
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
        error = task.exception()  # to ask marks it as retrieved; that of the root comes out of run()
        if error is not None and task is not root:
            message = "unhandled exception in a task that was cancelled at the end of the run"
            self.loop.call_exception_handler({"message": message, "exception": error, "task": task})

    # -- called by the selector ----------------------------------------------------------------------------------------

    def out_of_turns(self) -> None:
        """The loop turned too often at one moment: some task polls, so let time pass, or give up."""
        if self.fault is not None and not self.draining:
            if self._root.done():  # the loop stops in this turn, and must: asyncio would stop the next one instead
                return
            raise self.fault
        if self.turns <= self._last_turn and self.scheduler is not None:  # hurry() had lowered the limit
            self.last_turn = self._last_turn
            self.scheduler.run_others()
            return
        if self.draining:
            raise Exhausted
        due = self.next_due()
        if due == math.inf:
            raise Deadlock(f"the loop turned {base.SPIN} times with no timer set: something polls for ever")
        self._jump(due)

    def stand_still(self, select: Callable[[None], list[Any]]) -> list[Any]:
        """Nothing is ready: let other threads work, wait for a worker, jump, or be idle."""
        if self.scheduler is not None and self.scheduler.run_others():
            return []
        due = self.next_due()
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
            if not self.end_threads():
                raise Exhausted
        else:
            self.ask_idle(quiet_turns=1)
        return []

    def next_due(self) -> float:
        due = self.loop.next_due()
        return due if self.scheduler is None else min(due, self.scheduler.next_due())

    def _jump(self, due: float) -> None:
        due = min(due, self.loop.next_guard())
        if due > self.uptime:
            self._move(due)
        if self.scheduler is not None:
            self.scheduler.release_due()
        if not self.draining:
            self.last_turn = self._last_turn = self.turns + base.SPIN


class LoopDriver(Protocol):
    """What a `VirtualLoop` needs of the one that moves its time."""

    turns: int
    last_turn: int
    draining: bool
    earliest: float
    loop: VirtualLoop

    @property
    def on_task(self) -> Any: ...
    @property
    def loop_run(self) -> LoopRun: ...
    @property
    def uptime(self) -> float: ...
    def woken(self) -> None: ...
    def out_of_turns(self) -> None: ...
    def stand_still(self, select: Callable[[float | None], list[Any]]) -> list[Any]: ...


class _Selector(selectors.DefaultSelector):
    """The object in which an event loop waits. This one never waits for a timer."""

    driver: LoopDriver
    registered = 0

    def register(self, *args: Any) -> selectors.SelectorKey:
        self.registered += 1
        return super().register(*args)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        self.registered -= 1
        return super().unregister(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        driver = self.driver
        driver.turns = turns = driver.turns + 1
        if turns > driver.last_turn:
            driver.out_of_turns()
        events: list[tuple[selectors.SelectorKey, int]] = []
        if timeout is None or self.registered > 1:  # one is the pipe of the loop itself, which only ends a wait
            poll = super().select
            events = poll(0)
            if timeout is None and not events:  # the loop's own timers are unused, so None says that nothing is ready
                events = driver.stand_still(poll)
        if driver.earliest <= driver.uptime:
            driver.loop.release_due()
        return events


def _first(timers: list[tuple[float, int, asyncio.TimerHandle]]) -> float:
    while timers and timers[0][2].cancelled():
        heapq.heappop(timers)
    return timers[0][0] if timers else math.inf


class VirtualLoop(Timed, asyncio.SelectorEventLoop):
    """asyncio's loop with timers of its own: exact at any distance, and first come first served at one moment."""

    def __init__(self, driver: LoopDriver) -> None:
        selector = _Selector()
        selector.driver = driver
        self._driver = driver
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._sequence = itertools.count()
        self._full = 64
        self._guards: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._endless: list[asyncio.TimerHandle] = []  # never due, but they keep the tasks alive that wait for them
        self._births: list[weakref.ref[asyncio.Task[Any]]] = []
        self._many = 64
        super().__init__(selector)

    def time(self) -> float:
        return self._driver.uptime

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
            if when < self._driver.earliest:
                self._driver.earliest = when
        else:
            self._endless = [endless for endless in self._endless if not endless.cancelled()]
            self._endless.append(timer)
        return timer

    def call_soon_threadsafe(  # type: ignore[override]  # as above
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._driver.woken()
        return handle

    def guard_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """A timer that is no reason to jump: it is called when the clock passes it for another reason."""
        timer = asyncio.TimerHandle(when, callback, (), self, None)
        heapq.heappush(self._guards, (when, next(self._sequence), timer))
        if when < self._driver.earliest:
            self._driver.earliest = when
        return timer

    def close(self) -> None:
        self._timers.clear()
        self._guards.clear()
        self._endless.clear()
        super().close()

    def next_due(self) -> float:
        return _first(self._timers)

    def next_guard(self) -> float:
        return _first(self._guards)

    def release_due(self) -> None:
        now = self._driver.uptime
        for timers in (self._guards, self._timers):
            while timers and timers[0][0] <= now:
                timer = heapq.heappop(timers)[2]
                if not timer.cancelled():
                    self.call_soon(fire, timer)
        self._driver.earliest = min(timers[0][0] if timers else math.inf for timers in (self._guards, self._timers))

    def create_task(self, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        # Not a task factory: a client may set one of its own, and that would replace ours.
        on_task = self._driver.on_task
        parent = None if on_task is None else asyncio.current_task(self)
        task = super().create_task(coro, **kwargs)
        if len(self._births) >= self._many:
            self._births = [birth for birth in self._births if birth() is not None]
            self._many = max(64, 2 * len(self._births))
        self._births.append(weakref.ref(task))
        if on_task is not None and not self._driver.draining:
            on_task(task, parent)
        return task

    def living_tasks(self) -> list[asyncio.Task[Any]]:
        """In the order of birth. asyncio keeps them in a set, and its order differs from run to run."""
        known = [task for birth in self._births if (task := birth()) is not None and not task.done()]
        if not known:
            return []  # the usual end, and cheap: all_tasks looks at the tasks of every loop that ever was
        living = asyncio.all_tasks(self)
        return known + sorted(living.difference(known), key=asyncio.Task.get_name)

    def run_in_executor(  # type: ignore[override]  # as above
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        loop_run = self._driver.loop_run
        if executor is None or isinstance(executor, ThreadPoolExecutor):
            return super().run_in_executor(executor, func, *args)
        worker = Worker(loop_run.watchdog, awaited=True)  # another process
        loop_run.register(worker)
        try:
            future: asyncio.Future[Any] = super().run_in_executor(executor, func, *args)
        except BaseException:
            loop_run.delivered(worker)
            raise
        future.add_done_callback(lambda _: loop_run.delivered(worker))
        return future
