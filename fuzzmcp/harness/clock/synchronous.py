"""Virtual time for a block of synchronous code: the loop turns in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fuzzmcp.harness.clock.asyncio_loop import OnTask
from fuzzmcp.harness.clock.base import GRACE, RunOver, real_start
from fuzzmcp.harness.clock.internals import outside_of_any_loop
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread
from fuzzmcp.harness.clock.thread_registry import current
from fuzzmcp.harness.clock.threads import at_work
from fuzzmcp.harness.clock.virtual import VirtualClock


@contextmanager
def virtual_block(
    began: Callable[[LoopRun], None] | None = None, *, on_task: OnTask | None = None
) -> Iterator[Callable[[], float]]:
    """Let the calling thread live in virtual time for a block. It yields a function that gives the virtual seconds.

    Args:
        began: Called with the run before the block begins, on the thread of its loop.
        on_task: As `VirtualClock` takes it.

    Raises:
        Deadlock: The block waits for something that never comes.
        BaseException: What else ended the run, such as the argument of `LoopRun.fail`.

    >>> import time
    >>> with virtual_block() as now:
    ...     time.sleep(3600)
    ...     now()
    3600.0
    """
    clock = _ClockBeside(began, on_task)
    clock.start()
    try:
        with outside_of_any_loop(), clock.living():
            yield clock.now
    except RunOver:  # the block was ended with the run, and the reason is the run's
        if clock.fault is None:
            raise
    if clock.fault is not None:
        raise clock.fault


class _ClockBeside:
    """A virtual clock on a thread of its own. The calling thread is one of the threads of its run.

    The clock stands still while that thread works. So it may wait for other threads, and those for the clock.
    """

    def __init__(self, began: Callable[[LoopRun], None] | None, on_task: OnTask | None) -> None:
        self.fault: BaseException | None = None
        self._began = began
        self._clock = VirtualClock(on_idle=self._look_again, on_task=on_task)
        self._caller: ManagedThread | None = None
        self._loop_run: LoopRun | None = None
        self._done: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._turn, name="fuzzmcp virtual time", daemon=True)

    def now(self) -> float:
        return self._clock.now()

    def start(self) -> None:
        """Return when the loop turns."""
        real_start(self._thread)
        self._ready.wait()

    @contextmanager
    def living(self) -> Iterator[None]:
        """The calling thread lives in the time of the run, and the run ends with the block."""
        loop_run, caller = self._loop_run, self._caller
        assert loop_run is not None
        assert caller is not None
        try:
            with at_work(loop_run, caller):
                try:
                    yield
                finally:
                    if self._done is not None:
                        loop_run.post(self._done.set)
        finally:
            self._thread.join()

    def _turn(self) -> None:
        try:
            self._clock.run(self._main)
        except BaseException as fault:
            self.fault = fault
        finally:
            self._ready.set()

    async def _main(self) -> None:
        registration = current()
        assert registration is not None
        self._loop_run, self._done = registration.loop_run, asyncio.Event()
        if self._began is not None:
            self._began(self._loop_run)
        self._caller = self._loop_run.ensure_scheduler().register(GRACE, name=threading.current_thread().name)
        self._ready.set()
        await self._done.wait()

    def _look_again(self) -> None:
        """Nothing can happen any more, unless the calling thread is merely at work for long."""
        if self._caller is not None and self._caller.preempted:
            self._caller.patience = GRACE
