"""Event loops in threads of the client share the run's time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import anyio.to_thread
import pytest

from fuzzmcp.harness.clock import Deadlock, VirtualClock, base

from .runs import HOUR, both, never, times


class LoopThread:
    """What many clients have: a loop in a thread, and calls that block until it has answered."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="loop", daemon=True)
        self.thread.start()

    def ask(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None = None) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def in_a_thread(virtual: VirtualClock, work: Callable[[], Any]) -> Any:
    return virtual.run(lambda: anyio.to_thread.run_sync(work))


@both
def test_a_loop_in_a_thread_lives_in_the_time_of_the_run(backend: str) -> None:
    virtual = VirtualClock(backend)

    async def nap() -> list[float]:
        await asyncio.sleep(HOUR)
        return times(virtual)

    async def main() -> Any:
        await anyio.sleep(1)
        return await anyio.to_thread.run_sync(lambda: asyncio.run(nap()))

    assert virtual.run(main) == [HOUR + 1] * 5


@both
def test_a_blocking_call_to_a_loop_in_a_thread_takes_virtual_time(backend: str) -> None:
    virtual = VirtualClock(backend)

    def work() -> str:
        one = LoopThread()
        answer = one.ask(asyncio.sleep(HOUR, "answer"))
        one.close()
        return str(answer)

    assert in_a_thread(virtual, work) == "answer"
    assert (virtual.now(), virtual.blocked) == (HOUR, [])


@both
def test_a_blocking_call_without_an_answer_is_a_deadlock(backend: str) -> None:
    virtual = VirtualClock(backend)
    with pytest.raises(Deadlock):
        in_a_thread(virtual, lambda: LoopThread().ask(never()))


@both
def test_a_blocking_call_gives_up_after_its_timeout(backend: str) -> None:
    virtual = VirtualClock(backend)

    def work() -> None:
        with pytest.raises(concurrent.futures.TimeoutError):
            LoopThread().ask(never(), 30)

    in_a_thread(virtual, work)
    assert virtual.now() == 30.0


@both
def test_timers_of_several_loops_are_called_in_the_order_of_their_time(backend: str) -> None:
    virtual = VirtualClock(backend)
    said: list[str] = []

    async def say(name: str, every: float) -> None:
        for _ in range(4):
            await asyncio.sleep(every)
            said.append(f"{name} {virtual.now():g}")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for name, every in (("a", 2.0), ("b", 3.0)):
                group.start_soon(anyio.to_thread.run_sync, lambda n=name, e=every: asyncio.run(say(n, e)))
            for _ in range(4):
                await anyio.sleep(2.5)
                said.append(f"main {virtual.now():g}")

    virtual.run(main)
    assert said == [
        *("a 2", "main 2.5", "b 3", "a 4", "main 5", "b 6", "a 6"),  # at the same moment: who has waited for longer
        *("main 7.5", "a 8", "b 9", "main 10", "b 12"),
    ]


def test_the_same_run_gives_the_same_order_each_time() -> None:
    def once() -> list[str]:
        virtual, said = VirtualClock(), list[str]()

        async def job(name: str) -> None:
            for n in range(5):
                said.append(f"{name} {n} {virtual.now():g}")
                await asyncio.sleep(n % 2)

        def caller(number: int) -> None:
            for n in range(3):
                one.ask(job(f"{number}.{n}"))

        async def main() -> None:
            nonlocal one
            one = LoopThread()
            await asyncio.gather(*(asyncio.to_thread(caller, n) for n in range(4)))
            await asyncio.to_thread(one.close)

        one: Any = None
        virtual.run(main)
        return said

    first = once()
    assert len(first) == 60
    assert all(once() == first for _ in range(19))


@both
def test_a_loop_that_polls_lets_the_others_work(backend: str) -> None:
    virtual = VirtualClock(backend)
    done: list[float] = []

    async def poll() -> int:
        turns = 0
        while not done:
            await asyncio.sleep(0)
            turns += 1
        return turns

    async def main() -> int:
        threading.Thread(target=lambda: done.append(virtual.now())).start()
        return await anyio.to_thread.run_sync(lambda: asyncio.run(poll()))

    assert virtual.run(main) < 5 * base.FAIR


@both
def test_a_loop_that_polls_lets_time_pass(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "POLLS", 10)
    virtual = VirtualClock(backend)

    async def poll() -> None:
        end = asyncio.get_running_loop().time() + 5
        asyncio.get_running_loop().call_at(end, lambda: None)
        while asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0)

    in_a_thread(virtual, lambda: asyncio.run(poll()))
    assert virtual.now() == 5.0


def test_threads_of_a_loop_in_a_thread_are_the_runs_too() -> None:
    virtual = VirtualClock()

    async def work() -> float:
        await asyncio.to_thread(time.sleep, 5)
        return virtual.now()

    assert in_a_thread(virtual, lambda: asyncio.run(work())) == 5.0


def test_a_loop_with_more_to_do_than_what_blocks_it_is_recorded() -> None:
    virtual = VirtualClock()

    async def blocks() -> None:
        other = asyncio.ensure_future(asyncio.sleep(1))
        time.sleep(3)  # noqa: ASYNC251
        await other

    async def alone() -> None:
        time.sleep(3)  # noqa: ASYNC251

    in_a_thread(virtual, lambda: (asyncio.run(alone()), asyncio.run(blocks())))
    line = blocks.__code__.co_firstlineno + 2
    assert [(b.at, b.seconds, b.where) for b in virtual.blocked] == [(3.0, 3.0, f"test_other_loops.py:{line} blocks")]


def test_what_a_loop_in_a_thread_has_to_tell_is_told() -> None:
    told: list[dict[str, Any]] = []

    async def careless() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    in_a_thread(VirtualClock(on_exception=told.append), lambda: asyncio.run(careless()))
    assert [type(context["exception"]) for context in told] == [ZeroDivisionError]


# -- what outlives a run -----------------------------------------------------------------------------------------------


@both
def test_a_loop_that_is_left_ends_with_the_run_and_its_tasks_clean_up(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    left: list[LoopThread] = []
    cleaned: list[str] = []

    async def session() -> None:
        try:
            await never()
        finally:
            await asyncio.sleep(0)
            cleaned.append("session")

    def work() -> None:
        left.append(LoopThread())
        asyncio.run_coroutine_threadsafe(session(), left[0].loop)

    with caplog.at_level(logging.DEBUG, "asyncio"):
        in_a_thread(VirtualClock(backend), work)
    left[0].thread.join(60)
    assert not left[0].thread.is_alive()
    assert left[0].loop.is_closed()
    assert cleaned == ["session"]
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


@both
def test_a_loop_whose_tasks_never_end_ends_all_the_same(backend: str) -> None:
    left: list[LoopThread] = []

    async def stubborn() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    def work() -> None:
        left.append(LoopThread())
        asyncio.run_coroutine_threadsafe(stubborn(), left[0].loop)
        time.sleep(1)

    in_a_thread(VirtualClock(backend), work)
    left[0].thread.join(60)
    assert not left[0].thread.is_alive()


def test_a_loop_that_nobody_has_run_is_closed() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        loops.append(asyncio.new_event_loop())

    VirtualClock().run(main)
    assert loops[0].is_closed()


def test_outside_of_runs_new_loops_are_the_ordinary_ones() -> None:
    ordinary = asyncio.new_event_loop
    VirtualClock().run(lambda: anyio.sleep(1))
    assert asyncio.new_event_loop is ordinary
    loop = asyncio.new_event_loop()
    assert type(loop).__module__.startswith("asyncio.")
    loop.close()
