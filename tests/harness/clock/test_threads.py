"""Threads that the client starts by itself."""

from __future__ import annotations

import asyncio
import threading
import time

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest
import trio

from fuzzmcp.harness.clock import Deadlock, VirtualClock

from .runs import both, impatience, never, spin_until


@both
@pytest.mark.parametrize("daemon", [False, True])
def test_a_thread_of_the_client_may_still_call_back_before_a_deadlock_is_declared(backend: str, daemon: bool) -> None:
    virtual = VirtualClock(backend)

    async def main() -> float:
        done = anyio.Event()
        token = trio.lowlevel.current_trio_token() if backend == "trio" else None
        loop = None if token else asyncio.get_running_loop()

        def call_back() -> None:
            spin_until(lambda: virtual._loop_run is not None and virtual._loop_run.waiting)
            token.run_sync_soon(done.set) if token else loop.call_soon_threadsafe(done.set)  # type: ignore[union-attr]

        threading.Thread(target=call_back, daemon=daemon).start()
        await done.wait()
        return virtual.now()

    assert virtual.run(main) == 0.0


@both
def test_a_daemon_thread_that_lives_on_does_not_keep_time_from_passing(backend: str) -> None:
    virtual = VirtualClock(backend)
    release = threading.Event()
    threads: list[threading.Thread] = []

    async def main() -> float:
        done = anyio.Event()
        loop = asyncio.get_running_loop().call_soon_threadsafe if backend == "asyncio" else None
        soon = loop or trio.lowlevel.current_trio_token().run_sync_soon

        def work() -> None:
            spin_until(lambda: virtual._loop_run is not None and virtual._loop_run.waiting)
            soon(virtual.call_at, 5.0, done.set)
            release.wait()

        threads.append(threading.Thread(target=work, daemon=True))
        threads[0].start()
        await done.wait()
        return virtual.now()

    assert virtual.run(main) == 5.0
    release.set()
    threads[0].join()


@both
def test_a_thread_of_the_client_sleeps_in_virtual_time(backend: str) -> None:
    virtual = VirtualClock(backend)
    woke: list[float] = []

    async def main() -> None:
        thread = threading.Thread(target=lambda: (time.sleep(30), woke.append(virtual.now())))
        thread.start()
        await anyio.sleep(100)
        await anyio.to_thread.run_sync(thread.join)

    virtual.run(main)
    assert woke == [30.0]


@both
def test_a_thread_of_the_client_that_never_ends_is_not_waited_for_without_end(
    backend: str,
) -> None:
    release = threading.Lock()  # the clock sees no wait for a lock
    release.acquire()
    threads: list[threading.Thread] = []

    async def main() -> None:
        threads.append(threading.Thread(target=release.acquire))
        threads[0].start()
        await anyio.sleep(5)
        await never()

    virtual = VirtualClock(backend)
    with impatience(virtual, idle=True), pytest.raises(Deadlock, match="1 threads were given up on"):
        virtual.run(main)
    assert virtual.now() == 5.0
    release.release()
    threads[0].join()


@both
def test_a_thread_asleep_at_the_end_of_the_run_ends_too(backend: str) -> None:
    threads: list[threading.Thread] = []

    def poll() -> None:
        while True:
            time.sleep(1)

    async def main() -> None:
        threads.append(threading.Thread(target=poll))
        threads[0].start()
        await anyio.sleep(2.5)

    VirtualClock(backend).run(main)
    threads[0].join(60)
    assert not threads[0].is_alive()
