"""Synchronous code in virtual time: the calling thread is one of the threads of a run."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from fuzzmcp.harness.clock import Deadlock, LoopRun, current, virtual_block

from .runs import HOUR


def test_a_block_sleeps_for_an_hour_in_no_time() -> None:
    with virtual_block() as now:
        time.sleep(HOUR)
        assert now() == HOUR
    assert current() is None


def test_threads_that_a_block_starts_live_in_its_time() -> None:
    with virtual_block() as now:
        thread = threading.Thread(target=time.sleep, args=(HOUR,))
        thread.start()
        thread.join()
        assert now() == HOUR


def test_a_block_that_waits_for_ever_is_a_deadlock() -> None:
    with pytest.raises(Deadlock), virtual_block():
        threading.Event().wait()


def test_what_ends_the_run_of_a_block_is_raised_by_the_block() -> None:
    def fails(loop_run: LoopRun) -> None:
        loop_run.call_at(HOUR, lambda: loop_run.fail(ZeroDivisionError()))

    with pytest.raises(ZeroDivisionError), virtual_block(fails):
        threading.Event().wait()


def test_what_a_block_raises_is_raised() -> None:
    with pytest.raises(KeyError), virtual_block():
        raise KeyError


def test_what_is_to_be_done_at_the_end_of_a_run_is_done_once() -> None:
    ends: list[bool] = []
    with virtual_block(lambda loop_run: loop_run.at_end(lambda: ends.append(loop_run.over))):
        assert ends == []
    assert ends == [True]


def test_a_block_inside_of_a_running_loop_leaves_the_loop_as_it_was() -> None:
    async def main() -> bool:
        loop = asyncio.get_running_loop()
        with virtual_block() as now:
            threading.Event().wait(HOUR)
            assert now() == HOUR
        return asyncio.get_running_loop() is loop

    assert asyncio.run(main())
