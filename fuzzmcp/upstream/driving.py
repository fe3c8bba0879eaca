"""Runs a function that calls an upstream in virtual time, and tells what happened."""

from __future__ import annotations

import asyncio
import functools
import inspect
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from fuzzmcp.core.protocol import DEFAULT_BACKEND
from fuzzmcp.core.script import Script
from fuzzmcp.core.trace import Blocking, Outcome
from fuzzmcp.harness.clock import Deadlock, LoopStalled
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.harness.stage import ObservedClock
from fuzzmcp.harness.target import Target
from fuzzmcp.upstream.answers import Hints
from fuzzmcp.upstream.record import HttpRun
from fuzzmcp.upstream.server import Upstream
from fuzzmcp.upstream.sessions import BudgetSpent, HttpSession, register, registration_now
from fuzzmcp.upstream.sync_code import BUDGET, seeded, virtual

_CUT_SHORT = (Deadlock, BudgetSpent, LoopStalled)


def run(
    function: Callable[[Upstream], Any],
    script: str | Script | Upstream = "",
    *,
    ok: Any = None,
    hints: Hints = "seconds",
    backend: str = DEFAULT_BACKEND,
    budget: int = BUDGET,
) -> HttpRun:
    """Call a function with an upstream, in virtual time, and return what happened: it is the one call of this run.

    An async function runs on a loop of its own; a sync one as `virtual` runs a block. `random` starts from the same
    seed each time, so that jitter repeats.

    Args:
        function: Sync or async; it makes its client from `upstream.transport()` or `upstream.adapter()`.
        script: The value of `FAULTS`, or an upstream.
        ok: The body of a success, as `Upstream` takes it.
        hints: How a retry-after is written, as `Upstream` takes it.
        backend: `asyncio` or `trio`, for an async function.
        budget: HTTP requests after which the run is cut short.

    Raises:
        ScriptError, ValueError: Something given cannot be used.
        TypeError: A function that is not `async` returned a coroutine.
        HarnessError: fuzzmcp itself failed: never the function's fault.

    >>> async def nothing(upstream): return "done"
    >>> run(nothing, "429").unreached
    ('429',)
    """
    upstream = script if isinstance(script, Upstream) else Upstream(script, ok=ok, hints=hints)
    before = len(upstream.requests)
    file = Target("", function, "agent").file
    own_files, end = (file,) if file else (), _End()
    if _is_async(function):
        _run_async(function, upstream, ObservedClock(backend, upstream, own_files=own_files), end, budget)
    else:
        _run_sync(function, upstream, Stacks(own_files), end, budget)
    return HttpRun(
        script=upstream.script,
        requests=upstream.requests[before:],
        outcomes=(end.outcome(),),
        ended=end.at,
        idle=isinstance(end.cut, Deadlock),
        stopped=str(end.cut) if isinstance(end.cut, (BudgetSpent, LoopStalled)) else "",
        blocked=end.blocked,
        unreached=upstream.unreached,
        undelivered=upstream.undelivered,
    )


@dataclass
class _End:
    """How a function ended, filled in as it does; `cut` is what ended the run before."""

    value: Any = None
    error: BaseException | None = None
    cut: BaseException | None = None
    at: float = 0.0
    blocked: tuple[Blocking, ...] = ()

    def outcome(self) -> Outcome:
        status: Literal["returned", "raised", "unfinished"] = "returned"
        error, trace = None if self.cut else self.error, ""
        if self.cut is not None:
            status = "unfinished"
        elif error is not None:
            status, trace = "raised", _places_of(error)
        for seen in (self.error, self.cut):
            _let_go(seen)
        return Outcome(0, status, 0.0, self.at, self.value, error, trace)


def _places_of(error: BaseException) -> str:
    frames = traceback.walk_tb(error.__traceback__)
    return "\n".join([f"{frame.f_code.co_filename}:{line} {frame.f_code.co_name}" for frame, line in frames][-12:])


def _let_go(error: BaseException | None) -> None:
    """Take the tracebacks off an exception and all that belongs to it, so that no frame of the run stays alive."""
    seen: set[int] = set()
    left = [error]
    while left:
        error = left.pop()
        if error is not None and id(error) not in seen:
            seen.add(id(error))
            error.__traceback__ = None
            left += [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]


def _is_async(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _run_async(
    function: Callable[[Upstream], Awaitable[Any]],
    upstream: Upstream,
    observed: ObservedClock,
    end: _End,
    budget: int,
) -> None:
    clock, stacks = observed.clock, observed.stacks
    session = HttpSession(stacks, 0, budget)

    async def main() -> None:
        observed.begin()
        register(registration_now().loop_run, session)
        CALL.set(0)
        stacks.call_started()
        try:
            end.value = await function(upstream)
        except Exception as error:
            end.error = error
        except asyncio.CancelledError as error:
            end.error = error
            raise

    try:
        with seeded():
            clock.run(main)
    except _CUT_SHORT as error:
        end.cut = error
    except asyncio.CancelledError:
        if end.error is None:  # it is not the function's
            raise
    finally:
        stacks.clear()
    end.at = clock.now()
    end.blocked = tuple(Blocking(b.at, b.seconds, b.where) for b in clock.blocked)


def _run_sync(function: Callable[[Upstream], Any], upstream: Upstream, stacks: Stacks, end: _End, budget: int) -> None:
    try:
        with virtual(budget=budget, stacks=stacks) as now:
            try:
                end.value = function(upstream)
            except Exception as error:
                end.error = error
            finally:
                end.at = now()
    except _CUT_SHORT as error:
        end.cut = error
    if inspect.iscoroutine(end.value):
        end.value.close()
        raise TypeError("the function returned a coroutine: give run an async function itself")
