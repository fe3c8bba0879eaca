"""Which run a thread belongs to: its time is that of the run. A thread of no run has the real time."""

from __future__ import annotations

from threading import get_ident
from types import FrameType
from typing import NamedTuple

from fuzzmcp.harness.clock import internals
from fuzzmcp.harness.clock.loop_run import LoopRun
from fuzzmcp.harness.clock.managed import ManagedThread


class Timed:
    """An event loop that lives in virtual time."""


class Registration(NamedTuple):
    """The run of a thread, and the thread as the scheduler knows it: None for the main thread, that of the loop."""

    loop_run: LoopRun
    thread: ManagedThread | None

    def block(self, seconds: float, frame: FrameType) -> None:
        """Wait as `time.sleep` does: the main thread moves the clock, any other thread waits for it.

        `frame` is the caller that is told as the one that blocks the loop.
        """
        if self.thread is None:
            self.loop_run.block(seconds, frame)
        else:
            self.loop_run.sleep_in_thread(self.thread, seconds, frame)


registrations: dict[int, Registration] = {}
"""Of all threads of all runs, by the identifier of the thread."""


def current() -> Registration | None:
    """The registration of the calling thread; None where its time is the real one."""
    registration = registrations.get(get_ident())
    if registration is None or registration.loop_run.over:
        return None
    if registration.thread is not None and not isinstance(internals.running_loop(), Timed | None):
        return None  # an event loop that is none of ours: its selector waits in real time
    return registration
