"""Work in other threads, as the clock sees it, and what the scheduler of threads needs of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from fuzzmcp.harness.clock.base import GRACE, real_lock


@dataclass(eq=False)
class Worker:
    """Work in another thread, for which the clock must stand still."""

    patience: float  # real seconds for which the clock may still stand still for it
    daemon: bool = False  # a daemon thread may outlive the run: time passes without it, but no deadlock is declared
    awaited: bool = False  # the result is not delivered yet
    running: bool = False
    jobless: bool = False  # a thread of a pool without a job: it may be idle for ever

    def holds(self, idle: bool) -> bool:
        if self.jobless or (self.daemon and not idle):
            return False
        # A thread that was given up on gets a last chance before a deadlock is declared: it may be going again.
        return (self.awaited or self.running) and self.patience > (-GRACE if idle else 0)


def _closed_gate() -> Any:
    gate = real_lock()
    gate.acquire()
    return gate


@dataclass(eq=False)
class ManagedThread(Worker):
    """A thread of a run, which takes turns with the others: see `thread_scheduler`."""

    name: str = ""
    ident: int | None = None  # None: it has not begun yet
    gate: Any = field(default_factory=_closed_gate, repr=False)  # opened for each of its turns
    parked: bool = False  # in a wait that the clock knows
    due: float = math.inf  # while parked: when it wakes at the latest
    since: int = 0  # while parked: its place among those that wake at the same moment
    polling: bool = False  # while parked: it wakes whenever time has passed
    preempted: bool = False  # it lost its turn: it works for too long, or waits for something unknown
    gone: bool = False
    pool: bool = False  # a thread of a pool
    loops: int = 0  # event loops that run on it
    joiners: list[ManagedThread] = field(default_factory=list, repr=False)
    yields: int = 0  # how often it let the others go first at `moment`
    moment: float = -math.inf


class ThreadLoop(Protocol):
    """An event loop in a thread of a run."""

    def cancel_tasks(self) -> None: ...
    def close(self) -> None: ...


class SchedulerHost(Protocol):
    """What the scheduler of threads needs of the run that it belongs to: `loop_run` has it all."""

    main_ident: int
    watchdog: float
    idle: bool
    waiting: bool
    workers: set[Worker]

    def monotonic(self) -> float: ...
    def advance(self, seconds: float) -> None: ...
    def held(self, *, idle: bool) -> bool: ...
    def held_up(self, since: float, frame: FrameType, *, for_ever: bool) -> None: ...
    def hurry(self) -> None: ...
    def post(self, callback: Callable[..., object], *args: object) -> None: ...
