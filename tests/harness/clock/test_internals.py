"""The private parts of asyncio, anyio and trio are still what the clock takes them for."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest
import sniffio
import trio

from fuzzmcp.harness.clock import Deadlock, VirtualClock
from fuzzmcp.harness.clock.internals import failed_unseen, has_asyncgens

from .runs import both, never, times


@both
def test_a_run_inside_a_running_asyncio_loop_leaves_it_as_it_was(backend: str) -> None:
    async def test() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        async def main() -> str:
            await anyio.sleep(1)
            if backend == "trio":
                with pytest.raises(RuntimeError):
                    asyncio.get_running_loop()
            else:
                assert asyncio.get_running_loop() is not loop
            return anyio.get_current_task().name

        assert VirtualClock(backend).run(main)
        assert asyncio.get_running_loop() is loop
        assert asyncio.current_task() is task
        await asyncio.sleep(0)

    asyncio.run(test())


def test_an_asyncio_run_inside_a_running_trio_loop_is_an_asyncio_run() -> None:
    async def test() -> float:
        virtual = VirtualClock()

        async def main() -> float:
            await anyio.sleep(1)
            return virtual.now()

        seen = virtual.run(main)
        await anyio.lowlevel.checkpoint()
        assert trio.lowlevel.in_trio_task()
        return seen

    assert trio.run(test) == 1.0


def _by_anyio(backend: str) -> Callable[[Callable[[], Awaitable[None]]], None]:
    return lambda main: anyio.run(main, backend=backend)


DRIVERS: dict[str, Callable[[Callable[[], Any]], None]] = {
    "anyio on asyncio": _by_anyio("asyncio"),
    "anyio on trio": _by_anyio("trio"),
    "asyncio": lambda main: asyncio.run(main()),
    "trio": lambda main: trio.run(main),
}


@both
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_run_inside_of_any_loop_has_its_own_loop_and_leaves_the_other_as_it_was(driver: str, backend: str) -> None:
    outer = driver.rpartition(" ")[2]
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)

    async def test() -> None:
        virtual = VirtualClock(backend)
        woken, variable = anyio.Event(), sniffio.current_async_library_cvar.get()

        async def child() -> str:
            await anyio.sleep(5)
            return sniffio.current_async_library()

        async def main() -> list[str]:
            seen = [sniffio.current_async_library()]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.sleep, 3)
            return [*seen, await child(), await anyio.to_thread.run_sync(lambda: "a thread")]

        async def neighbour() -> None:
            await woken.wait()
            await anyio.sleep(0.001)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(neighbour)
            await anyio.lowlevel.checkpoint()
            assert virtual.run(main) == [backend, backend, "a thread"]
            assert virtual.now() == 8.0
            assert sniffio.current_async_library() == outer
            assert sniffio.current_async_library_cvar.get() == variable
            assert trio.lowlevel.in_trio_task() == (outer == "trio")
            woken.set()
        await anyio.sleep(0.001)
        assert await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(anyio.sleep, 0)) is None

    for _ in range(2):
        DRIVERS[driver](test)
    assert signal.set_wakeup_fd(wakeup) == wakeup
    gc.collect()  # an outer loop that was left broken says so now, and a warning is an error


@both
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_run_that_fails_inside_of_any_loop_leaves_the_other_as_it_was(driver: str, backend: str) -> None:
    async def test() -> None:
        async def main() -> None:
            await anyio.sleep(1)
            raise ValueError("of the run")

        with pytest.raises(ValueError, match="of the run"):
            VirtualClock(backend).run(main)
        with pytest.raises(Deadlock):
            VirtualClock(backend).run(never)
        await anyio.sleep(0.001)
        assert sniffio.current_async_library() == driver.rpartition(" ")[2]

    DRIVERS[driver](test)
    gc.collect()


@both
def test_a_virtual_run_inside_a_virtual_run_has_its_own_time(backend: str) -> None:
    outer, inner = VirtualClock(backend), VirtualClock()

    async def inside() -> None:
        await anyio.sleep(5)
        assert times(inner) == [5.0] * 5

    async def main() -> None:
        await anyio.sleep(1)
        inner.run(inside)
        assert times(outer) == [1.0] * 5

    outer.run(main)


def test_trio_still_has_the_private_names_that_the_clock_relies_on() -> None:
    assert "runner" not in trio._core._run.GLOBAL_RUN_CONTEXT.__dict__

    async def inside() -> set[str]:
        return set(trio._core._run.GLOBAL_RUN_CONTEXT.__dict__)

    assert trio.run(inside) == {"runner", "task"}
    assert hasattr(trio._core._run, "_r")
    assert trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING in (False, True)
    assert callable(type(trio._core._thread_cache.THREAD_CACHE).start_thread_soon)


def test_asyncio_still_shows_whether_there_are_asynchronous_generators_to_close() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1

    async def main() -> list[bool]:
        seen = [has_asyncgens(asyncio.get_running_loop())]
        kept.append(numbers())
        await kept[0].__anext__()
        return [*seen, has_asyncgens(asyncio.get_running_loop())]

    kept: list[AsyncIterator[int]] = []
    assert VirtualClock().run(main) == [False, True]


def test_a_failure_is_unseen_until_somebody_asks_for_it() -> None:
    async def fails() -> None:
        raise ValueError

    async def waits() -> None:
        await asyncio.sleep(1)

    async def test() -> None:
        failing, fine, cancelled = (asyncio.ensure_future(make()) for make in (fails, lambda: asyncio.sleep(0), waits))
        assert not failed_unseen(failing)
        cancelled.cancel()
        await asyncio.wait([failing, fine, cancelled])
        assert [failed_unseen(task) for task in (failing, fine, cancelled)] == [True, False, False]
        assert isinstance(failing.exception(), ValueError)
        assert not failed_unseen(failing)

    asyncio.run(test())
