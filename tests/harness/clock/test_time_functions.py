"""The standard time functions, in a run and next to it."""

# ruff: noqa: ASYNC251

from __future__ import annotations

import asyncio
import math
import threading
import time
from typing import Any

import anyio
import pytest
import tenacity

from fuzzmcp.harness.clock import EPOCH, VirtualClock

from .runs import HOUR, STANDARD, both, times


@both
def test_the_time_functions_agree_with_the_virtual_clock(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def main() -> list[list[float]]:
        seen = [times(virtual)]
        await anyio.sleep(12.5)
        return [*seen, times(virtual)]

    assert virtual.run(main) == [[0.0] * 5, [12.5] * 5]


def test_epoch_is_the_first_of_january_2026() -> None:
    assert time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)) == "2026-01-01T00:00:00Z"


def test_the_loops_clock_and_time_monotonic_have_the_same_origin() -> None:
    async def main() -> bool:
        await asyncio.sleep(0.3)
        return asyncio.get_running_loop().time() == time.monotonic()

    assert VirtualClock().run(main)


@both
def test_a_tenacity_retry_waits_in_virtual_time_and_counts_it(backend: str) -> None:
    virtual = VirtualClock(backend)
    attempts: list[float] = []

    @tenacity.retry(wait=tenacity.wait_fixed(20), stop=tenacity.stop_after_delay(50), reraise=True, sleep=anyio.sleep)
    async def flaky() -> None:
        attempts.append(virtual.now())
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011
        virtual.run(flaky)
    assert attempts == [0.0, 20.0, 40.0, 60.0]


@both
@pytest.mark.parametrize("bad", [-1, -0.5, math.nan, math.inf, "1", None, 10**20], ids=repr)
def test_time_sleep_refuses_what_the_real_one_refuses(backend: str, bad: Any) -> None:
    async def main() -> BaseException | None:
        try:
            time.sleep(bad)
        except Exception as error:
            return error
        return None

    with pytest.raises((ValueError, TypeError, OverflowError)) as real:
        STANDARD[0](bad)
    virtual = VirtualClock(backend)
    error = virtual.run(main)
    assert (type(error), str(error)) == (real.type, str(real.value))
    assert virtual.blocked == []


@both
def test_an_unrelated_thread_keeps_the_real_time(backend: str) -> None:
    go, done = threading.Event(), threading.Event()
    seen: list[float] = []

    def bystander() -> None:
        go.wait()
        time.sleep(0)
        seen.extend([STANDARD[1](), time.monotonic(), STANDARD[1](), time.time()])
        done.set()

    thread = threading.Thread(target=bystander)
    thread.start()

    async def main() -> None:
        go.set()
        done.wait()

    VirtualClock(backend).run(main)
    thread.join()
    before, between, after, date = seen
    assert before <= between <= after
    assert date != EPOCH


def test_runs_in_two_threads_keep_their_own_time() -> None:
    barrier = threading.Barrier(2)
    seen: dict[str, list[float]] = {}

    def one(backend: str, seconds: float) -> None:
        virtual = VirtualClock(backend)

        async def main() -> None:
            barrier.wait()
            await anyio.sleep(seconds)
            barrier.wait()
            seen[backend] = times(virtual)

        virtual.run(main)

    threads = [threading.Thread(target=one, args=arguments) for arguments in (("asyncio", 5.0), ("trio", HOUR))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"asyncio": [5.0] * 5, "trio": [HOUR] * 5}
