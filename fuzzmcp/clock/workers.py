"""Work in other threads, as the clock sees it: does it have to stand still for it?"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from fuzzmcp.clock.limits import GRACE


@dataclass(eq=False)
class Worker:
    """Work in another thread, for which the clock must stand still."""

    patience: float  # real seconds of standing still that are left to it
    daemon: bool = False  # a daemon thread may outlive the run: time passes without it, but no deadlock is declared
    awaited: bool = False  # its result is not delivered yet
    running: bool = False
    asleep: bool = False  # in a virtual time.sleep, or waiting for something that the loop has to do
    dismissed: bool = False  # a thread of a pool: idle is its natural state, only its jobs count
    waits_for: Future[Any] | None = None

    def holds(self, idle: bool) -> bool:
        if self.asleep or self.dismissed or (self.daemon and not idle):
            return False
        # Who was given up on gets a last chance before a deadlock is declared: something may have set it going again.
        return (self.awaited or self.running) and self.patience > (-GRACE if idle else 0)
