"""Bodies of async tests in virtual time, whichever plugin runs them."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import io
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from fuzzmcp.core.trace import Run
from fuzzmcp.harness.clock import Deadlock, VirtualClock
from fuzzmcp.harness.observe.stack_frames import installed
from fuzzmcp.harness.observe.stacks import Stacks
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.harness.server import FakeServer
from fuzzmcp.harness.transports.wire import MemoryWire
from fuzzmcp.pytest_plugin.failures import failure
from fuzzmcp.pytest_plugin.server import ScriptedServer

_STALL = 3_600.0
"""Real seconds that a body may hold up its loop: a person may be at work in it with a debugger."""
_FRAMES = 1_000
_NO_FAILURES = (pytest.skip.Exception, pytest.xfail.Exception)


class Stage:
    """The virtual time of one body, with the fake server in it."""

    def __init__(self, server: ScriptedServer, backend: str) -> None:
        self.case, self.front = replace(server.case, backend=backend), server.front
        self.stacks = Stacks()
        ours = Ours(lambda fault: self.clock.fail(fault), self.case)
        self.clock = VirtualClock(backend, watchdog=_STALL, on_idle=self._idle, on_task=self.stacks.births(ours))
        self.fake = FakeServer(self.case)
        self.wire = MemoryWire(
            self.fake,
            self.clock,
            self.stacks,
            frame_budget=_FRAMES,
            on_budget=self._spent,
            ask=self.front.call if self.front else None,
        )
        self._body: Any = None
        self._waits = ""

    def run(self, function: Callable[[], Awaitable[Any]]) -> None:
        """Run a body.

        Raises:
            BaseException: What it raised, or the failure of a body that waits for ever.
        """
        __tracebackhide__ = True
        try:
            self.clock.run(lambda: self._main(function))
        except Deadlock as error:
            raise failure("waits for ever", f"at {self.clock.now():.3f} s: {error}{self._waits}") from None
        finally:
            self.stacks.clear()

    async def _main(self, function: Callable[[], Awaitable[Any]]) -> None:
        async with contextlib.nullcontext() if self.front is None else self.front.opened():
            self._body = function()
            await self._body

    def _idle(self) -> None:
        place = _innermost(self._body)
        self._waits = f" ({place})" if place else ""

    def _spent(self) -> None:
        def fail() -> None:
            raise failure("endless traffic", f"the client has sent more than {_FRAMES:,} messages")

        self.clock.call_at(self.clock.now(), fail)

    def record(self) -> Run:
        """What has happened so far."""
        return Run(
            case=self.wire.case,
            role="agent",
            events=tuple(self.wire.events),
            outcomes=(),
            ended=self.clock.now(),
            unreached=self.fake.unreached(),
            undelivered=self.wire.undelivered(),
            played=self.wire.played(),
            steps=tuple(self.fake.steps),
        )


def _innermost(awaitable: Any) -> str:
    """Where a suspended coroutine waits: the innermost place outside of installed packages."""
    place = ""
    while awaitable is not None:
        frame = getattr(awaitable, "cr_frame", None) or getattr(awaitable, "ag_frame", None)
        if frame is not None and not installed(frame.f_code.co_filename):
            place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"
        awaitable = getattr(awaitable, "cr_await", None) or getattr(awaitable, "ag_await", None)
    return place


@contextlib.contextmanager
def in_virtual_time(item: Any, server: ScriptedServer) -> Iterator[None]:
    """Let the body of a test run in virtual time if it is a coroutine; any other is left as it is."""
    body = getattr(item, "obj", None)
    if not inspect.iscoroutinefunction(body):
        yield
        return
    backend, hosted = _host(item, server)

    @functools.wraps(body, updated=())
    def virtual(**arguments: Any) -> Any:
        __tracebackhide__ = True
        stage = server.stage = Stage(server, backend)
        try:
            _outside_of_trio(lambda: stage.run(lambda: body(**arguments)))
        finally:
            server.runs.append(stage.record())
            server.stage = None
            stage.wire.dissolve()
        return _nothing() if hosted else None

    item.obj = virtual
    try:
        yield
    finally:
        item.obj = body


async def _nothing() -> None:
    """What is left to do for pytest-asyncio, which wants a coroutine to run."""


def _host(item: Any, server: ScriptedServer) -> tuple[str, bool]:
    """The loop that the test's plugin would run it on, and whether that is pytest-asyncio."""
    hosted = any(kind.__module__.partition(".")[0] == "pytest_asyncio" for kind in type(item).__mro__)
    anyio = item.funcargs.get("anyio_backend")
    name = "asyncio" if hosted else anyio[0] if isinstance(anyio, tuple) else anyio
    if name is None:
        return server.case.backend, False
    if server.backend not in (None, name):
        message = f"{item.name}: the marker faults asks for {server.backend}, but this test runs on {name}"
        raise failure("error", message)
    return name, hosted


def _outside_of_trio(function: Callable[[], None]) -> None:
    """Call it; in a thread of its own where trio runs on this one, as it does while an async fixture is alive."""
    __tracebackhide__ = True
    if not _trio_runs():
        return function()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return None


def _trio_runs() -> bool:
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_trio_token()
    except RuntimeError:
        return False
    return True


def told(item: Any, server: ScriptedServer, error: BaseException) -> None:
    """Show what happened on the wire with a test that failed."""
    from fuzzmcp.report.terminal.console import show_timeline
    from fuzzmcp.report.terminal.style import console_for
    from fuzzmcp.report.timeline import timeline

    record = server.record
    if record is None or not record.events or isinstance(error, _NO_FAILURES):
        return
    out = io.StringIO()
    show_timeline(timeline(record), console_for(out))
    item.add_report_section("call", "fake_server", f"FAULTS={record.case.script}\n\n{out.getvalue().rstrip()}\n")
