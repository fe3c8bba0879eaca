"""Event loops of asyncio that code of a run makes for itself, mostly for a thread of its own: they share the run's
time.

A client that blocks its caller often keeps a loop in a thread. That loop would wait in its selector, in real time. So
`asyncio.new_event_loop` gives it a `VirtualLoop` instead, with a driver that moves no time: a loop with nothing to do
parks its thread in the scheduler until its next timer is due or another thread wakes the loop. A loop that is never
idle yields its turn now and then.

The loop asks for the run of its thread anew at each turn, because it may be made in one thread and run in another. A
loop that outlives its run, or gets a thread of no run, waits in real time like any other.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from threading import get_ident
from typing import Any

from fuzzmcp.harness.clock import base
from fuzzmcp.harness.clock.asyncio_loop import OnTask, VirtualLoop
from fuzzmcp.harness.clock.base import RunOver, real_monotonic, real_new_event_loop
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread
from fuzzmcp.harness.clock.thread_registry import current, registrations
from fuzzmcp.harness.clock.thread_scheduler import ThreadScheduler


class ThreadLoopDriver:
    """Drives the loop of a thread, in the time of the run that the thread belongs to."""

    def __init__(self, loop_run: LoopRun) -> None:
        self._origin = loop_run
        self.turns, self.last_turn = 0, base.FAIR
        self.draining, self.earliest = False, math.inf
        self._woken = False
        self._sleeper: tuple[ThreadScheduler, ManagedThread] | None = None
        self.loop = VirtualLoop(self)
        if loop_run.on_exception is not None:
            tell = loop_run.on_exception
            self.loop.set_exception_handler(lambda _, context: tell(context))

    @property
    def loop_run(self) -> LoopRun:
        registration = current()
        return self._origin if registration is None else registration.loop_run

    @property
    def on_task(self) -> OnTask | None:
        return self.loop_run.on_task

    @property
    def uptime(self) -> float:
        registration = current()
        return real_monotonic() if registration is None else registration.loop_run.monotonic()

    def woken(self) -> None:
        self._woken = True
        sleeper = self._sleeper
        if sleeper is not None:
            sleeper[0].wake(sleeper[1])

    # -- called by the selector ----------------------------------------------------------------------------------------

    def out_of_turns(self) -> None:
        self.last_turn = self.turns + base.FAIR
        registration = registrations.get(get_ident())
        if registration is not None:
            if registration.loop_run.over:
                raise RunOver
            scheduler = registration.loop_run.ensure_scheduler()
            # A busy loop does not park, so nothing else would let the other threads work, or time pass.
            scheduler.yield_turn(registration.thread or scheduler.main, self.loop.next_due())

    def stand_still(self, select: Callable[[float | None], list[Any]]) -> list[Any]:
        registration, due = registrations.get(get_ident()), self.loop.next_due()
        if registration is None:  # its thread belongs to no run: it is a loop like any other
            return select(None if due == math.inf else max(due - real_monotonic(), 0.0))
        if registration.loop_run.over:
            raise RunOver
        scheduler = registration.loop_run.ensure_scheduler()
        me = registration.thread or scheduler.main
        self._sleeper = scheduler, me
        me.loops += 1
        try:
            scheduler.park_in_loop(me, due, lambda: self._woken)
        finally:
            me.loops -= 1
            self._sleeper, self._woken = None, False
        return []

    # -- the end of the run --------------------------------------------------------------------------------------------

    def cancel_tasks(self) -> None:
        """Cancel the tasks of the loop, because the run ends. What they raise then is told to no one."""

        def cancel() -> None:
            for task in self.loop.living_tasks():
                task.cancel()

        if self.loop.is_running():
            self.loop.set_exception_handler(lambda _, context: None)
            self.loop.call_soon_threadsafe(cancel)

    def close(self) -> None:
        self.loop.set_exception_handler(lambda _, context: None)
        if not self.loop.is_running():
            self.loop.close()


def _new_event_loop() -> asyncio.AbstractEventLoop:
    registration = current()
    if registration is None:
        return real_new_event_loop()
    run = ThreadLoopDriver(registration.loop_run)
    registration.loop_run.ensure_scheduler().loops.append(run)
    return run.loop


REPLACEMENTS: list[tuple[Any, str, Any]] = [
    (asyncio, "new_event_loop", _new_event_loop),
    (asyncio.events, "new_event_loop", _new_event_loop),
]
