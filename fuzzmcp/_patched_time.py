"""Whose time it is: the threads of each run, what replaces `time.sleep` and its kin for them, and the watchdog.

A `Timeline` is one run of one event loop. Its thread, and the threads it starts, are entered in `_places`; the
functions below stand in for the standard ones while any run is active, look their own thread up there, and fall through
to the real thing for every other thread. They are the same objects in every run, so a module first imported during a
run (`from time import sleep`) keeps something that is right afterwards too.
"""

from __future__ import annotations

import asyncio
import functools
import math
import operator
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import get_ident
from types import FrameType
from typing import Any, NamedTuple, Protocol

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z
UPTIME = 10_000.0  # time.monotonic() at virtual 0.0; far from zero, because code takes 0 for "long ago"
GRACE = 1.0  # real seconds that a thread the client started by itself may keep the clock standing, all in all
SPIN = 50_000  # turns at one virtual moment, before a loop that is never idle counts as polling and time moves on
SLEEPS = 10_000  # calls of time.sleep within one turn, before the loop counts as stalled
DRAIN = 1_000  # turns that cancelled tasks get to end

_STRIKES = 5
_POLL = 0.25
_real_sleep, _real_monotonic, _real_monotonic_ns = time.sleep, time.monotonic, time.monotonic_ns
_real_time, _real_time_ns = time.time, time.time_ns
_real_start, _real_result = threading.Thread.start, Future.result


@dataclass(frozen=True)
class Blocked:
    """The event loop was blocked: at virtual `at`, for `seconds` (inf: it did not turn any more), by `where`."""

    at: float
    seconds: float
    where: str  # "file.py:12 function"


class Deadlock(RuntimeError):
    """Nothing can happen any more: no callback is ready, no timer is set and no thread is at work."""


class LoopStalled(BaseException):
    """Raised into the code on the loop's thread which keeps the loop from turning."""

    def __init__(self, message: str = "the loop does not turn: this code works or waits without awaiting") -> None:
        super().__init__(message)


class Exhausted(BaseException):
    """Ends a teardown that would never end by itself. Never leaves `VirtualClock.run`."""


class RunOver(SystemExit):
    """Ends a thread that sleeps when its run ends: `while True: time.sleep(1)` would go on for ever."""


class Handle(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Never call it. Too late, or twice, does nothing."""


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


class Timeline(ABC):
    """What a loop, the replaced functions and the watchdog share about one run.

    Only the loop's thread moves a worker towards rest (delivered, finished, asleep). So when the loop finds everybody
    at rest, whatever they had to say is in its queue already.
    """

    def __init__(self, watchdog: float, on_idle: Callable[[], None] | None) -> None:
        self.watchdog = watchdog
        self.thread = get_ident()
        self.blocked: list[Blocked] = []
        self.workers: set[Worker] = set()
        self.turns = 0
        self.last_turn = SPIN
        self.waiting = False  # in real time, for a worker
        self.idle = False  # while waiting: but for the workers, nothing could happen any more
        self.draining = False
        self.over = False
        self.struck = False
        self.fault: BaseException | None = None
        self._on_idle = on_idle
        self._idle_turn = -9
        self._lock = threading.Lock()
        self._bells: set[threading.Event] = set()
        self._slept: dict[str, int] = {}
        self._slept_turn = self._slept_count = 0

    @abstractmethod
    def monotonic(self) -> float: ...

    @abstractmethod
    def advance(self, seconds: float) -> None: ...

    @abstractmethod
    def call_at(self, when: float, callback: Callable[[], None]) -> Handle: ...

    @abstractmethod
    def post(self, callback: Callable[..., object], *args: object) -> None:
        """Call it on the loop's thread, soon; from any thread; nothing happens when the loop is gone."""

    def changed(self) -> None:  # noqa: B027  (a hook)
        """The workers that hold up the clock may be others now."""

    def now(self) -> float:
        # Rounded: (UPTIME + 0.1) - UPTIME is not 0.1, and a nanosecond is the resolution of a real clock too.
        return round(self.monotonic() - UPTIME, 9)

    # -- the loop's decisions ------------------------------------------------------------------------------------------

    def held(self, *, idle: bool) -> bool:
        return bool(self.workers) and any(worker.holds(idle) for worker in tuple(self.workers))

    def ask_idle(self, quiet_turns: int) -> None:
        """Tell `on_idle`; raise Deadlock if it was told `quiet_turns` ago and nothing came of it."""
        if self._on_idle is None or self.turns == self._idle_turn + quiet_turns:
            stuck = sum(worker.running and not worker.dismissed for worker in self.workers if worker.patience <= 0)
            raise Deadlock(
                "nothing is ready, no timer is set and no thread is at work: this waits for ever"
                + (f" ({stuck} threads were given up on: they did nothing in real time)" if stuck else "")
            )
        self._idle_turn = self.turns
        self._on_idle()

    def fail(self, fault: BaseException) -> None:
        """End the run with this exception."""
        if self.fault is None:
            self.fault = fault
        self.last_turn = -1

    def guarded(self, callback: Callable[[], None]) -> Callable[[], None]:
        def call() -> None:
            try:
                callback()
            except BaseException as fault:
                self.fail(fault)

        return call

    def begin_drain(self) -> None:
        self.draining = True
        self.last_turn = self.turns + DRAIN

    def end(self) -> None:
        with self._lock:
            self.over = True
        for bell in self._bells:
            bell.set()

    # -- time.sleep ----------------------------------------------------------------------------------------------------

    def block(self, seconds: float, frame: FrameType) -> None:
        """time.sleep on the loop's thread. One entry per place and turn, else a polling loop would fill the memory."""
        if self._slept_turn != self.turns:
            self._slept, self._slept_turn, self._slept_count = {}, self.turns, 0
        where = _where(frame)
        self._slept_count += 1
        if seconds > 0:
            if where in self._slept:
                entry = self.blocked[self._slept[where]]
                self.blocked[self._slept[where]] = replace(entry, seconds=round(entry.seconds + seconds, 9))
            else:
                self._slept[where] = len(self.blocked)
                self.blocked.append(Blocked(self.now(), seconds, where))
            self.advance(seconds)
        if self._slept_count == SLEEPS:
            self.blocked.append(Blocked(self.now(), math.inf, where))
        if self._slept_count >= SLEEPS:
            raise LoopStalled(f"the loop does not turn: time.sleep was called {SLEEPS} times without awaiting")

    def sleep_in_thread(self, worker: Worker, seconds: float) -> None:
        bell = threading.Event()
        with self._lock:
            if self.over:
                raise RunOver
            self._bells.add(bell)
        self.post(self._put_to_sleep, worker, seconds, bell)
        bell.wait()
        if self.over:
            raise RunOver

    def _put_to_sleep(self, worker: Worker, seconds: float, bell: threading.Event) -> None:
        def wake() -> None:
            self._bells.discard(bell)
            worker.asleep = False
            self.changed()
            bell.set()

        worker.asleep = True
        self.call_at(self.now() + seconds, wake)
        self.changed()

    # -- workers -------------------------------------------------------------------------------------------------------

    def hire(self, worker: Worker) -> None:
        self.workers.add(worker)
        if get_ident() == self.thread:
            self.changed()

    def inside(self, worker: Worker, func: Callable[..., Any]) -> Callable[..., Any]:
        """`func`, at work as `worker` on whatever thread calls it."""

        def work(*args: Any) -> Any:
            ident = get_ident()
            if ident == self.thread:
                return func(*args)
            before = _places.get(ident)
            if before is not None and before.worker is not None:
                before.worker.dismissed = True
            worker.running = True
            _places[ident] = Place(self, worker)
            try:
                return func(*args)
            finally:
                if before is None:
                    del _places[ident]
                else:
                    _places[ident] = before
                self.post(self._finished, worker)

        return work

    def _finished(self, worker: Worker) -> None:
        worker.running = False
        self._settle(worker)

    def delivered(self, worker: Worker) -> None:
        worker.awaited = False
        self._settle(worker)

    def _settle(self, worker: Worker) -> None:
        if not (worker.awaited or worker.running):
            self.workers.discard(worker)
        self.changed()

    def charge(self, seconds: float) -> None:
        """The watchdog saw the loop stand still for `seconds` more."""
        for worker in tuple(self.workers):
            if worker.holds(self.idle):
                worker.patience -= seconds
                if not worker.holds(self.idle):
                    self.post(self.changed)

    def wait_for(self, worker: Worker, future: Future[Any]) -> None:
        """A thread waits in `future.result()`: it does nothing until somebody else acts."""
        if worker.waits_for is future:
            worker.asleep = True
            if future.done():
                worker.asleep = False
            self.changed()


class Place(NamedTuple):
    """Where a thread belongs. Without a worker: it is the loop's own."""

    timeline: Timeline
    worker: Worker | None


_places: dict[int, Place] = {}


def _here() -> Place | None:
    place = _places.get(get_ident())
    if place is None or place.timeline.over:
        return None
    if place.worker is not None and asyncio.events._get_running_loop() is not None:
        return None  # a second event loop, in a thread of the client: its selector waits in real time
    return place


def find(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """The first `kind` in an exception, its groups and its causes."""
    if error is None or isinstance(error, kind):
        return error
    members: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return next(filter(None, (find(member, kind) for member in (*members, error.__cause__))), None)


def _where(frame: FrameType | None) -> str:
    if frame is None:
        return "?"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"


# -- what stands in for the standard functions -------------------------------------------------------------------------


def _seconds(value: float) -> float:
    seconds = value if isinstance(value, float) else operator.index(value)
    if not 0 <= seconds < 2**63 / 1e9:
        _real_sleep(seconds)  # negative, nan or too long: raises, as it always did
    return float(seconds)


def _sleep(seconds: float, /) -> None:
    place = _here()
    if place is None:
        _real_sleep(seconds)
    elif place.worker is None:
        place.timeline.block(_seconds(seconds), sys._getframe(1))
    else:
        place.timeline.sleep_in_thread(place.worker, _seconds(seconds))


def _monotonic() -> float:
    place = _here()
    return _real_monotonic() if place is None else place.timeline.monotonic()


def _monotonic_ns() -> int:
    place = _here()
    return _real_monotonic_ns() if place is None else round(place.timeline.monotonic() * 1e9)


def _time() -> float:
    place = _here()
    return _real_time() if place is None else EPOCH + place.timeline.now()


def _time_ns() -> int:
    place = _here()
    return _real_time_ns() if place is None else int(EPOCH) * 10**9 + round(place.timeline.now() * 1e9)


def _start(thread: threading.Thread) -> None:
    place = _places.get(get_ident())
    if place is None or place.timeline.over:
        return _real_start(thread)
    timeline = place.timeline
    worker = Worker(GRACE, daemon=thread.daemon, running=True)
    work = timeline.inside(worker, thread.run)

    def run() -> None:
        del thread.run
        with suppress(RunOver):
            work()

    thread.run = run  # type: ignore[method-assign]
    timeline.hire(worker)
    try:
        return _real_start(thread)
    except BaseException:
        timeline.workers.discard(worker)
        raise


def _result(future: Future[Any], timeout: float | None = None) -> Any:
    place = None if future.done() else _here()
    if place is None or place.worker is None:
        return _real_result(future, timeout)
    timeline, worker = place.timeline, place.worker

    def awake(_: object = None) -> None:
        if worker.waits_for is future:
            worker.asleep = False
            timeline.post(timeline.changed)

    worker.waits_for = future
    future.add_done_callback(awake)
    timeline.post(timeline.wait_for, worker, future)
    try:
        return _real_result(future, timeout)
    finally:
        awake()
        worker.waits_for = None


class _Gate:
    """Hires `worker` at the moment when the limiter lets it pass: before, nobody works; after, a thread does."""

    def __init__(self, limiter: Any, timeline: Timeline, worker: Worker) -> None:
        self._limiter, self._timeline, self._worker = limiter, timeline, worker

    async def __aenter__(self) -> None:
        await self._limiter.__aenter__()
        self._worker.awaited = True
        self._timeline.hire(self._worker)

    async def __aexit__(self, *exc: Any) -> None:
        await self._limiter.__aexit__(*exc)


@functools.cache
def _watch_anyio_threads() -> None:
    # The one private place of anyio: its asyncio backend hands jobs to threads of its own, past loop.run_in_executor.
    # Imported here, because the name must be replaced before the client's first `anyio.to_thread.run_sync`.
    from anyio._backends._asyncio import AsyncIOBackend

    original = vars(AsyncIOBackend)["run_sync_in_worker_thread"].__func__

    async def run_sync_in_worker_thread(
        cls: Any, func: Any, args: Any, abandon_on_cancel: bool = False, limiter: Any = None
    ) -> Any:
        place = _here()
        if place is None:
            return await original(cls, func, args, abandon_on_cancel, limiter)
        timeline, worker = place.timeline, Worker(place.timeline.watchdog)
        gate = _Gate(limiter or cls.current_default_thread_limiter(), timeline, worker)
        try:
            return await original(cls, timeline.inside(worker, func), args, abandon_on_cancel, gate)
        finally:
            timeline.delivered(worker)

    replace_during_runs(AsyncIOBackend, "run_sync_in_worker_thread", classmethod(run_sync_in_worker_thread))


_replacements: list[tuple[Any, str, Any]] = [
    (time, "sleep", _sleep),
    (time, "monotonic", _monotonic),
    (time, "monotonic_ns", _monotonic_ns),
    (time, "time", _time),
    (time, "time_ns", _time_ns),
    (threading.Thread, "start", _start),
    (Future, "result", _result),
]
_saved: list[tuple[Any, str, Any]] = []
_patch_lock = threading.RLock()
_depth = 0


def replace_during_runs(owner: Any, name: str, new: Any) -> None:
    """Replace `owner.name` whenever a run is active, and at once if one is."""
    with _patch_lock:
        _replacements.append((owner, name, new))
        if _depth:
            _put(owner, name, new)


def _put(owner: Any, name: str, new: Any) -> None:
    _saved.append((owner, name, vars(owner)[name]))
    setattr(owner, name, new)


def _patch() -> None:
    global _depth
    with _patch_lock:
        _depth += 1
        if _depth == 1:
            for replacement in _replacements:
                _put(*replacement)


def _restore() -> None:
    global _depth
    with _patch_lock:
        _depth -= 1
        while _depth == 0 and _saved:
            setattr(*_saved.pop())


@contextmanager
def virtual_time(timeline: Timeline) -> Iterator[None]:
    """Within it, the calling thread and the threads that it starts live in `timeline`, under the watchdog's eye."""
    _watch_anyio_threads()
    ident, outer = timeline.thread, _places.get(timeline.thread)
    _patch()
    try:
        _places[ident] = Place(timeline, None)
        above = _watchdog.watch(timeline)
        try:
            yield
        finally:
            _watchdog.unwatch(timeline, above)  # first, so that nothing can interrupt the rest
    finally:
        if outer is None:
            _places.pop(ident, None)
        else:
            _places[ident] = outer
        timeline.end()
        _restore()


# -- the watchdog ------------------------------------------------------------------------------------------------------


@dataclass
class _Seen:
    timeline: Timeline
    turns: int
    since: float
    strikes: int = 0


class _Watchdog:
    """One daemon thread for the process. It looks at the active runs a few times a second, and sleeps without any."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._bell = threading.Event()
        self._parked = False
        self._active: dict[int, Timeline] = {}
        self._seen: dict[int, _Seen] = {}

    def watch(self, timeline: Timeline) -> Timeline | None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # not alive: this process is a fork
                self._thread = threading.Thread(target=self._run, name="fuzzmcp watchdog", daemon=True)
                _real_start(self._thread)
            above = self._active.get(timeline.thread)
            self._active[timeline.thread] = timeline
        if self._parked:
            self._bell.set()
        return above

    def unwatch(self, timeline: Timeline, above: Timeline | None) -> None:
        while True:
            try:
                with self._lock:
                    if above is None:
                        self._active.pop(timeline.thread, None)
                    else:
                        self._active[timeline.thread] = above
                if timeline.struck:
                    _interrupt(timeline.thread, None)  # what is under way must not hit the caller of run()
            except LoopStalled:
                continue
            return

    def _run(self) -> None:
        last = _real_monotonic()
        while True:
            if not self._active:
                self._parked = True
                if not self._active:  # else a run began in between, and did not see the flag
                    self._bell.wait()
                self._parked = False
                self._bell.clear()
                last = _real_monotonic()
            _real_sleep(min([_POLL, *(timeline.watchdog / 4 for timeline in list(self._active.values()))]))
            now = _real_monotonic()
            for ident, timeline in list(self._active.items()):
                self._look(ident, timeline, now, now - last)
            self._seen = {ident: seen for ident, seen in self._seen.items() if ident in self._active}
            last = now

    def _look(self, ident: int, timeline: Timeline, now: float, elapsed: float) -> None:
        seen = self._seen.get(ident)
        if timeline.waiting:
            timeline.charge(elapsed)
        if seen is None or seen.timeline is not timeline or seen.turns != timeline.turns or timeline.waiting:
            self._seen[ident] = _Seen(timeline, timeline.turns, now)
        elif now - seen.since >= timeline.watchdog and seen.strikes < _STRIKES:
            seen.since = now
            seen.strikes += 1
            self._strike(ident, seen)

    def _strike(self, ident: int, seen: _Seen) -> None:
        timeline, where = seen.timeline, _where(sys._current_frames().get(ident))
        with self._lock:
            if self._active.get(ident) is timeline and timeline.turns == seen.turns:
                if seen.strikes == 1:
                    timeline.blocked.append(Blocked(timeline.now(), math.inf, where))
                timeline.struck = True
                _interrupt(ident, LoopStalled)


def _interrupt(ident: int, exception: type[BaseException] | None) -> None:
    import ctypes

    pending = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), pending)


_watchdog = _Watchdog()
