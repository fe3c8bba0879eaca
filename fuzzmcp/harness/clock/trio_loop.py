"""Virtual time on trio: its own `MockClock`, which jumps when nothing is ready."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import trio
import trio.testing

from fuzzmcp.harness.clock import base
from fuzzmcp.harness.clock.base import UPTIME, Deadlock, Exhausted, find_error, raise_exhausted
from fuzzmcp.harness.clock.internals import seeded, throw_into
from fuzzmcp.harness.clock.loop_run import Handle, LoopRun
from fuzzmcp.harness.clock.pools import watch_trio_threads
from fuzzmcp.harness.clock.thread_scheduler import ThreadScheduler

T = TypeVar("T")

_THROWS = 100


@dataclass(eq=False)
class _Timer:
    """A scheduled callback."""

    run: TrioRun
    callback: Callable[[], None]
    guard: bool = False
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True
        self.run.set_alarm()


def _nothing() -> None:
    """Only to be called."""


class TrioRun(LoopRun, trio.abc.Instrument):
    """One run of trio. A system task, the pump, calls the callbacks: it is none of the client's tasks."""

    def __init__(self, watchdog: float, on_idle: Callable[[], None] | None, seed: int) -> None:
        super().__init__(watchdog, on_idle)
        watch_trio_threads()
        self._seed = seed
        self._clock = trio.testing.MockClock(autojump_threshold=0)
        self._read_clock = self._clock.current_time
        self._timers: list[tuple[float, int, _Timer]] = []
        self._sequence = itertools.count()
        self._alarm: trio.CancelScope | None = None
        self._result: Any = None
        self._throws = 0
        self._looked = 0.0
        self._stepped = self._asked = self._ended = False

    def monotonic(self) -> float:
        return UPTIME + self._read_clock()

    def advance(self, seconds: float) -> None:
        self._clock.jump(seconds)

    def post(self, callback: Callable[..., object], *args: object) -> None:
        with suppress(trio.RunFinishedError):
            self._token.run_sync_soon(callback, *args)

    def call_at(self, when: float, callback: Callable[[], None], *, guard: bool = False) -> Handle:
        timer = _Timer(self, self.guarded(callback), guard)
        if when < math.inf:
            due = self._read_clock() if when <= self.now() else when
            heapq.heappush(self._timers, (due, next(self._sequence), timer))
            self.set_alarm()
        return timer

    def fail(self, fault: BaseException) -> None:
        super().fail(fault)
        self.begin_drain()
        self._scope.cancel()

    def changed(self) -> None:
        threshold = math.inf if self.held(idle=self.idle) else 0.0
        if self._clock.autojump_threshold != threshold:
            self._clock.autojump_threshold = threshold

    def drive(self, main: Callable[[], Awaitable[T]]) -> T | None:
        with seeded(self._seed):
            try:
                return trio.run(self._root, main, clock=self._clock, instruments=[self])
            except BaseException as error:
                if find_error(error, Exhausted) is None:
                    raise
                if self.fault is None and not self._ended:
                    self.fault = Deadlock("a task does not end, though it was cancelled")
                return cast("T | None", self._result)  # run() raises the fault

    async def _root(self, main: Callable[[], Awaitable[T]]) -> T | None:
        self._token = trio.lowlevel.current_trio_token()
        self._main = trio.lowlevel.current_task()
        with trio.CancelScope() as self._scope:  # cancelled by fail() only
            trio.lowlevel.spawn_system_task(self._pump)
            try:
                self._result = await main()
            finally:
                self._ended = True
                self.begin_drain()
        return cast("T | None", self._result)

    # -- the pump ------------------------------------------------------------------------------------------------------

    def set_alarm(self) -> None:
        while self._timers and self._timers[0][2].cancelled:
            heapq.heappop(self._timers)
        if self._alarm is not None:
            self._alarm.deadline = self._timers[0][0] if self._timers else math.inf

    async def _pump(self) -> None:
        while True:
            with trio.CancelScope() as self._alarm:
                self.set_alarm()
                await trio.sleep_forever()
            if self._asked:
                self._asked = False
                self.guarded(lambda: self.ask_idle(quiet_turns=2))()
            now, due = self._read_clock(), []
            while self._timers and self._timers[0][0] <= now:
                due.append(heapq.heappop(self._timers)[2])
            if due and self._only_guards(due):
                self.guarded(lambda: self.ask_idle(quiet_turns=2))()
            for timer in due:
                if not timer.cancelled:
                    timer.callback()

    def _only_guards(self, due: list[_Timer]) -> bool:
        """Whether only guards are due and nothing else is ahead. Then the run is idle."""
        ahead = due + [timer for _, _, timer in self._timers]
        if any(not timer.guard for timer in ahead if not timer.cancelled) or self.draining:
            return False
        statistics = trio.lowlevel.current_statistics()
        return statistics.seconds_to_next_deadline == math.inf and statistics.tasks_runnable == 0

    # -- trio tells what it does ---------------------------------------------------------------------------------------

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._stepped = True

    def before_io_wait(self, timeout: float) -> None:
        self.turns += 1
        self.waiting = timeout > 0
        if self.scheduler is not None and self.turns <= self.last_turn and self._others_first(self.scheduler):
            self.post(_nothing)  # trio has decided already to jump or to wait: look again
            self._stepped = True
        if self.turns > self.last_turn:
            self._out_of_turns()
        elif not self._stepped and not self.waiting:
            self._quiet()
        elif self.idle and self._stepped:
            self.idle = False
            self.changed()
            self.post(self.changed)  # trio has decided already how long to wait: cut that short
        self._stepped = False

    def _others_first(self, scheduler: ThreadScheduler) -> bool:
        """Let the other threads work, and let time pass for them; False when there was nothing to do."""
        statistics = trio.lowlevel.current_statistics()
        if self.monotonic() != self._looked:  # trio has moved its clock
            self._looked = self.monotonic()
            scheduler.release_due()
        if statistics.tasks_runnable or statistics.run_sync_soon_queue_size:
            return self.turns % base.FAIR == 0 and scheduler.run_others()
        if scheduler.run_others():
            return True
        held, was_held = self.held(idle=self.idle), self._clock.autojump_threshold == math.inf
        if held or was_held:
            self.changed()
            return held != was_held
        now, due = self.monotonic(), scheduler.next_due()
        if due == math.inf or due >= now + statistics.seconds_to_next_deadline:
            return False
        self._clock.jump(max(due - now, 0.0))
        scheduler.release_due()
        return True

    def after_io_wait(self, timeout: float) -> None:
        self.waiting = False

    def _quiet(self) -> None:
        """A whole turn had nothing to do: either the clock has just jumped, or nothing can happen any more."""
        statistics = trio.lowlevel.current_statistics()
        if statistics.seconds_to_next_deadline < math.inf:
            if not self.draining:
                self.last_turn = self.turns + base.SPIN
            return
        if statistics.tasks_runnable or statistics.run_sync_soon_queue_size:
            return
        if self.held(idle=True):
            self.idle = True
            self.changed()  # from the next turn on, trio waits in real time
        elif self.draining:
            self._give_up()
        else:
            self._wake_pump()

    def _wake_pump(self) -> None:
        self._asked = True
        if self._alarm is not None:
            self._alarm.deadline = -math.inf

    def _out_of_turns(self) -> None:
        if self.draining:
            return self._give_up()
        wait = trio.lowlevel.current_statistics().seconds_to_next_deadline
        if wait == math.inf:
            polls = f"the loop turned {base.SPIN} times with no timer set: something polls for ever"
            return self.fail(Deadlock(polls))
        self._clock.jump(max(wait, 0.0))
        self.last_turn = self.turns + base.SPIN
        return None

    def _give_up(self) -> None:
        """Cancelling did not help: throw an exception into each task of `main`, as often as it takes, but not for ever.

        The last resort, an exception from trio's clock, ends any run at once, and leaves its tasks as garbage.
        """
        if self.end_threads():
            return self.post(_nothing)
        self._throws += 1
        if self._throws > _THROWS or self._ended:
            self._clock.current_time = raise_exhausted  # type: ignore[method-assign]
        else:
            throw_into(self._main)
        return None
