"""The threads of a run: one of them at a time is at work, in an order that depends on no scheduler.

Whoever has the turn works until it rests in a wait that the clock knows (a condition, and with it events, futures and
queues; `join`; `time.sleep`; an event loop with nothing to do), or lets the others go first. Then the first in the
queue has the turn. Where nobody is in the queue, it is the main thread's: it alone moves the time, and only when
everybody rests.

A thread that works for too long, or waits for something that nobody knows (a lock, a socket), loses its turn: the
others go on, and the clock has some patience with it. It queues up again at its next wait.
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
from typing import TYPE_CHECKING, Any

from fuzzmcp.harness.clock import base, internals
from fuzzmcp.harness.clock.base import UPTIME, LoopStalled, RunOver, real_lock
from fuzzmcp.harness.clock.managed import Member

if TYPE_CHECKING:
    from fuzzmcp.harness.clock.loop_run import LoopRun

_SAME = 1e-9  # moments less than this apart are the same


@dataclass(eq=False)
class Timer:
    """Something to call on the main thread, whatever its loop is doing."""

    callback: Callable[[], None]
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ThreadScheduler:
    """The threads of one run, the main one among them."""

    def __init__(self, loop_run: LoopRun) -> None:
        self.main = Member(math.inf, name="main", ident=loop_run.main_ident, running=True)
        self.members: dict[Member, None] = {}  # but for the main one; in the order of hiring
        self.loops: list[Any] = []  # the event loops of other threads
        self.patience = 0.0  # real seconds that the one whose turn it is has left
        self.ending = self.over = False
        self._loop_run = loop_run
        self._turn = self.main
        self._ready: deque[Member] = deque()
        self._order = itertools.count()
        self._timers: list[tuple[float, int, Timer]] = []
        self._lock = real_lock()  # held for a few lines at a time, never while waiting

    # -- a member's life -----------------------------------------------------------------------------------------------

    def hire(self, patience: float, *, daemon: bool = False, name: str = "") -> Member:
        """A new member, at the end of the queue; its thread may still have to come."""
        member = Member(patience, daemon, name=name)
        with self._lock:
            self.members[member] = None
            self._loop_run.workers.add(member)
            self._ready.append(member)
        self._nudge()
        return member

    def begin(self, me: Member) -> None:
        """On the member's thread: wait for its first turn."""
        me.ident = get_ident()
        me.gate.acquire()
        if self.over:
            self.end(me)
            raise RunOver

    def end(self, me: Member) -> None:
        """Give the turn away for good. Also for a member whose thread could not be started."""
        with self._lock:
            me.gone, me.running = True, False
            self.members.pop(me, None)
            self._loop_run.workers.discard(me)
            if me in self._ready:
                self._ready.remove(me)
            for joiner in me.joiners:
                self._awaken(joiner)
            if me is self._turn:
                return self._pass_on()
        return self._nudge()

    # -- turns ---------------------------------------------------------------------------------------------------------

    def _pass_on(self) -> None:
        """The lock is held, and the caller has the turn."""
        self._turn.running = self._turn.away
        if self._ready:
            chosen = self._ready.popleft()
        else:
            chosen, self.main.resting = self.main, False
        self._turn, chosen.running = chosen, True
        self.patience = base.GRACE if self.over else self._loop_run.watchdog
        chosen.gate.release()

    def _awaken(self, member: Member) -> bool:
        if not member.resting:
            return False
        member.resting = member.polling = False
        member.due = math.inf
        self._ready.append(member)
        return True

    def wake(self, member: Member) -> None:
        """What a member rests for may have come; from any thread."""
        if not member.resting:
            return
        with self._lock:
            self._awaken(member)
        self._nudge()

    def _nudge(self) -> None:
        """The main thread may be waiting in real time, and there is something to do again.

        Never to be called by who has just passed the turn on: it would meddle with whoever has it then.
        """
        if self._turn is self.main:
            if get_ident() == self.main.ident:
                self._loop_run.hurry()
            else:
                self._loop_run.post(_nothing)

    def give_way(self, me: Member, due: float = math.inf) -> None:
        """Let everybody go first who is in the queue; the main thread too.

        Who does that for ever at one moment polls, and rests until time has passed, or until `due`.
        """
        if me is self.main:
            self.let_others()
            return None
        now = self._loop_run.monotonic()
        me.yields = me.yields + 1 if now == me.moment else 0
        me.moment = now
        if me.yields > base.POLLS:
            return self._rest(me, due, _never, polling=True)
        with self._lock:
            self._awaken(self.main)
            lost = self._stop(me)
            if not (lost or self._ready):
                return None
            self._ready.append(me)
            if not lost:
                self._pass_on()
        if lost:
            self._nudge()
        return self._come_back(me)

    def return_to(self, me: Member) -> None:
        """Queue up again, if the turn was lost."""
        if me.away and me is not self.main:
            with self._lock:
                if self._stop(me):
                    self._ready.append(me)
            self._nudge()
            self._come_back(me)

    def _stop(self, me: Member) -> bool:
        """Whether it had lost its turn. The lock is held."""
        lost, me.away = me.away, False
        if lost:
            me.running = False
        return lost

    def _come_back(self, me: Member) -> None:
        me.gate.acquire()
        if self.over:
            raise RunOver

    def let_others(self) -> bool:
        """The main thread has nothing to do: let the others work until they all rest. False: they do already."""
        with self._lock:
            if not self._ready:
                return False
            self.main.resting = True
            self._pass_on()
        self._loop_run.idle = False
        try:
            self._watch()
        except BaseException:  # Ctrl-C
            with self._lock:
                self._take_turn()
            raise
        if self._ready:
            self._loop_run.hurry()
        return True

    # -- the main thread's watch over who has the turn -----------------------------------------------------------------

    def _watch(self) -> None:
        """Wait for the main thread's turn, and take it from whoever does not rest."""
        loop_run, seen, quiet = self._loop_run, None, 0
        loop_run.waiting = True
        try:
            while not self.main.gate.acquire(timeout=base.LOOK):
                holder = self._turn
                frame = sys._current_frames().get(holder.ident or 0)
                look = (holder, id(frame), 0 if frame is None else frame.f_lasti)
                del frame
                quiet, seen = (quiet + 1 if look == seen else 0), look
                stuck = quiet >= base.LOOKS and holder.ident is not None
                if (stuck or self.patience <= 0) and self._take_from(holder):
                    return
        finally:
            loop_run.waiting = False

    def _take_from(self, holder: Member) -> bool:
        """Whether the turn is the main thread's now."""
        with self._lock:
            if self._turn is not holder or holder is self.main:
                return False
            holder.away = True
            if self.patience <= 0:
                holder.patience = 0.0
            if not self._ready or self._ready[0] is self.main:
                self._take_turn()
                return True
            self._pass_on()
            return False

    def _take_turn(self) -> None:
        if self.main in self._ready:
            self._ready.remove(self.main)
        if self._turn is self.main:
            self.main.gate.acquire(blocking=False)
        else:
            self._turn.away = self._turn.running = True
        self._turn, self.main.resting, self.main.running = self.main, False, True

    # -- waits ---------------------------------------------------------------------------------------------------------

    def _rest(self, me: Member, due: float, done: Callable[[], bool], *, polling: bool = False) -> None:
        with self._lock:
            if self.over:
                raise RunOver
            if done():
                return
            lost = self._stop(me)
            me.resting, me.due, me.since, me.polling = True, due, next(self._order), polling
            if not lost:
                self._pass_on()  # from here on, this thread must not touch anything
        if lost:
            self._nudge()
        self._come_back(me)

    def wait(self, me: Member, done: Callable[[], bool], seconds: float | None, frame: FrameType) -> bool:
        """Rest until `done()`, as asked whenever the member is woken, or for so many virtual seconds."""
        self.return_to(me)
        loop_run = self._loop_run
        began = loop_run.monotonic()
        due = math.inf if seconds is None else began + seconds
        rest = self._rest_of_main if me is self.main else self._rest
        for_ever = False
        try:
            if seconds is not None and seconds <= 0:
                self.give_way(me)
            while not done() and loop_run.monotonic() < due - _SAME:
                rest(me, due, done)
            return done()
        except (LoopStalled, RunOver):
            for_ever = due == math.inf
            raise
        finally:
            if me is self.main or internals.others_wait_for(internals.running_loop()):
                loop_run.held_up(began, frame, for_ever=for_ever)

    def rest_in_loop(self, me: Member, due: float, done: Callable[[], bool]) -> None:
        """The thread's event loop has nothing to do before `due`, unless it is woken and `done()` then."""
        rest = self._rest_of_main if me is self.main else self._rest
        rest(me, due, done)

    def _rest_of_main(self, me: Member, due: float, done: Callable[[], bool]) -> None:
        """The main thread is blocked, and cannot do what its loop has to do."""
        loop_run = self._loop_run
        if self.let_others():
            return
        now, until = loop_run.monotonic(), min(due, self.next_due())
        loop_run.idle = until == math.inf
        if until > now + _SAME and loop_run.held(idle=loop_run.idle):
            loop_run.waiting = True
            me.gate.acquire(timeout=base.LOOK)
            loop_run.waiting = False
        elif until < math.inf:
            loop_run.advance(max(until - now, 0.0))
            self.release_due()
        else:
            raise LoopStalled("the loop does not turn: this waits for something that never comes")

    def pass_time(self, seconds: float) -> None:
        """The main thread is blocked for so long, whatever happens."""
        due = self._loop_run.monotonic() + seconds
        while self._loop_run.monotonic() < due - _SAME:
            self._rest_of_main(self.main, due, _never)

    # -- time ----------------------------------------------------------------------------------------------------------

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call it on the main thread, even if that is blocked. When: as `VirtualClock.call_at` has it."""
        timer = Timer(callback)
        if when < math.inf:
            due = max(UPTIME + when, self._loop_run.monotonic())
            with self._lock:
                heapq.heappush(self._timers, (due, next(self._order), timer))
        return timer

    def next_due(self) -> float:
        """When the first of those who rest wakes, by the time of `time.monotonic`."""
        with self._lock:
            while self._timers and self._timers[0][2].cancelled:
                heapq.heappop(self._timers)
            dues = [member.due for member in self.members if member.resting]
            return min([*dues, self._timers[0][0]] if self._timers else dues, default=math.inf)

    def release_due(self) -> None:
        """Time has moved, on the main thread: do what is due, and wake whose time has come."""
        now = self._loop_run.monotonic() + _SAME
        due: list[Timer] = []
        with self._lock:
            while self._timers and self._timers[0][0] <= now:
                due.append(heapq.heappop(self._timers)[2])
        for timer in due:
            if not timer.cancelled:
                timer.callback()
        with self._lock:
            rested = [member for member in self.members if member.resting and (member.due <= now or member.polling)]
            for member in sorted(rested, key=lambda member: (member.due, member.since)):
                self._awaken(member)

    # -- the end -------------------------------------------------------------------------------------------------------

    def left(self) -> list[Member]:
        """Threads that the client started and that still live; a pool's are the pool's affair.

        A daemon thread may serve the whole process, so it counts only with an event loop: that serves a session.
        """
        return [member for member in self.members if not member.pool and (member.loops or not member.daemon)]

    def disband(self) -> None:
        """End every thread that rests, loops first: in order, and whatever its code has to say to it."""
        self.ending = True
        for run in self.loops:
            run.cancel_tasks()
        while self.let_others():
            pass
        self.over = True
        for member in list(self.members):
            self.wake(member)
        while self.let_others():
            pass
        for run in self.loops:
            run.close()
        self.loops.clear()


def _nothing() -> None:
    """Only to be called."""


def _never() -> bool:
    return False
