"""A loop that does not turn is interrupted. The only tests that take real time: fractions of a second."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest

from fuzzmcp.harness.clock import LoopStalled, VirtualClock, watchdog

from .runs import HOUR, both, spin_until


@both
def test_a_loop_that_does_not_turn_is_interrupted_and_the_culprit_named(backend: str) -> None:
    virtual = VirtualClock(backend, watchdog=0.1)

    def culprit() -> None:
        while True:
            pass

    async def main() -> None:
        await anyio.sleep(1)
        culprit()

    with pytest.raises(LoopStalled):
        virtual.run(main)
    (entry,) = virtual.blocked
    assert (entry.at, entry.seconds) == (1.0, math.inf)
    assert entry.where.startswith("test_watchdog.py:")
    assert entry.where.endswith(" culprit")


@both
def test_reading_the_clock_in_a_loop_is_a_stall(backend: str) -> None:
    async def main() -> None:
        end = anyio.current_time() + 5
        while anyio.current_time() < end:
            pass

    with pytest.raises(LoopStalled):
        VirtualClock(backend, watchdog=0.05).run(main)


@both
def test_a_stall_inside_a_task_group_comes_out_as_itself(backend: str) -> None:
    async def spin() -> None:
        while True:
            pass

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(spin)

    with pytest.raises(LoopStalled):
        VirtualClock(backend, watchdog=0.05).run(main)


@both
def test_a_stall_that_is_caught_is_interrupted_again(backend: str) -> None:
    virtual = VirtualClock(backend, watchdog=0.1)
    caught: list[BaseException] = []

    async def main() -> str:
        while len(caught) < 3:
            try:
                while True:
                    pass
            except BaseException as error:
                caught.append(error)
        return "went on"

    assert virtual.run(main) == "went on"
    assert [type(error) for error in caught] == [LoopStalled] * 3
    assert len(virtual.blocked) == 1


@both
def test_a_busy_worker_is_no_stall(backend: str) -> None:
    virtual = VirtualClock(backend, watchdog=0.2)
    looked = watchdog.WATCHDOG._look
    looks: list[bool] = []

    def look(ident: int, loop_run: Any, now: float, elapsed: float) -> None:
        looks.append(loop_run.waiting)
        looked(ident, loop_run, now + HOUR * len(looks), 0.0)

    watchdog.WATCHDOG._look = look  # type: ignore[method-assign]
    try:
        virtual.run(lambda: anyio.to_thread.run_sync(lambda: spin_until(lambda: sum(looks) > 3)))
    finally:
        del watchdog.WATCHDOG._look  # type: ignore[method-assign]
    assert sum(looks) > 3
    assert virtual.blocked == []


def test_the_watchdog_is_one_thread_however_many_runs_there_are() -> None:
    for _ in range(20):
        VirtualClock().run(functools.partial(anyio.sleep, 1))
    assert [thread.name for thread in threading.enumerate()].count("fuzzmcp watchdog") == 1


def test_a_stall_leaves_nothing_behind_that_a_tracer_would_trip_over() -> None:
    """On CPython 3.11, a withdrawn asynchronous exception made every traced call after it an endless loop."""
    code = """
import sys
from fuzzmcp.harness.clock import LoopStalled, VirtualClock

async def main():
    while True:
        try:
            while True:
                pass
        except LoopStalled:
            return

VirtualClock(watchdog=0.05).run(main)
lines = []

def traced():
    return 1

sys.settrace(lambda *event: lines.append(event) or None)
traced()
sys.settrace(None)
print(len(lines) > 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
