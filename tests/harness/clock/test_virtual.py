"""What `VirtualClock` promises: jumps, callbacks, and how it refuses to be used."""

# ruff: noqa: ASYNC251, ASYNC116

from __future__ import annotations

import doctest
import functools
import math
import time
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.harness.clock import Deadlock, VirtualClock
from fuzzmcp.harness.clock import virtual as module

from .runs import HOUR, both, never


@both
def test_a_sleep_takes_exactly_its_virtual_time(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> list[float]:
        seen = [virtual.now()]
        for seconds in (0.1, 0.2, HOUR, 1e7):
            await anyio.sleep(seconds)
            seen.append(virtual.now())
        return seen

    assert virtual.run(main) == [0.0, 0.1, 0.3, 3600.3, 10003600.3]
    assert virtual.now() == 10003600.3


@both
def test_a_clock_runs_again_from_zero(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> float:
        time.sleep(1)
        await anyio.sleep(2)
        return virtual.now()

    assert [virtual.run(main), virtual.run(main)] == [3.0, 3.0]
    assert len(virtual.blocked) == 1


@both
def test_a_timer_a_century_away_is_one_jump(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> int:
        await anyio.sleep(1e9)
        return virtual._loop_run.turns if virtual._loop_run else 0

    assert 0 < virtual.run(main) < 20


@both
def test_sleeping_for_ever_is_no_reason_to_jump(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> None:
        virtual.call_at(math.inf, lambda: None)
        await anyio.sleep(math.inf)

    with pytest.raises(Deadlock):
        virtual.run(main)
    assert virtual.now() == 0.0


@both
def test_a_cancelled_timer_is_no_reason_to_jump(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> None:
        handle = virtual.call_at(HOUR, lambda: None)
        with anyio.move_on_after(50):
            await anyio.sleep(1)
        handle.cancel()
        await never()

    with pytest.raises(Deadlock):
        virtual.run(main)
    assert virtual.now() == 1.0


@both
@settings(max_examples=40)
@given(nanoseconds=st.lists(st.integers(0, 5) | st.integers(0, 10**13), max_size=20))
def test_callbacks_fire_by_time_and_then_in_the_order_of_scheduling(backend: str, nanoseconds: list[int]) -> None:
    virtual = VirtualClock(backend)
    fired: list[tuple[float, int]] = []
    delays = [n / 1e9 for n in nanoseconds]

    async def main() -> None:
        for number, when in enumerate(delays):
            virtual.call_at(when, functools.partial(lambda n: fired.append((virtual.now(), n)), number))
        await anyio.sleep(10_001)

    virtual.run(main)
    assert fired == sorted((when, number) for number, when in enumerate(delays))


@both
def test_a_callback_for_the_past_is_called_at_the_next_turn(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> list[float]:
        await anyio.sleep(7.7)
        fired: list[float] = []
        for when in (-math.inf, 3.0, 7.7):
            virtual.call_at(when, lambda: fired.append(virtual.now()))
        assert fired == []
        for _ in range(4):
            await anyio.lowlevel.checkpoint()
        return fired

    assert virtual.run(main) == [7.7] * 3


@both
def test_a_cancelled_callback_is_never_called_not_even_by_one_due_just_before_it(backend: str) -> None:
    virtual = VirtualClock(backend)
    fired: list[str] = []

    async def main() -> None:
        first = virtual.call_at(1.0, lambda: (fired.append("second"), second.cancel()))  # type: ignore[arg-type, return-value]
        second = virtual.call_at(1.0, lambda: fired.append("never"))
        early = virtual.call_at(0.5, lambda: fired.append("never"))
        early.cancel()
        early.cancel()
        await anyio.sleep(2)
        first.cancel()

    virtual.run(main)
    assert fired == ["second"]


@both
def test_an_exception_in_a_callback_comes_out_of_run(backend: str) -> None:
    virtual = VirtualClock(backend)

    def fail() -> None:
        raise LookupError("in the harness")

    async def main() -> None:
        virtual.call_at(1.0, fail)
        await never()

    with pytest.raises(LookupError, match="in the harness"):
        virtual.run(main)


def test_call_at_outside_of_a_run_is_refused() -> None:
    virtual = VirtualClock()
    with pytest.raises(RuntimeError, match="needs an active run"):
        virtual.call_at(1.0, lambda: None)
    virtual.run(lambda: anyio.sleep(1))
    with pytest.raises(RuntimeError, match="needs an active run"):
        virtual.call_at(1.0, lambda: None)


def test_a_clock_that_is_running_cannot_run() -> None:
    virtual = VirtualClock()

    async def main() -> None:
        with pytest.raises(RuntimeError, match="running already"):
            virtual.run(never)

    virtual.run(main)


@pytest.mark.parametrize("arguments", [{"backend": "curio"}, {"watchdog": 0}, {"watchdog": math.nan}], ids=repr)
def test_nonsense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        VirtualClock(**arguments)


def test_the_examples_in_the_docstrings_run() -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
