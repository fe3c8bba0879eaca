"""Jobs for the thread pools of asyncio, anyio and trio: the clock stands still for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest
import trio

from fuzzmcp.harness.clock import VirtualClock

from .runs import HOUR, both, impatience, spin_until, times


def in_executor(func: Callable[[], Any]) -> Awaitable[Any]:
    return asyncio.get_running_loop().run_in_executor(None, func)


THREADS = [
    pytest.param("asyncio", in_executor, id="run_in_executor"),
    pytest.param("asyncio", asyncio.to_thread, id="asyncio.to_thread"),
    pytest.param("asyncio", anyio.to_thread.run_sync, id="anyio-asyncio"),
    pytest.param("trio", anyio.to_thread.run_sync, id="anyio-trio"),
    pytest.param("trio", trio.to_thread.run_sync, id="trio.to_thread"),
]

every_thread = pytest.mark.parametrize(("backend", "to_thread"), THREADS)


@every_thread
def test_the_clock_stands_still_while_a_worker_works(backend: str, to_thread: Any) -> None:
    virtual = VirtualClock(backend)
    jumped: list[float] = []

    def work() -> float:
        spin_until(lambda: virtual.now() > 0, tries=300)
        return virtual.now()

    async def main() -> float:
        virtual.call_at(5.0, lambda: jumped.append(virtual.now()))
        seen: float = await to_thread(work)
        assert jumped == []
        await anyio.sleep(5)
        return seen

    assert virtual.run(main) == 0.0
    assert jumped == [5.0]


@every_thread
def test_a_worker_sleeps_in_virtual_time(backend: str, to_thread: Any) -> None:
    virtual = VirtualClock(backend)

    def work() -> list[list[float]]:
        time.sleep(HOUR)
        seen = times(virtual)
        time.sleep(1)
        return [seen, times(virtual)]

    async def main() -> Any:
        await anyio.sleep(1)
        return await to_thread(work)

    assert virtual.run(main) == [[HOUR + 1] * 5, [HOUR + 2] * 5]
    assert virtual.blocked == []


@every_thread
def test_a_workers_exception_reaches_its_caller(backend: str, to_thread: Any) -> None:
    def work() -> None:
        raise LookupError("at work")

    async def main() -> None:
        await to_thread(work)

    with pytest.raises(LookupError, match="at work"):
        VirtualClock(backend).run(main)


@every_thread
def test_a_worker_that_does_nothing_in_real_time_is_given_up(backend: str, to_thread: Any) -> None:
    release = threading.Event()
    virtual = VirtualClock(backend)

    async def work() -> None:
        await to_thread(release.wait)

    async def main() -> float:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await anyio.sleep(1)
            release.set()
        return virtual.now()

    with impatience(virtual):
        assert virtual.run(main) == 1.0


def test_a_worker_whose_task_was_cancelled_still_holds_the_clock() -> None:
    virtual = VirtualClock()
    started, seen = threading.Event(), []

    def work() -> None:
        started.set()
        spin_until(lambda: virtual.now() > 0, tries=300)
        seen.append(virtual.now())

    async def main() -> None:
        task = asyncio.create_task(asyncio.to_thread(work))
        await asyncio.sleep(0)
        started.wait()
        task.cancel()
        await asyncio.sleep(5)

    virtual.run(main)
    assert seen == [0.0]


@both
def test_a_worker_that_waits_for_the_loop_does_not_hold_the_clock(backend: str) -> None:
    virtual = VirtualClock(backend)

    def work() -> float:
        anyio.from_thread.run(anyio.sleep, HOUR)
        return virtual.now()

    async def main() -> float:
        return await anyio.to_thread.run_sync(work)

    if backend == "asyncio":
        assert virtual.run(main) == HOUR
    else:  # trio's threads wait in a C call that nobody can see: the clock loses its patience
        with impatience(virtual):
            assert virtual.run(main) == HOUR
