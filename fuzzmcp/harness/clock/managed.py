"""Work in other threads, as the clock sees it: does it have to stand still for it?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from fuzzmcp.harness.clock.base import GRACE, real_lock


@dataclass(eq=False)
class Worker:
    """Work in another thread, for which the clock must stand still."""

    patience: float  # real seconds of standing still that are left to it
    daemon: bool = False  # a daemon thread may outlive the run: time passes without it, but no deadlock is declared
    awaited: bool = False  # its result is not delivered yet
    running: bool = False
    dismissed: bool = False  # a thread of a pool that has no job: idle is its natural state

    def holds(self, idle: bool) -> bool:
        if self.dismissed or (self.daemon and not idle):
            return False
        # Who was given up on gets a last chance before a deadlock is declared: something may have set it going again.
        return (self.awaited or self.running) and self.patience > (-GRACE if idle else 0)


def _closed_gate() -> Any:
    gate = real_lock()
    gate.acquire()
    return gate


@dataclass(eq=False)
class Member(Worker):
    """A thread of a run, which takes its turns with the others: see `scheduler`."""

    name: str = ""
    ident: int | None = None  # None: it has not begun yet
    gate: Any = field(default_factory=_closed_gate, repr=False)  # opened for each of its turns
    resting: bool = False  # in a wait that the clock knows
    due: float = math.inf  # while resting: when it wakes at the latest
    since: int = 0  # while resting: its place among those that wake at the same moment
    polling: bool = False  # while resting: it wakes whenever time has passed
    away: bool = False  # it lost its turn, because it works for too long or waits for something that nobody knows
    gone: bool = False
    pool: bool = False  # a thread of a pool
    loops: int = 0  # event loops of its own that are running
    joiners: list[Member] = field(default_factory=list, repr=False)
    yields: int = 0  # how often it let the others go first, at `moment`
    moment: float = -math.inf
