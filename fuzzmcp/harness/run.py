"""Drives one case against one client in virtual time, and writes down what happened. It judges nothing."""

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
from fuzzmcp.harness.guards import collection_paused, interrupts, prints
from fuzzmcp.harness.observe.leaks import Leftovers
from fuzzmcp.harness.observe.logs import collected_logs
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
        case: What to drive.
        target: The client or agent.
        limits: Where the run is cut short.
        backing: A real server behind the fake.
        below: The HTTP backend of the run, as `fuzzmcp.upstream.in_run.Below`; one with nothing wrong when None.
        quiet: Swallow what the client prints.

    Raises:
        HarnessError: fuzzmcp itself failed: never the client's fault.
        KeyboardInterrupt: The user pressed Ctrl-C (one that the client raises is its outcome).
    """
    session = _Session(case, target, limits or Limits(), backing, below)
    with interrupts() as pressed, prints(quiet), collection_paused():
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
    """The moving parts of one run. Everything in here ends with it."""

    def __init__(self, case: Case, target: Target, limits: Limits, backing: BackingServer | None, below: Any) -> None:
        self.case, self.target, self.limits, self.below = case, target, limits, below
        self.left = Leftovers()
        self.stage = stage = Stage(
            case,
            backing=backing,
            calls=case.calls if target.role == "client" else (),
            frames=limits.frames,
            own_files=(target.file,) if target.file else (),
            listeners=Listeners(
                on_idle=self.on_idle,
                on_task=self.task_started,
                on_exception=self.left.raised,
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
                self.left.note("shutdown", "the session never closed: nothing was left that could happen")
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
            leaks=tuple(self.left.leaks),
            blocked=tuple(Blocking(b.at, b.seconds, b.where) for b in self.clock.blocked),
            ended=self.clock.now() if self.ended is None else self.ended,
            idle=self.idle,
            stopped=self.stopped,
            connect_error=_bare(self.connect_error),
            connect_traceback=self.connect_traceback,
            connected=self.connected,
        )

    def forget_client(self) -> None:
        """Let go of the client's frames and tasks, so that exceptions that nobody retrieved are reported now.

        A failed task that hangs in a reference cycle reports only when it is collected. A collection costs as much as
        a tenth of a run, so it has to have a reason.
        """
        self.stacks.clear()
        if self.left.forget_tasks():
            gc.collect(0)

    def dissolve(self) -> None:
        """Untie what knows each other, so that a run frees its memory at once and leaves the collector little to do."""
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
        if self.left.running(self.tasks.owns) or self.clock.threads_left():
            await anyio.sleep(_SETTLING)
        self.phase = "closed"
        self.left.look(self.tasks.owns, self.clock.threads_left(), self.wire.streams)
        self.tasks.cancel_all()

    def start(self, key: Any, function: Callable[[], Awaitable[None]]) -> Settled:
        """Run `function` as a task of its own; the event is set when it ends, or when it is abandoned."""
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
        """The client or agent, begun with its server, and with the backend that it asks for."""
        backend = self.target.backend
        if backend is None:
            return self.target.function(self.stage.server)
        if self.below is not None:
            return self.target.function(self.stage.server, **{backend: self.below.upstream})
        from fuzzmcp.upstream.in_run import beside

        return self.target.function(self.stage.server, **{backend: beside(self.target.function)})

    async def run_agent(self) -> None:
        self.connected = True
        self.phase = "calling"

        async def call(*_: Any) -> Any:
            return await self.client()

        await self.call(0, None, call)
        self.over()

    async def workload(self, call_tool: Callable[..., Any]) -> None:
        """Start every call at its time, or once the one before has settled, and wait for all."""
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
        """One call more: a session must bear what the script did to it. A plain run has nothing to bear."""
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

    async def call(self, number: int, call: Call | None, call_tool: Callable[..., Any]) -> None:
        """One call from start to end, with its outcome."""
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
        over = self.phase == "closed"  # the session has ended, and so we have ended the calls that were still waiting
        if (over or number in self.cancelled) and self.backend.is_cancellation(error):
            return Outcome(number, "cancelled", began, now)
        places = [
            f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        return Outcome(number, "raised", began, now, error=_bare(error), traceback="\n".join(places[-12:]))

    # -- what can end it -------------------------------------------------------------------------------------------

    def give_up(self, key: Any) -> None:
        """Cancel a task that takes too long, and go on without it if it does not end soon."""
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
                self.left.note("shutdown", f"{phase} took longer than {seconds:g} s")
                self.give_up(_SESSION)

        self.clock.call_at(self.clock.now() + seconds, too_long, guard=True)

    def on_idle(self) -> None:
        """Nothing is ready and no timer is set: someone waits for ever. Cancel the calls, then the session."""
        self.idle = True
        pending = [n for n in self.started if n not in self.outcomes and n not in self.given_up]
        if pending:
            for number in pending:
                self.give_up(number)
        elif _SESSION not in self.given_up and self.phase != "closed":
            if self.phase in ("connecting", "closing"):
                self.left.note("shutdown", f"{self.phase} waits for ever: nothing was left that could wake it")
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
            self.left.started(task)


def _bare(error: BaseException | None, depth: int = 0) -> BaseException | None:
    """The exception without tracebacks, so that no frame of the run stays alive."""
    if error is None or depth > 20:
        return error
    error.__traceback__ = None
    for other in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        _bare(other, depth + 1)
    return error
