"""Drives one case against one client in virtual time, and records what happened. It judges nothing."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.limits import Limits
from fuzzmcp.core.trace import PROBE, Blocking, Outcome, Run
from fuzzmcp.harness.backing_server import BackingServer
from fuzzmcp.harness.clock import Deadlock, LoopStalled
from fuzzmcp.harness.guards import gc_paused, sigint_watch, silenced
from fuzzmcp.harness.observe.leaks import Leaks
from fuzzmcp.harness.observe.logs import collected_logs
from fuzzmcp.harness.observe.stack_frames import calls_the_client
from fuzzmcp.harness.observe.stacks import CALL
from fuzzmcp.harness.own_faults import HarnessError as HarnessError
from fuzzmcp.harness.own_faults import harness_error
from fuzzmcp.harness.stage import Listeners, Stage
from fuzzmcp.harness.target import Target
from fuzzmcp.harness.tasks import Settled

_SESSION = "session"
_SETTLING = 1.0
"""Virtual seconds that background tasks have to end after the session was closed."""


def drive(
    case: Case,
    target: Target,
    limits: Limits | None = None,
    *,
    backing: BackingServer | None = None,
    below: Any = None,
    quiet: bool = False,
) -> Run:
    """Run one case.

    Args:
        limits: At which the run is cut short.
        backing: A real server behind the fake.
        below: The HTTP backend of the run, as `fuzzmcp.upstream.in_run.below_of` makes it for each run of a target.
        quiet: Swallow what the client prints.

    Raises:
        HarnessError: fuzzmcp itself failed: never the client's fault.
        TypeError: The target asks for an HTTP backend, and `below` is None.
        KeyboardInterrupt: The user pressed Ctrl-C (one that the client raises is its outcome).
    """
    if target.backend is not None and below is None:
        raise TypeError(f"{target.name} takes an HTTP backend as '{target.backend}': hand one in as below")
    session = _Session(case, target, limits or Limits(), backing, below)
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

    def __init__(self, case: Case, target: Target, limits: Limits, backing: BackingServer | None, below: Any) -> None:
        self.case, self.target, self.limits, self.below = case, target, limits, below
        self.leaks = Leaks()
        self.stage = stage = Stage(
            case,
            backing=backing,
            calls=case.calls if target.role == "client" else (),
            frames=limits.frames,
            own_files=(target.file,) if target.file else (),
            listeners=Listeners(
                on_idle=self.on_idle,
                on_task=self.task_started,
                on_exception=self.leaks.exception_unretrieved,
                on_budget=lambda: stage.clock.on_loop(self.budget_spent),
                on_cancel=self.caller_cancels,
            ),
            watchdog=limits.stall,
        )
        self.clock, self.stacks, self.fake, self.wire = stage.clock, stage.stacks, stage.fake, stage.wire
        self.ours, self.backend = stage.ours, stage.backend
        self.phase: Literal["connecting", "calling", "probing", "closing", "closed"] = "connecting"
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
        return self.stage.recorded(
            self.target.role,
            outcomes=tuple(self.outcomes.get(n) or self.unfinished(n) for n in calls if n in self.started),
            probe=self.outcomes.get(PROBE),
            logs=tuple(logs),
            leaks=tuple(self.leaks.found),
            blocked=tuple(Blocking(b.at, b.seconds, b.where) for b in self.clock.blocked),
            ended=self.clock.now() if self.ended is None else self.ended,
            idle=self.idle,
            stopped=self.stopped,
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
        self.stage.dissolve()
        vars(self).clear()

    def unfinished(self, call: int) -> Outcome:
        return Outcome(call, "unfinished", self.started[call], self.clock.now())

    async def main(self) -> None:
        self.stage.begin()
        if self.below is not None:
            self.below.join(self.stacks, self.limits.frames, self.budget_spent)
        async with self.backend.tasks() as self.tasks:
            with self.ours:  # here, for a nursery would wrap it
                await self.whole_session()

    async def whole_session(self) -> None:
        done = self.start(_SESSION, self.session)
        await done.wait()
        self.ended = self.clock.now()
        if self.leaks.running_tasks(self.tasks.owns) or self.clock.threads_left():
            await anyio.sleep(_SETTLING)
        self.phase = "closed"
        self.leaks.look(self.tasks.owns, self.clock.threads_left(), self.wire.streams)
        self.tasks.cancel_all()

    def start(self, key: Any, function: Callable[[], Awaitable[None]]) -> Settled:
        """Run a function as a task. The event that is returned is set when the task ends, or is abandoned."""
        done = self.stage.waits.event()
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
            ours = self.backend.cancelled_from_outside(error)
            if not self.stopped and not ours and _SESSION not in self.given_up:
                self.connect_error = error
                self.connect_traceback = "".join(traceback.format_exception(type(error), error, error.__traceback__))

    @calls_the_client
    async def connect_and_call(self) -> None:
        self.limit_session(2 * self.limits.deadline, "connecting")
        async with self.stage.backing_opened():
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
        self.phase = "calling"
        await self.workload(call_tool)
        if self.fake.steps:
            await anyio.sleep(self.limits.grace)
        self.over()
        await self.probe(call_tool)
        self.phase = "closing"
        self.limit_session(self.limits.shutdown, "closing")

    def client(self) -> Any:
        """Call the client or agent with its server, and with the HTTP backend that it asks for."""
        backend = self.target.backend
        given = {} if backend is None else {backend: self.below.upstream}
        return self.target.function(self.stage.server, **given)

    async def run_agent(self) -> None:
        self.connected = True
        self.phase = "calling"

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
        self.phase = "probing"
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
        over = self.phase == "closed"  # the session has ended, and its end has cancelled the calls that still waited
        if (over or number in self.cancelled) and self.backend.is_cancellation(error):
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

    def limit_session(self, seconds: float, phase: str) -> None:
        def too_long() -> None:
            if self.phase == phase and _SESSION not in self.given_up and not self.finished[_SESSION].is_set():
                self.leaks.note("shutdown", f"{phase} took longer than {seconds:g} s")
                self.give_up(_SESSION)

        self.clock.call_at(self.clock.now() + seconds, too_long, guard=True)

    def on_idle(self) -> None:
        """Nothing is ready and no timer is set, so a task waits for ever. Cancel the calls, then the session."""
        self.idle = True
        pending = [n for n in self.started if n not in self.outcomes and n not in self.given_up]
        if pending:
            for number in pending:
                self.give_up(number)
        elif _SESSION not in self.given_up and self.phase != "closed":
            if self.phase in ("connecting", "closing"):
                self.leaks.note("shutdown", f"{self.phase} waits for ever: nothing was left that could wake it")
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

    def task_started(self, task: Any) -> None:
        if self.phase != "closed":
            self.leaks.task_started(task)


def _bare(error: BaseException | None, depth: int = 0) -> BaseException | None:
    """The exception without its tracebacks, which would keep frames of the run alive."""
    if error is None or depth > 20:
        return error
    error.__traceback__ = None
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        _bare(other, depth + 1)
    return error
