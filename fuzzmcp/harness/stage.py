"""The moving parts of a run, put together in one place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.script import Action
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.backing_server import BackingServer
from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.observe.stacks import STACKS, Stacks
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.harness.server import FakeServer
from fuzzmcp.harness.tasks import BACKEND_TABLE
from fuzzmcp.harness.transports.server import Server
from fuzzmcp.harness.transports.wire import Wire

WATCHDOG = 10.0
"""Real seconds that a client may hold up its loop."""


def _nothing(*_: Any) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Listeners:
    """What hears of the things that happen in a run: all of it fuzzmcp's own code, on the thread of the loop."""

    on_idle: Callable[[], None] = _nothing
    """Nothing can happen any more: it may cancel tasks or schedule something."""
    on_task: Callable[[Any], None] = _nothing
    """The client has started a task of asyncio."""
    on_exception: Callable[[dict[str, Any]], None] | None = None
    """An exception that nobody retrieved, as asyncio tells its exception handler."""
    on_budget: Callable[[], None] = _nothing
    """The client has sent more messages than it may; not in every case on the thread of the loop."""
    on_cancel: Callable[[int | None], bool | None] = _nothing
    """The script says that the caller cancels a call; says whether there was one to cancel."""


_TASKS_ARE_TOLD_BY: dict[str, Callable[[Stacks, Ours], None]] = {"asyncio": _nothing, "trio": Stacks.watch_trio}
"""How a run hears of new tasks, by its backend: the clock's own task factory tells of those of asyncio."""


class ObservedClock:
    """A virtual clock, with what observes the code that lives in its time.

    Args:
        backend: The loop that it runs on.
        playing: What is played there, for the message if fuzzmcp itself fails.
        own_files: Files that are the client's own although they are installed.
        listeners: What hears of idleness, tasks and exceptions.
        seed: Chooses trio's task schedule.
        watchdog: Real seconds that code may hold up the loop.
    """

    def __init__(
        self,
        backend: str,
        playing: object,
        *,
        own_files: tuple[str, ...] = (),
        listeners: Listeners | None = None,
        seed: int = 0,
        watchdog: float = WATCHDOG,
    ) -> None:
        heard = listeners or Listeners()
        self.stacks = Stacks(own_files)
        self.ours = Ours(lambda fault: clock.fail(fault), playing)
        self.clock = clock = VirtualClock(
            backend,
            seed=seed,
            watchdog=watchdog,
            on_idle=heard.on_idle,
            on_task=self._task_started,
            on_exception=heard.on_exception,
        )
        self._backend, self._on_task = backend, heard.on_task

    def begin(self) -> None:
        """On the loop, before anything else: whatever runs there now is observed."""
        STACKS.set(self.stacks)
        _TASKS_ARE_TOLD_BY[self._backend](self.stacks, self.ours)

    def _task_started(self, task: Any, parent: Any) -> None:
        try:
            self.stacks.task_started(task, parent)
            self._on_task(task)
        except Exception as error:
            self.ours.failed(error)  # and the task lives on: nobody else would await it


class Stage(ObservedClock):
    """One run's fake server, joined to one client in virtual time.

    Args:
        case: What is played.
        backing: A real server behind the fake.
        calls: The workload; empty where the client makes its own calls.
        frames: Messages that the client may send.
        own_files: Files that are the client's own although they are installed.
        listeners: What hears of what happens.
        watchdog: Real seconds that the client may hold up its loop.
    """

    def __init__(
        self,
        case: Case,
        *,
        backing: BackingServer | None = None,
        calls: tuple[Call, ...] = (),
        frames: int = 1_000,
        own_files: tuple[str, ...] = (),
        listeners: Listeners | None = None,
        watchdog: float = WATCHDOG,
    ) -> None:
        heard = listeners or Listeners()
        super().__init__(
            case.backend, case, own_files=own_files, listeners=heard, seed=case.schedule, watchdog=watchdog
        )
        self.backing = backing
        self.backend = BACKEND_TABLE[case.backend]
        self.waits = self.backend.waits
        self.fake = FakeServer(case)
        self.wire = Wire(
            self.fake,
            self.clock,
            self.stacks,
            self.ours,
            calls=calls,
            frame_budget=frames,
            on_budget=heard.on_budget,
            on_cancel=heard.on_cancel,
            ask=None if backing is None else backing.call,
            waits=self.waits,
        )
        self._ends = ExitStack()
        self.server = Server(self.wire, self._ends)

    def backing_opened(self) -> AbstractAsyncContextManager[None]:
        """A block for the length of the session: the real server behind the fake, if there is one, is connected."""
        return nullcontext() if self.backing is None else self.backing.opened()

    def recorded(self, role: Any, **more: Any) -> Run:
        """What has happened so far.

        Args:
            role: Whether it is a client or an agent.
            more: Further fields of the `Run`.
        """
        facts: dict[str, Any] = {"outcomes": (), "ended": self.clock.now()} | more
        return Run(
            case=self.wire.case,
            role=role,
            events=tuple(self.wire.events),
            unreached=self.fake.unreached(),
            undelivered=self._undelivered(),
            played=self._played(),
            steps=tuple(self.fake.steps),
            **facts,
        )

    def _played(self) -> tuple[tuple[int, Action], ...]:
        """What of the script has happened: the number of the request, and the action."""
        seen = dict.fromkeys(self.fake.played)
        for event in self.wire.events:
            if event.action is not None and event.request is not None:
                seen[(event.request, event.action)] = None
        return tuple(sorted(seen, key=lambda pair: pair[0]))

    def _undelivered(self) -> tuple[str, ...]:
        """One sentence for each part of the script that could not be delivered."""
        reasons = (*self.wire.case.inapplicable, *self.fake.undelivered, *self.fake.still_held(), *self.wire.unsent())
        return tuple(dict.fromkeys(reasons))

    def dissolve(self) -> None:
        """The run is over: end what the client has not, and untie what knows each other.

        So a run frees its memory at once, and leaves the garbage collector little to do.
        """
        self._ends.close()
        self.stacks.clear()
        self.wire.dissolve()
        vars(self).clear()
