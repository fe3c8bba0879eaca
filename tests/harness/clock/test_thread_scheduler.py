"""Threads of a run take turns, and whatever they wait for takes virtual time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import math
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from fuzzmcp.harness.clock import Deadlock, LoopStalled, VirtualClock, base
from fuzzmcp.harness.clock.asyncio_loop import AsyncioRun

from .runs import HOUR, both, impatience, never, spin_until


def in_a_thread(virtual: VirtualClock, work: Callable[[], Any]) -> Any:
    """What `work` returns in a thread of a run that waits for it."""
    return virtual.run(lambda: anyio.to_thread.run_sync(work))


def condition() -> Callable[[float], Any]:
    one = threading.Condition()

    def wait(seconds: float) -> bool:
        with one:
            return one.wait_for(lambda: False, seconds)

    return wait


def got(seconds: float) -> Any:
    with pytest.raises(queue.Empty):
        queue.Queue[None]().get(timeout=seconds)


def joined(seconds: float) -> None:
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    thread.join(seconds)
    assert thread.is_alive()


def future(seconds: float) -> None:
    with pytest.raises(concurrent.futures.TimeoutError):
        concurrent.futures.Future[None]().result(seconds)


def any_of(seconds: float) -> None:
    done, _ = concurrent.futures.wait([concurrent.futures.Future[None]()], seconds)
    assert not done


WAITS: dict[str, Callable[[float], Any]] = {
    "event": lambda seconds: threading.Event().wait(seconds),
    "condition": condition(),
    "semaphore": lambda seconds: threading.Semaphore(0).acquire(timeout=seconds),
    "queue": got,
    "join": joined,
    "future": future,
    "futures": any_of,
    "sleep": lambda seconds: time.sleep(seconds),
}


@both
@pytest.mark.parametrize("wait", WAITS)
def test_an_hours_wait_of_a_thread_takes_virtual_time(backend: str, wait: str) -> None:
    virtual = VirtualClock(backend)
    assert not in_a_thread(virtual, lambda: WAITS[wait](HOUR))
    assert virtual.now() == HOUR
    assert virtual.blocked == []


@both
def test_a_threads_wait_without_an_end_is_a_deadlock_at_once(backend: str) -> None:
    def work() -> None:
        time.sleep(3)
        threading.Event().wait()

    virtual = VirtualClock(backend, watchdog=math.inf)
    with pytest.raises(Deadlock):
        in_a_thread(virtual, work)
    assert virtual.now() == 3.0


@both
def test_a_wait_ends_when_somebody_ends_it(backend: str) -> None:
    virtual = VirtualClock(backend)
    news, answer, moments = threading.Event(), concurrent.futures.Future[str](), list[float]()

    def second() -> None:
        assert news.wait(HOUR)
        moments.append(virtual.now())
        time.sleep(5)
        answer.set_result("done")

    def first() -> str:
        threading.Thread(target=second).start()
        time.sleep(2)
        news.set()
        return answer.result(HOUR)

    assert in_a_thread(virtual, first) == "done"
    assert (moments, virtual.now()) == ([2.0], 7.0)


@both
def test_threads_take_turns_in_the_same_order_each_time(backend: str) -> None:
    def once() -> list[tuple[float, int]]:
        virtual, said, jobs = VirtualClock(backend), list[tuple[float, int]](), queue.Queue[int]()

        def worker(number: int) -> None:
            while (job := jobs.get()) >= 0:
                said.append((virtual.now(), number * 100 + job))
                time.sleep(number + 1)

        def work() -> None:
            threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
            for thread in threads:
                thread.start()
            for job in [*range(12), -1, -1, -1]:
                jobs.put(job)
            for thread in threads:
                thread.join()

        in_a_thread(virtual, work)
        return said

    first = once()
    assert len(first) == 12
    assert all(once() == first for _ in range(19))


@both
def test_who_waits_for_the_same_moment_wakes_in_the_order_of_waiting(backend: str) -> None:
    said: list[int] = []

    def sleeper(number: int) -> None:
        time.sleep(5)
        said.append(number)

    def work() -> None:
        threads = [threading.Thread(target=sleeper, args=(n,)) for n in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    in_a_thread(VirtualClock(backend), work)
    assert said == list(range(9))


@both
@pytest.mark.parametrize("pause", [lambda: time.sleep(0), lambda: threading.Event().wait(0)], ids=["sleep", "wait"])
def test_a_thread_that_polls_lets_the_others_work(backend: str, pause: Callable[[], Any]) -> None:
    done: list[int] = []

    def work() -> int:
        threading.Thread(target=lambda: done.append(1)).start()
        polls = 0
        while not done:
            pause()
            polls += 1
        return polls

    assert in_a_thread(VirtualClock(backend), work) < 3


@both
def test_a_thread_that_polls_lets_time_pass(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "POLLS", 10)
    virtual = VirtualClock(backend)
    done: list[float] = []

    def work() -> None:
        while not done:
            time.sleep(0)

    async def main() -> None:
        virtual.call_at(5.0, lambda: done.append(virtual.now()))
        await anyio.to_thread.run_sync(work)

    virtual.run(main)
    assert done == [5.0]


@both
def test_a_loop_that_polls_lets_the_threads_work(backend: str) -> None:
    done: list[int] = []

    def work() -> None:
        time.sleep(0)
        done.append(1)

    async def main() -> int:
        threading.Thread(target=work).start()
        turns = 0
        while not done:
            await anyio.lowlevel.checkpoint()
            turns += 1
        return turns

    assert VirtualClock(backend).run(main) < 5 * base.FAIR


@both
def test_a_loop_blocked_by_a_threads_wait_is_recorded_and_its_thread_works_on(backend: str) -> None:
    virtual = VirtualClock(backend)
    news = threading.Event()

    def work() -> None:
        time.sleep(3)
        news.set()

    async def main() -> bool:
        threading.Thread(target=work).start()
        return news.wait(HOUR)

    assert virtual.run(main)
    line = main.__code__.co_firstlineno + 2
    assert [(b.at, b.seconds, b.where) for b in virtual.blocked] == [
        (0.0, 3.0, f"test_thread_scheduler.py:{line} main")
    ]


@both
def test_a_loop_blocked_for_ever_is_a_stall_without_any_real_time(backend: str) -> None:
    virtual = VirtualClock(backend, watchdog=math.inf)

    async def main() -> None:
        threading.Thread(target=time.sleep, args=(3,)).start()
        threading.Event().wait()

    with pytest.raises(LoopStalled):
        virtual.run(main)
    assert virtual.now() == 3.0
    assert [b.seconds for b in virtual.blocked] == [math.inf]


@both
def test_a_lock_that_another_thread_holds_is_no_deadlock(backend: str) -> None:
    """The clock sees no wait for a lock, only that a thread does not move."""
    virtual = VirtualClock(backend, watchdog=1)
    lock, said = threading.Lock(), list[str]()

    def holder() -> None:
        with lock:
            time.sleep(5)
            said.append("held")

    def work() -> None:
        thread = threading.Thread(target=holder)
        thread.start()
        time.sleep(1)
        with lock:
            said.append("got it")
        thread.join()

    in_a_thread(virtual, work)
    assert (said, virtual.now()) == (["held", "got it"], 5.0)


@both
def test_a_thread_that_works_for_long_loses_its_turn_and_comes_back(backend: str) -> None:
    virtual = VirtualClock(backend)
    said: list[str] = []

    def work() -> None:
        spin_until(lambda: bool(said))
        time.sleep(1)
        said.append(f"back at {virtual.now()}")

    async def main() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        await anyio.sleep(5)
        said.append("without it")
        await anyio.to_thread.run_sync(thread.join)

    with impatience(virtual):
        virtual.run(main)
    assert said == ["without it", "back at 6.0"]


def test_an_exception_that_ends_a_thread_is_told() -> None:
    told: list[dict[str, Any]] = []

    def fails() -> None:
        raise LookupError("in a thread")

    def work() -> None:
        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()

    in_a_thread(VirtualClock(on_exception=told.append), work)
    assert [(c["message"], str(c["exception"])) for c in told] == [("unhandled exception in a thread", "in a thread")]


# -- the end of a run --------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("wait", sorted(WAITS))
def test_a_thread_that_waits_when_its_run_ends_ends_too(backend: str, wait: str) -> None:
    threads: list[threading.Thread] = []
    cleaned: list[str] = []

    def work() -> None:
        try:
            WAITS[wait](HOUR)
        finally:
            cleaned.append(wait)

    async def main() -> None:
        threads.append(threading.Thread(target=work))
        threads[0].start()
        await anyio.sleep(1)

    VirtualClock(backend).run(main)
    threads[0].join(60)
    assert not threads[0].is_alive()
    assert cleaned == [wait]


@both
def test_what_a_thread_does_in_its_end_cannot_hold_the_run_up(backend: str) -> None:
    def work() -> None:
        try:
            threading.Event().wait()
        finally:
            threading.Event().wait(HOUR)

    async def main() -> None:
        threading.Thread(target=work).start()
        await anyio.sleep(1)

    virtual = VirtualClock(backend)
    virtual.run(main)
    assert virtual.now() == 1.0


@both
def test_threads_that_are_left_are_named_without_those_of_pools_and_daemons(backend: str) -> None:
    virtual = VirtualClock(backend)
    gone = threading.Event()
    pool = concurrent.futures.ThreadPoolExecutor(1)

    def served() -> None:
        asyncio.run(never())

    async def main() -> list[str]:
        await anyio.to_thread.run_sync(time.sleep, 1)
        pool.submit(time.sleep, 1).result()
        threading.Thread(target=time.sleep, args=(2,), name="ends").start()
        threading.Thread(target=gone.wait, name="left-7").start()
        threading.Thread(target=gone.wait, name="daemon", daemon=True).start()
        threading.Thread(target=served, name="loop", daemon=True).start()
        await anyio.sleep(5)
        return virtual.threads_left()

    try:
        assert virtual.run(main) == ["left", "loop"]
    finally:
        pool.shutdown()
    assert virtual.threads_left() == []


def test_an_executor_that_outlives_a_run_works_on_afterwards() -> None:
    pools: list[concurrent.futures.ThreadPoolExecutor] = []

    async def main() -> int:
        pools.append(concurrent.futures.ThreadPoolExecutor(1))
        return await asyncio.wrap_future(pools[0].submit(len, "one"))

    assert VirtualClock().run(main) == 3
    with pools[0] as pool:
        assert pool.submit(len, "four").result() == 4


@both
def test_an_executor_that_is_older_than_the_run_holds_the_clock(backend: str) -> None:
    virtual = VirtualClock(backend)

    def job() -> float:
        time.sleep(5)
        return virtual.now()

    async def main() -> Any:
        if backend == "trio":
            return await anyio.to_thread.run_sync(lambda: pool.submit(job).result())
        return await asyncio.get_running_loop().run_in_executor(pool, job)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(len, "").result()
        assert virtual.run(main) == 5.0


def test_more_jobs_than_an_executor_has_threads_wait_in_virtual_time() -> None:
    virtual = VirtualClock(watchdog=math.inf)

    async def main() -> list[float]:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            soon = functools.partial(asyncio.get_running_loop().run_in_executor, pool)
            await asyncio.gather(*(soon(time.sleep, HOUR) for _ in range(3)))
        return [virtual.now()]

    assert virtual.run(main) == [3 * HOUR]


def test_a_thread_that_has_given_its_turn_away_touches_nothing_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would run beside whoever has the turn then, and the order would be the scheduler's."""
    posted: list[str] = []
    post = AsyncioRun.post

    def told(self: AsyncioRun, callback: Any, *args: Any) -> None:
        posted.append(threading.current_thread().name)
        post(self, callback, *args)

    monkeypatch.setattr(AsyncioRun, "post", told)
    in_a_thread(VirtualClock(), lambda: [time.sleep(1) for _ in range(100)])
    assert posted == []
