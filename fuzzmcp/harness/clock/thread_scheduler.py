"""The threads of a run: one of them works at a time, in an order that does not depend on the operating system.

**Why.** A client may have threads: it blocks its caller, it keeps an event loop in a thread, it hands work to a pool.
Real threads run when the operating system likes, so two runs of one case would differ. They also wait in real time, and
an hour would take an hour. So the threads of a run take turns here, and their waits take virtual time.

**Who may run.** One thread has the turn (`_turn`). The others are parked, or stand in the queue (`_ready`), or were
preempted. Each thread has a gate, a lock that is closed but for the moment when the thread gets the turn: a thread that
gives the turn away opens the gate of the next one and waits at its own (`_pass_turn`, `_await_turn`). The queue is
first in, first out. The main thread (that of the run's event loop) gets the turn when the queue is empty.

**How a wait gives the turn away.** `wait` parks a thread until its condition holds or its time has come, and passes the
turn on. Another thread that fulfils the condition calls `wake`, which puts the parked thread into the queue. These
waits are known: conditions, and with them events, semaphores, barriers, futures and queues; `Thread.join`;
`time.sleep`; an event loop with nothing to do. A thread that polls yields its turn at each look. After many looks at
one moment (`POLLS`) it is parked until time passes, because nothing else would let time pass.

**When time may jump.** Only the main thread moves the time, and only when three things hold: its own loop has nothing
to do, the queue is empty, and no preempted thread keeps the clock standing. Then all threads are parked, and the next
thing that can happen is the earliest timer: of the loop, of a parked thread, or of `call_at`. The clock jumps there,
and `release_due` puts the threads whose time has come into the queue, in the order in which they would have woken.

**How a deadlock is proved.** A parked thread wakes in two ways: another thread wakes it, or its time comes. When the
clock may jump and there is no timer to jump to, no thread can wake another and no time can come. So nothing will ever
happen. The loop tells `on_idle` then, and raises `Deadlock` if that changes nothing. A main thread that is blocked
itself gets `LoopStalled` instead, in the code that blocks it.

**What is preempted.** A thread may work for long, or wait for something that is not known: a lock, a socket, a process.
The main thread watches the one that has the turn (`_watch`), and takes the turn from it. The preempted thread goes on
in real time beside the others. The clock stands still for it while it has patience left. It joins the queue again at
its next known wait. Only a run with a preempted thread, or with a wait for something real, may have another order the
next time.

**What is patched, and why.** Each function looks its thread up in the `thread_registry` and is the real one for a
thread of no run. See `patches` for the moment.

* `threading._allocate_lock`: `Condition.wait` calls it for each wait, and most of the standard waits stand on
  conditions.
* `queue.SimpleQueue`: executors wait in it, and it is written in C. A queue that stands on conditions replaces it.
* `threading._time`, `queue.time` and the functions of `time`: deadlines are computed with them.
* `Thread.start`, `Thread.join`: a thread is registered before it begins, and joining waits in C.
* `ThreadPoolExecutor.__init__`, `.submit`, and trio's cache of threads: pools may be older than the run.
* `asyncio.new_event_loop`: the loop of a thread waits in its selector, so it needs one that parks the thread.

**What is not covered.** A lock that a client takes itself, sockets, subprocesses and other waits in C: they are real,
and preemption bounds what they cost. Event loops that asyncio did not make. Names that a module bound before the run
(`from time import sleep`). Threads that were started outside of the run: nothing tells the clock what they will do.
"""

from __future__ import annotations

import heapq
import itertools
import math
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import get_ident
from types import FrameType

from fuzzmcp.harness.clock import base, internals
from fuzzmcp.harness.clock.base import UPTIME, LoopStalled, RunOver, real_lock
from fuzzmcp.harness.clock.managed import ManagedThread, SchedulerHost, ThreadLoop

_SAME = 1e-9  # moments less than this apart are the same


@dataclass(eq=False)
class Timer:
    """Something to call on the main thread, whatever its loop is doing."""

    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ThreadScheduler:
    """Decides which thread of a run works, and gives each its turn. The module's docstring explains it."""

    def __init__(self, host: SchedulerHost) -> None:
        self.main = ManagedThread(math.inf, name="main", ident=host.main_ident, running=True)
        self.threads: dict[ManagedThread, None] = {}  # without the main one, in the order of their registration
        self.loops: list[ThreadLoop] = []  # the event loops of other threads
        self.patience = 0.0  # real seconds that the thread whose turn it is has left
        self.ending = self.over = False
        self._host = host
        self._turn = self.main
        self._ready: deque[ManagedThread] = deque()
        self._order = itertools.count()
        self._timers: list[tuple[float, int, Timer]] = []
        self._lock = real_lock()  # held for a few lines at a time, never while waiting

    # -- the life of a thread ------------------------------------------------------------------------------------------

    def register(self, patience: float, *, daemon: bool = False, name: str = "") -> ManagedThread:
        """Put a new thread at the end of the queue. The real thread may come later."""
        thread = ManagedThread(patience, daemon, name=name)
        with self._lock:
            self.threads[thread] = None
            self._host.workers.add(thread)
            self._ready.append(thread)
        self._wake_main()
        return thread

    def begin(self, me: ManagedThread) -> None:
        """Wait for the first turn. Called on the thread itself."""
        me.ident = get_ident()
        me.gate.acquire()
        if self.over:
            self.release(me)
            raise RunOver

    def release(self, me: ManagedThread) -> None:
        """Give the turn away for good. Also for a thread that could not be started."""
        with self._lock:
            me.gone, me.running = True, False
            self.threads.pop(me, None)
            self._host.workers.discard(me)
            if me in self._ready:
                self._ready.remove(me)
            for joiner in me.joiners:
                self._unpark(joiner)
            if me is self._turn:
                return self._pass_turn()
        return self._wake_main()

    # -- turns ---------------------------------------------------------------------------------------------------------

    def _pass_turn(self) -> None:
        """Give the turn to the next thread. The lock is held, and the caller has the turn."""
        self._turn.running = self._turn.preempted
        if self._ready:
            chosen = self._ready.popleft()
        else:
            chosen, self.main.parked = self.main, False
        self._turn, chosen.running = chosen, True
        self.patience = base.GRACE if self.over else self._host.watchdog
        chosen.gate.release()

    def _unpark(self, thread: ManagedThread) -> None:
        """Put a parked thread into the queue. The lock is held."""
        if thread.parked:
            thread.parked = thread.polling = False
            thread.due = math.inf
            self._ready.append(thread)

    def wake(self, thread: ManagedThread) -> None:
        """Let a parked thread look whether its wait is over. Called from any thread."""
        if not thread.parked:
            return
        with self._lock:
            self._unpark(thread)
        self._wake_main()

    def _wake_main(self) -> None:
        """Tell the main thread that the queue is not empty: it may be busy, or wait in real time.

        A thread that has just passed the turn on must not call it: it would run beside the thread that has the turn.
        """
        if self._turn is self.main:
            if get_ident() == self.main.ident:
                self._host.hurry()
            else:
                self._host.post(_nothing)

    def yield_turn(self, me: ManagedThread, due: float = math.inf) -> None:
        """Let all threads in the queue go first, and the main thread too.

        A thread that does so for ever at one moment polls: it is parked until time has passed, or until `due`.
        """
        if me is self.main:
            self.run_others()
            return None
        now = self._host.monotonic()
        me.yields = me.yields + 1 if now == me.moment else 0
        me.moment = now
        if me.yields > base.POLLS:
            return self._park(me, due, _never, polling=True)
        with self._lock:
            self._unpark(self.main)
            lost = self._clear_preempted(me)
            if not (lost or self._ready):
                return None
            self._ready.append(me)
            if not lost:
                self._pass_turn()
        if lost:
            self._wake_main()
        return self._await_turn(me)

    def requeue(self, me: ManagedThread) -> None:
        """Join the queue again, if the thread was preempted."""
        if me.preempted and me is not self.main:
            with self._lock:
                if self._clear_preempted(me):
                    self._ready.append(me)
            self._wake_main()
            self._await_turn(me)

    def _clear_preempted(self, me: ManagedThread) -> bool:
        """Whether it was preempted; it is no longer. The lock is held."""
        lost, me.preempted = me.preempted, False
        if lost:
            me.running = False
        return lost

    def _await_turn(self, me: ManagedThread) -> None:
        """Wait at the gate. A thread that gets its turn after the end of the run is ended by it."""
        me.gate.acquire()
        if self.over:
            raise RunOver

    def run_others(self) -> bool:
        """Let the other threads work until all are parked. False: they are already. Called on the main thread."""
        with self._lock:
            if not self._ready:
                return False
            self.main.parked = True
            self._pass_turn()
        self._host.idle = False
        try:
            self._watch()
        except BaseException:  # Ctrl-C
            with self._lock:
                self._take_turn()
            raise
        if self._ready:
            self._host.hurry()
        return True

    # -- the main thread's watch over the thread that has the turn -----------------------------------------------------

    def _watch(self) -> None:
        """Wait for the main thread's turn, and preempt a thread that keeps it for too long.

        No thread says "I wait for a lock". But a thread that waits in C stands at the same instruction of the same
        frame in look after look. It would hold up all others until its patience ends, and the lock may be one that
        another thread has to release. So it is preempted after a few equal looks (`LOOKS`). A thread that computes
        moves between the looks: it keeps the turn until the watchdog's patience ends (`_preempt` uses up its own
        patience then).

        The frame is compared by its `id`, and the reference is dropped at once: a frame that is kept alive here keeps
        the client's objects alive. Another frame at the same address with the same instruction is a harmless mistake:
        the thread is preempted early.
        """
        host, seen, quiet = self._host, None, 0
        host.waiting = True
        try:
            while not self.main.gate.acquire(timeout=base.LOOK):
                holder = self._turn
                frame = sys._current_frames().get(holder.ident or 0)
                look = (holder, id(frame), 0 if frame is None else frame.f_lasti)
                del frame
                quiet, seen = (quiet + 1 if look == seen else 0), look
                stuck = quiet >= base.LOOKS and holder.ident is not None
                if (stuck or self.patience <= 0) and self._preempt(holder):
                    return
        finally:
            host.waiting = False

    def _preempt(self, holder: ManagedThread) -> bool:
        """Take the turn away; whether the main thread has it now."""
        with self._lock:
            if self._turn is not holder or holder is self.main:
                return False
            holder.preempted = True
            if self.patience <= 0:
                holder.patience = 0.0
            if not self._ready or self._ready[0] is self.main:
                self._take_turn()
                return True
            self._pass_turn()
            return False

    def _take_turn(self) -> None:
        """Take the turn for the main thread, whoever has it. The lock is held."""
        if self.main in self._ready:
            self._ready.remove(self.main)
        if self._turn is self.main:
            self.main.gate.acquire(blocking=False)
        else:
            self._turn.preempted = self._turn.running = True
        self._turn, self.main.parked, self.main.running = self.main, False, True

    # -- waits ---------------------------------------------------------------------------------------------------------

    def _park(self, me: ManagedThread, due: float, done: Callable[[], bool], *, polling: bool = False) -> None:
        """Give the turn away until the thread is woken or `due` comes, unless `done()` already."""
        with self._lock:
            if self.over:
                raise RunOver
            if done():  # asked under the lock: a thread that fulfils it later finds this one parked, and wakes it
                return
            lost = self._clear_preempted(me)
            me.parked, me.due, me.since, me.polling = True, due, next(self._order), polling
            if not lost:
                self._pass_turn()  # from here on, this thread must not touch anything
        if lost:
            self._wake_main()
        self._await_turn(me)

    def wait(self, me: ManagedThread, done: Callable[[], bool], seconds: float | None, frame: FrameType) -> bool:
        """Park the thread until `done()`, asked whenever the thread is woken, or for so many virtual seconds."""
        self.requeue(me)
        host = self._host
        began = host.monotonic()
        due = math.inf if seconds is None else began + seconds
        park = self._park_main if me is self.main else self._park
        for_ever = False
        try:
            if seconds is not None and seconds <= 0:
                self.yield_turn(me)
            while not done() and host.monotonic() < due - _SAME:
                park(me, due, done)
            return done()
        except (LoopStalled, RunOver):
            for_ever = due == math.inf
            raise
        finally:
            if me is self.main or internals.others_wait_for(internals.running_loop()):
                host.held_up(began, frame, for_ever=for_ever)

    def park_in_loop(self, me: ManagedThread, due: float, done: Callable[[], bool]) -> None:
        """Park the thread, whose event loop has nothing to do before `due`, unless it is woken and `done()` then."""
        park = self._park_main if me is self.main else self._park
        park(me, due, done)

    def _park_main(self, me: ManagedThread, due: float, done: Callable[[], bool]) -> None:
        """One step of a wait of the main thread: it is blocked, so its loop does not turn and only the others work."""
        host = self._host
        if self.run_others():
            return
        now, until = host.monotonic(), min(due, self.next_due())
        host.idle = until == math.inf
        if until > now + _SAME and host.held(idle=host.idle):
            host.waiting = True
            me.gate.acquire(timeout=base.LOOK)
            host.waiting = False
        elif until < math.inf:
            host.advance(max(until - now, 0.0))
            self.release_due()
        else:
            raise LoopStalled("the loop does not turn: this waits for something that never comes")

    def pass_time(self, seconds: float) -> None:
        """Block the main thread for so long, whatever happens."""
        due = self._host.monotonic() + seconds
        while self._host.monotonic() < due - _SAME:
            self._park_main(self.main, due, _never)

    # -- time ----------------------------------------------------------------------------------------------------------

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call it on the main thread at `when`, as in `VirtualClock.call_at`, even if that thread is blocked."""
        timer = Timer(callback)
        if when < math.inf:
            due = max(UPTIME + when, self._host.monotonic())
            with self._lock:
                heapq.heappush(self._timers, (due, next(self._order), timer))
        return timer

    def next_due(self) -> float:
        """When the first parked thread wakes or the first callback is due, in the time of `time.monotonic`."""
        with self._lock:
            while self._timers and self._timers[0][2].cancelled:
                heapq.heappop(self._timers)
            dues = [thread.due for thread in self.threads if thread.parked]
            return min([*dues, self._timers[0][0]] if self._timers else dues, default=math.inf)

    def release_due(self) -> None:
        """Call the callbacks that are due, and wake the threads whose time has come. Called when time has moved."""
        now = self._host.monotonic() + _SAME
        due: list[Timer] = []
        with self._lock:
            while self._timers and self._timers[0][0] <= now:
                due.append(heapq.heappop(self._timers)[2])
        for timer in due:
            if not timer.cancelled:
                timer.callback()
        with self._lock:
            woken = [thread for thread in self.threads if thread.parked and (thread.due <= now or thread.polling)]
            for thread in sorted(woken, key=lambda thread: (thread.due, thread.since)):
                self._unpark(thread)

    # -- the end -------------------------------------------------------------------------------------------------------

    def left(self) -> list[ManagedThread]:
        """The threads that the client started and that still live, without the threads of pools.

        A daemon thread may serve the whole process. One with an event loop serves a session, so only that one counts.
        """
        return [thread for thread in self.threads if not thread.pool and (thread.loops or not thread.daemon)]

    def end_all(self) -> None:
        """End all parked threads, those with an event loop first, in order.

        Each loop gets its tasks cancelled, and the threads work until all are parked again. Then each parked thread
        gets `RunOver` out of its wait, one after the other, so their `finally` blocks take turns too.
        """
        self.ending = True
        for run in self.loops:
            run.cancel_tasks()
        while self.run_others():
            pass
        self.over = True
        for thread in list(self.threads):
            self.wake(thread)
        while self.run_others():
            pass
        for run in self.loops:
            run.close()
        self.loops.clear()


def _nothing() -> None:
    """Only to be called."""


def _never() -> bool:
    return False
