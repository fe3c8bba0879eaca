"""Drives one case against one client in virtual time, and records what happened. It judges nothing."""

from __future__ import annotations

import contextlib
import gc
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.limits import Limits
from fuzzmcp.core.trace import PROBE, Blocking, Outcome, Run
from fuzzmcp.harness.clock import Deadlock, LoopStalled, VirtualClock
from fuzzmcp.harness.guards import gc_paused, sigint_watch, silenced
from fuzzmcp.harness.observe.leaks import Leaks
from fuzzmcp.harness.observe.logs import collected_logs
from fuzzmcp.harness.observe.stack_frames import calls_the_client
from fuzzmcp.harness.observe.stacks import CALL, STACKS, Stacks
from fuzzmcp.harness.own_faults import HarnessError as HarnessError
from fuzzmcp.harness.own_faults import harness_error
from fuzzmcp.harness.server import FakeServer
from fuzzmcp.harness.target import Target
from fuzzmcp.harness.tasks import Settled, is_cancellation, task_group, waits_of
from fuzzmcp.harness.transports.wire import MemoryWire

_SESSION = "session"
_SETTLING = 1.0
"""Virtual seconds that background tasks have to end after the session was closed."""


def drive(
    case: Case,
    target: Target,
    limits: Limits | None = None,
    *,
    front: Any = None,
    below: Any = None,
    quiet: bool = False,
) -> Run:
    """Run one case.

    Args:
        limits: At which the run is cut short.
        front: A real server behind the fake, as `fuzzmcp.harness.backing_server.Front`.
        below: The HTTP backend of the run, as `fuzzmcp.upstream.in_run.below_of` makes it for each run of a target.
        quiet: Swallow what the client prints.

    Raises:
        HarnessError: fuzzmcp itself failed: never the client's fault.
        TypeError: The target asks for an HTTP backend, and `below` is None.
        KeyboardInterrupt: The user pressed Ctrl-C (one that the client raises is its outcome).
    """
    if target.backend is not None and below is None:
        raise TypeError(f"{target.name} takes an HTTP backend as '{target.backend}': hand one in as below")
    session = _Session(case, target, limits or Limits(), front, below)
    with sigint_watch() as pressed, silenced(quiet), gc_paused():
        try:
            return session.run()  # no local name: a traceback that the client keeps may keep this frame
        except Exception as error:  # what the client raises is its outcome
            own = harness_error(error, case)
            raise own from own.__cause__
        finally:
            session.dissolve()
            if pressed():
                raise KeyboardInterrupt


class _Session:
    """The moving parts of one run. All of them end with it."""

    def __init__(self, case: Case, target: Target, limits: Limits, front: Any, below: Any) -> None:
        self.case, self.target, self.limits, self.front, self.below = case, target, limits, front, below
        self.stacks = Stacks((target.file,) if target.file else ())
        self.leaks = Leaks()
        self.clock = VirtualClock(
            case.backend,
            seed=case.schedule,
            watchdog=limits.stall,
            on_idle=self.on_idle,
            on_task=self.task_started,
            on_exception=self.leaks.exception_unretrieved,
        )
        self.fake = FakeServer(case)
        self.waits = waits_of(case.backend)
        self.wire = MemoryWire(
            self.fake,
            self.clock,
            self.stacks,
            calls=case.calls if target.role == "client" else (),
            frame_budget=limits.frames,
            on_budget=lambda: self.clock.on_loop(self.budget_spent),
            on_cancel=self.caller_cancels,
            ask=front.call if front else None,
            waits=self.waits,
        )
        self.ours = self.wire.ours
        self.stage: Literal["connecting", "calling", "probing", "closing", "closed"] = "connecting"
        self.outcomes: dict[int, Outcome] = {}
        self.started: dict[int, float] = {}
        self.finished: dict[Any, Settled] = {}
        self.cancelled: set[int] = set()
        self.cancellable = True
        self.given_up: set[Any] = set()
        self.tasks: Any = None
        self.connected = False
        self.connect_error: BaseException | None = None
        self.connect_traceback = ""
        self.idle = False
        self.stopped = ""
        self.ended: float | None = None

    # -- the run ---------------------------------------------------------------------------------------------------

    def run(self) -> Run:
        with collected_logs(self.clock.now) as logs:
            try:
                self.clock.run(self.main)
            except Deadlock:
                self.idle = True
                self.leaks.note("shutdown", "the session never closed: nothing was left that could happen")
            except (SystemExit, KeyboardInterrupt, LoopStalled) as error:
                self.stopped = self.stopped or f"{type(error).__name__} escaped from a task of the client"
                self.connect_error = self.connect_error or error
            self.forget_client()
        calls = range(len(self.case.calls) if self.target.role == "client" else 1)
        return Run(
            case=self.wire.case,
            role=self.target.role,
            events=tuple(self.wire.events),
            outcomes=tuple(self.outcomes.get(n) or self.unfinished(n) for n in calls if n in self.started),
            probe=self.outcomes.get(PROBE),
            logs=tuple(logs),
            leaks=tuple(self.leaks.found),
            blocked=tuple(Blocking(b.at, b.seconds, b.where) for b in self.clock.blocked),
            ended=self.clock.now() if self.ended is None else self.ended,
            idle=self.idle,
            stopped=self.stopped,
            unreached=self.fake.unreached(),
            undelivered=self.wire.undelivered(),
            played=self.wire.played(),
            steps=tuple(self.fake.steps),
            connect_error=_bare(self.connect_error),
            connect_traceback=self.connect_traceback,
            connected=self.connected,
        )

    def forget_client(self) -> None:
        """Let go of the client's frames and tasks, so that unretrieved exceptions are reported now.

        A failed task in a reference cycle reports only when it is collected. A collection costs up to a tenth of a run,
        so it happens only if a task has failed.
        """
        self.stacks.clear()
        if self.leaks.forget_tasks():
            gc.collect(0)

    def dissolve(self) -> None:
        """Break the reference cycles of the run: its memory is freed at once, without the garbage collector."""
        self.wire.dissolve()
        vars(self).clear()

    def unfinished(self, call: int) -> Outcome:
        return Outcome(call, "unfinished", self.started[call], self.clock.now())

    async def main(self) -> None:
        STACKS.set(self.stacks)
        if self.below is not None:
            self.below.join(self.stacks, self.limits.frames, self.budget_spent)
        if self.case.backend == "trio":
            self.stacks.watch_trio(self.ours)
        async with task_group(self.case.backend) as self.tasks:
            with self.ours:  # here, for a nursery would wrap it
                await self.whole_session()

    async def whole_session(self) -> None:
        done = self.start(_SESSION, self.session)
        await done.wait()
        self.ended = self.clock.now()
        if self.leaks.running_tasks(self.tasks.owns) or self.clock.threads_left():
            await anyio.sleep(_SETTLING)
        self.stage = "closed"
        self.leaks.look(self.tasks.owns, self.clock.threads_left(), self.wire.streams)
        self.tasks.cancel_all()

    def start(self, key: Any, function: Callable[[], Awaitable[None]]) -> Settled:
        """Run a function as a task. The event that is returned is set when the task ends, or is abandoned."""
        done = self.waits.event()
        self.finished[key] = done

        async def wrapped() -> None:
            try:
                with self.ours:  # `function` keeps what the client raises
                    await function()
            finally:
                done.set()

        self.tasks.start(key, wrapped)
        return done

    async def session(self) -> None:
        try:
            await self.connect_and_call()
        except BaseException as error:
            ours = self.case.backend == "trio" and is_cancellation(error, "trio")  # no other scope lets it through
            if not self.stopped and not ours and _SESSION not in self.given_up:
                self.connect_error = error
                self.connect_traceback = "".join(traceback.format_exception(type(error), error, error.__traceback__))

    @calls_the_client
    async def connect_and_call(self) -> None:
        self.limit_session(2 * self.limits.deadline, "connecting")
        opened = contextlib.nullcontext() if self.front is None else self.front.opened()
        async with opened:
            if self.target.role == "agent":
                with self.ours:
                    await self.run_agent()
                return
            async with self.client() as call_tool:
                if not callable(call_tool):
                    what = type(call_tool).__name__
                    raise TypeError(f"a client yields call_tool, async (tool, arguments); this one yields: {what}")
                self.connected = True
                self.cancellable = getattr(call_tool, "cancellable", True)
                with self.ours:  # each call is a task of its own, which keeps what the client raises
                    await self.calls(call_tool)

    async def calls(self, call_tool: Callable[..., Any]) -> None:
        self.stage = "calling"
        await self.workload(call_tool)
        if self.fake.steps:
            await anyio.sleep(self.limits.grace)
        self.over()
        await self.probe(call_tool)
        self.stage = "closing"
        self.limit_session(self.limits.shutdown, "closing")

    def client(self) -> Any:
        """Call the client or agent with its server, and with the HTTP backend that it asks for."""
        backend = self.target.backend
        given = {} if backend is None else {backend: self.below.upstream}
        return self.target.function(self.wire, **given)

    async def run_agent(self) -> None:
        self.connected = True
        self.stage = "calling"

        async def call(*_: Any) -> Any:
            return await self.client()

        await self.call(0, None, call)
        self.over()

    async def workload(self, call_tool: Callable[..., Any]) -> None:
        """Start each call at its time, or else when the calls before it have settled. Wait for all of them."""
        begin = self.clock.now()
        waiting: list[Settled] = []
        for number, call in enumerate(self.case.calls):
            if call.at is None:
                for event in waiting:
                    await event.wait()
            elif begin + call.at > self.clock.now():
                await anyio.sleep(begin + call.at - self.clock.now())
            waiting.append(self.start(number, lambda n=number, c=call: self.call(n, c, call_tool)))  # type: ignore[misc]
        for event in waiting:
            await event.wait()

    def over(self) -> None:
        self.wire.note("over")
        self.fake.finish()

    async def probe(self, call_tool: Callable[..., Any]) -> None:
        """Make one more call: the session must still work after the script's faults. Without faults there is none."""
        if not self.fake.steps or self.wire.closed_by_server or self.stopped:
            return
        self.stage = "probing"
        done = self.start(PROBE, lambda: self.call(PROBE, self.probe_call(), call_tool))
        await done.wait()

    def probe_call(self) -> Call:
        first = self.case.calls[0]
        tools = [tool for tool in self.case.tools if tool.repeatable]
        if not tools or any(tool.name == first.tool for tool in tools):
            return first
        return Call(tools[0].name, tools[0].sample_arguments)

    @calls_the_client
    async def call(self, number: int, call: Call | None, call_tool: Callable[..., Any]) -> None:
        """Make one call, and keep its outcome."""
        CALL.set(number)
        self.stacks.call_started()
        began = self.started[number] = self.clock.now()
        self.wire.note("start", call=number)
        self.clock.call_at(began + 2 * self.limits.deadline, lambda: self.give_up(number), guard=True)
        value, error = None, None
        try:
            value = await (call_tool(call.tool, dict(call.arguments)) if call else call_tool())
        except BaseException as raised:
            error = raised
        if number not in self.outcomes:
            outcome = self.outcomes[number] = self.outcome(number, began, value, error)
            if outcome.status != "unfinished":
                self.wire.note("settle", call=number)

    def outcome(self, number: int, began: float, value: Any, error: BaseException | None) -> Outcome:
        now = self.clock.now()
        if number in self.given_up or isinstance(error, LoopStalled):
            return Outcome(number, "unfinished", began, now)
        if error is None:
            return Outcome(number, "returned", began, now, value=value)
        over = self.stage == "closed"  # the session has ended, and its end has cancelled the calls that still waited
        if (over or number in self.cancelled) and is_cancellation(error, self.case.backend):
            return Outcome(number, "cancelled", began, now)
        places = [
            f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        return Outcome(number, "raised", began, now, error=_bare(error), traceback="\n".join(places[-12:]))

    # -- what can end it -------------------------------------------------------------------------------------------

    def give_up(self, key: Any) -> None:
        """Cancel a task that takes too long. If it does not end soon, the run goes on without it."""
        done = self.finished.get(key)
        if key in self.given_up or (done is not None and done.is_set()):
            return
        self.given_up.add(key)
        self.tasks.cancel(key)
        if done is not None:
            self.clock.call_at(self.clock.now() + self.limits.shutdown, done.set, guard=True)

    def limit_session(self, seconds: float, stage: str) -> None:
        def too_long() -> None:
            if self.stage == stage and _SESSION not in self.given_up and not self.finished[_SESSION].is_set():
                self.leaks.note("shutdown", f"{stage} took longer than {seconds:g} s")
                self.give_up(_SESSION)

        self.clock.call_at(self.clock.now() + seconds, too_long, guard=True)

    def on_idle(self) -> None:
        """Nothing is ready and no timer is set, so a task waits for ever. Cancel the calls, then the session."""
        self.idle = True
        pending = [n for n in self.started if n not in self.outcomes and n not in self.given_up]
        if pending:
            for number in pending:
                self.give_up(number)
        elif _SESSION not in self.given_up and self.stage != "closed":
            if self.stage in ("connecting", "closing"):
                self.leaks.note("shutdown", f"{self.stage} waits for ever: nothing was left that could wake it")
            self.give_up(_SESSION)

    def budget_spent(self) -> None:
        if not self.stopped:
            self.stopped = f"the frame budget of {self.limits.frames:,} is spent"
            for number in sorted(n for n in self.started if n not in self.outcomes):
                self.give_up(number)
            self.give_up(_SESSION)

    def caller_cancels(self, call: int | None) -> bool:
        number = 0 if self.target.role == "agent" else call
        if number is None or number not in self.started or number in self.outcomes or number in self.cancelled:
            return False
        if not self.cancellable:
            self.wire.uncancelled = "the call blocks its caller, who cannot cancel it"
            return False
        self.cancelled.add(number)
        self.wire.note("cancel", call=number)
        self.clock.on_loop(lambda: self.tasks.cancel(number if self.target.role == "client" else _SESSION))
        return True

    def task_started(self, task: Any, parent: Any) -> None:
        try:
            self.stacks.task_started(task, parent)
            if self.stage != "closed":
                self.leaks.task_started(task)
        except Exception as error:
            self.ours.failed(error)  # and the task lives on: nobody else would await it


def _bare(error: BaseException | None, depth: int = 0) -> BaseException | None:
    """The exception without its tracebacks, which would keep frames of the run alive."""
    if error is None or depth > 20:
        return error
    error.__traceback__ = None
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        _bare(other, depth + 1)
    return error
