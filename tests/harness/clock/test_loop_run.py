"""What ends or delays a run: idleness, polling, and `time.sleep` on the loop."""

# ruff: noqa: ASYNC251

from __future__ import annotations

import math
import time

import anyio
import anyio.lowlevel
import pytest

from fuzzmcp.harness.clock import Blocked, Deadlock, LoopStalled, VirtualClock, base

from .runs import HOUR, both, never


@both
def test_waiting_for_what_never_comes_is_a_deadlock(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> None:
        await anyio.sleep(3)
        await anyio.Event().wait()

    with pytest.raises(Deadlock):
        virtual.run(main)
    assert virtual.now() == 3.0


@both
def test_on_idle_that_does_nothing_is_called_once(backend: str) -> None:
    calls: list[None] = []
    with pytest.raises(Deadlock):
        VirtualClock(backend, on_idle=lambda: calls.append(None)).run(never)
    assert len(calls) == 1


@both
def test_on_idle_may_schedule_something_each_time(backend: str) -> None:
    moments: list[float] = []

    async def main() -> None:
        for _ in range(3):
            events.append(anyio.Event())
            await events[-1].wait()

    def on_idle() -> None:
        moments.append(virtual.now())
        virtual.call_at(virtual.now() + 2, events[-1].set)

    events: list[anyio.Event] = []
    virtual = VirtualClock(backend, on_idle=on_idle)
    virtual.run(main)
    assert moments == [0.0, 2.0, 4.0]


@both
def test_on_idle_may_cancel_what_waits(backend: str) -> None:
    scopes: list[anyio.CancelScope] = []

    async def main() -> str:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await anyio.sleep(math.inf)
        return "went on"

    assert VirtualClock(backend, on_idle=lambda: scopes[0].cancel()).run(main) == "went on"


@both
def test_an_exception_in_on_idle_comes_out_of_run(backend: str) -> None:
    def on_idle() -> None:
        raise LookupError("in the harness")

    with pytest.raises(LookupError, match="in the harness"):
        VirtualClock(backend, on_idle=on_idle).run(never)


@both
def test_a_polling_task_lets_time_pass(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "SPIN", 100)
    virtual = VirtualClock(backend)
    done: list[float] = []

    async def main() -> None:
        await anyio.sleep(1)
        virtual.call_at(5.0, lambda: done.append(virtual.now()))
        while not done:
            await anyio.lowlevel.checkpoint()

    virtual.run(main)
    assert done == [5.0]


@both
def test_polling_for_ever_with_no_timer_is_a_deadlock(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "SPIN", 100)

    async def main() -> None:
        await anyio.sleep(1)
        while True:
            await anyio.lowlevel.checkpoint()

    with pytest.raises(Deadlock, match="polls for ever"):
        VirtualClock(backend).run(main)


@both
def test_time_sleep_on_the_loop_moves_the_clock_and_is_recorded(backend: str) -> None:
    virtual = VirtualClock(backend)
    late: list[float] = []

    async def main() -> None:
        await anyio.sleep(1)
        virtual.call_at(3.0, lambda: late.append(virtual.now()))
        time.sleep(HOUR)
        assert late == []
        await anyio.lowlevel.checkpoint()
        time.sleep(0)
        await anyio.sleep(1)

    virtual.run(main)
    line = main.__code__.co_firstlineno + 3
    assert virtual.blocked == [Blocked(1.0, HOUR, f"test_loop_run.py:{line} main")]
    assert late == [HOUR + 1]
    assert virtual.now() == HOUR + 2


@both
def test_sleeps_of_one_place_in_one_turn_are_one_entry(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> None:
        for _ in range(3):
            time.sleep(0.1)
        await anyio.sleep(1)
        time.sleep(2)

    virtual.run(main)
    assert [(entry.at, entry.seconds) for entry in virtual.blocked] == [(0.0, 0.3), (1.3, 2)]


@both
def test_polling_with_time_sleep_is_a_stall_without_any_real_time(backend: str) -> None:
    virtual = VirtualClock(backend, watchdog=math.inf)

    async def main() -> None:
        while True:
            time.sleep(0.5)

    with pytest.raises(LoopStalled):
        virtual.run(main)
    assert [entry.seconds for entry in virtual.blocked] == [base.SLEEPS * 0.5, math.inf]
