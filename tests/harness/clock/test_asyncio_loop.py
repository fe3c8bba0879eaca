"""The event loop of our own: its timers, tasks, executors and its end."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.harness.clock import VirtualClock, asyncio_loop, base

from .runs import HOUR, both, never


def test_cancelled_timers_do_not_pile_up() -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()
        for _ in range(1000):
            loop.call_later(HOUR, print).cancel()
        return len(loop._timers)  # type: ignore[attr-defined]

    assert VirtualClock().run(main) <= 64


@settings(max_examples=40)
@given(milliseconds=st.lists(st.integers(0, 3), max_size=20))
def test_client_timers_and_callbacks_share_one_queue_on_asyncio(milliseconds: list[int]) -> None:
    virtual = VirtualClock()
    fired: list[tuple[float, int]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for number, when in enumerate(milliseconds):
            entry = (when / 1000, number)
            if number % 2:
                virtual.call_at(when / 1000, functools.partial(fired.append, entry))
            else:
                loop.call_later(when / 1000, fired.append, entry)
        await asyncio.sleep(1)

    virtual.run(main)
    assert fired == sorted(fired)
    assert len(fired) == len(milliseconds)


def test_what_goes_to_a_foreign_executor_is_passed_on_as_it_is() -> None:
    class Inline(concurrent.futures.Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future: concurrent.futures.Future[Any] = concurrent.futures.Future()
            future.set_result((fn, args))
            return future

    async def main() -> Any:
        return await asyncio.get_running_loop().run_in_executor(Inline(), print, "x")

    assert VirtualClock().run(main) == (print, ("x",))


def test_a_failing_executor_holds_nothing_up() -> None:
    async def main() -> None:
        executor = concurrent.futures.ThreadPoolExecutor()
        executor.shutdown()
        with pytest.raises(RuntimeError):
            await asyncio.get_running_loop().run_in_executor(executor, print)
        await asyncio.sleep(5)

    virtual = VirtualClock()
    virtual.run(main)
    assert virtual.now() == 5.0


def test_the_default_executor_is_shut_down() -> None:
    async def main() -> threading.Thread:
        return await asyncio.to_thread(threading.current_thread)

    thread = VirtualClock().run(main)
    thread.join(60)
    assert not thread.is_alive()


def test_on_task_hears_of_each_task_and_its_parent() -> None:
    async def leaf() -> None: ...

    async def branch() -> None:
        await asyncio.create_task(leaf(), name="leaf")

    async def main() -> None:
        asyncio.current_task().set_name("main")  # type: ignore[union-attr]
        asyncio.get_running_loop().set_task_factory(lambda loop, coro, **kw: asyncio.Task(coro, loop=loop, **kw))
        await asyncio.create_task(branch(), name="branch")

    tasks: list[tuple[asyncio.Task[Any], asyncio.Task[Any] | None]] = []
    VirtualClock(on_task=lambda task, parent: tasks.append((task, parent))).run(main)
    seen = [(task.get_name(), parent and parent.get_name()) for task, parent in tasks]
    assert seen == [("main", None), ("branch", "main"), ("leaf", "branch")]


def test_no_task_factory_is_installed() -> None:
    async def main() -> Any:
        return asyncio.get_running_loop().get_task_factory()

    assert VirtualClock().run(main) is None


def test_what_is_left_is_cancelled_in_the_order_of_birth() -> None:
    ended: list[int] = []

    async def child(number: int) -> None:
        try:
            await never()
        finally:
            await asyncio.sleep(HOUR)  # an unhurried cleanup costs no real time
            ended.append(number)

    async def main() -> None:
        for number in range(20):
            tasks.append(asyncio.create_task(child(number), name="child"))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []  # asyncio itself refers to its tasks weakly
    VirtualClock().run(main)
    assert ended == list(range(20))


def test_a_task_that_swallows_cancellation_for_ever_does_not_hang_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "DRAIN", 100)
    monkeypatch.setattr(base, "SPIN", 100)
    cancelled: list[None] = []
    reported: list[str] = []

    async def immortal(wait: Callable[[], Awaitable[Any]]) -> None:
        while True:
            try:
                await wait()
            except asyncio.CancelledError:
                cancelled.append(None)

    async def main() -> str:
        tasks.append(asyncio.create_task(immortal(never)))
        tasks.append(asyncio.create_task(immortal(lambda: asyncio.sleep(1))))
        tasks.append(asyncio.create_task(immortal(lambda: asyncio.sleep(0))))
        await asyncio.sleep(1)
        return "ended"

    tasks: list[asyncio.Task[None]] = []
    virtual = VirtualClock(on_exception=lambda context: reported.append(context["message"]))
    assert virtual.run(main) == "ended"
    assert len(cancelled) == 3 * asyncio_loop._CANCELS
    tasks.clear()
    gc.collect()
    assert reported == ["Task was destroyed but it is pending!"] * 3


def test_an_exception_during_the_end_goes_to_on_exception() -> None:
    reported: list[dict[str, Any]] = []

    async def child() -> None:
        try:
            await never()
        finally:
            raise LookupError("too late")

    async def main() -> None:
        tasks.append(asyncio.create_task(child()))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    VirtualClock(on_exception=reported.append).run(main)
    assert [str(context["exception"]) for context in reported] == ["too late"]


def test_an_exception_that_nobody_retrieves_goes_to_on_exception() -> None:
    reported: list[dict[str, Any]] = []

    async def child() -> None:
        raise LookupError("ignored")

    async def main() -> None:
        asyncio.create_task(child())  # noqa: RUF006
        await asyncio.sleep(1)

    VirtualClock(on_exception=reported.append).run(main)
    gc.collect()
    assert [(context["message"], str(context["exception"])) for context in reported] == [
        ("Task exception was never retrieved", "ignored")
    ]


@both
def test_asynchronous_generators_are_closed(backend: str) -> None:
    closed: list[float] = []
    kept: list[AsyncIterator[int]] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            closed.append(1)

    async def main() -> int:
        kept.append(numbers())
        return await kept[0].__anext__()

    assert VirtualClock(backend).run(main) == 1
    assert closed == [1]


def test_the_event_loop_policy_is_not_touched() -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        VirtualClock().run(functools.partial(anyio.sleep, 1))
        assert asyncio.get_event_loop() is loop
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def test_a_task_that_sleeps_for_ever_stays_alive_although_nobody_refers_to_it():
    ended = []

    async def sleeper():
        try:
            await asyncio.sleep(math.inf)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        except GeneratorExit:
            ended.append("collected")
            raise

    async def main():
        asyncio.get_running_loop().create_task(sleeper())
        await asyncio.sleep(1)
        gc.collect()
        assert ended == []

    VirtualClock().run(main)
    assert ended == ["cancelled"]
