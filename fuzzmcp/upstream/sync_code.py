"""A block of synchronous code in virtual time, whose requests belong to one call."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator

from fuzzmcp.harness.clock import LoopRun, current, virtual_block
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.harness.own_faults import Ours
from fuzzmcp.upstream.sessions import HttpSession, register

BUDGET = 1_000
"""HTTP requests that a run may send, all in all."""


@contextlib.contextmanager
def virtual(*, budget: int = BUDGET, stacks: Stacks | None = None) -> Iterator[Callable[[], float]]:
    """Let a block of synchronous code live in virtual time; gives a function that says how late it is.

    Within it, an upstream answers, and `time.sleep` never sleeps for real, also in threads that the block starts; the
    requests belong to call 0. `random` starts from the same seed each time, so that jitter repeats. Inside of a run the
    block uses that run's clock.

    Args:
        budget: HTTP requests that the block may send.
        stacks: Takes the code locations of its requests.

    Raises:
        Deadlock: A request without a timeout waits for an answer that never comes, and nothing else can happen.
        BudgetSpent: The block sent more requests than that.

    >>> import time
    >>> with virtual() as now:
    ...     time.sleep(3600)
    ...     now()
    3600.0
    """
    registration = current()
    if registration is not None:
        yield registration.loop_run.now
        return
    stacks = stacks or Stacks()
    session = HttpSession(stacks, 0, budget)
    runs: list[LoopRun] = []

    def began(loop_run: LoopRun) -> None:
        runs.append(loop_run)
        register(loop_run, session)

    ours = Ours(lambda fault: runs[0].stop(fault), "synchronous code")
    block = virtual_block(began, on_task=stacks.births(ours))
    try:
        with block as now, _in_call(0), seeded():
            yield now
    finally:
        stacks.clear()


@contextlib.contextmanager
def _in_call(call: int) -> Iterator[None]:
    """What the block does, it does for this call."""
    token = CALL.set(call)
    try:
        yield
    finally:
        CALL.reset(token)


@contextlib.contextmanager
def seeded() -> Iterator[None]:
    """Jitter that repeats: `random` starts from the same seed, and goes on afterwards where it was."""
    state = random.getstate()
    random.seed(0)
    try:
        yield
    finally:
        random.setstate(state)
