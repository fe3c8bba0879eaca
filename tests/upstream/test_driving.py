"""Virtual time for code that calls a backend: functions, blocks, threads, and how a run ends badly."""

# ruff: noqa: ASYNC251

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import random
import threading
import time
from typing import Any

import pytest

from fuzzmcp import upstream
from fuzzmcp.harness.clock import EPOCH, Deadlock, VirtualClock
from fuzzmcp.harness.clock.thread_registry import registrations
from fuzzmcp.harness.observe.stacks import CALL
from fuzzmcp.upstream import BudgetSpent, NoVirtualTime, Upstream

from .network import installed

URL = "https://backend.test/v1/orders"
REAL = (time.sleep, time.monotonic, time.time, threading.Thread.start)


@pytest.fixture(autouse=True)
def _everything_is_restored() -> Any:
    state = random.getstate()
    yield
    assert (time.sleep, time.monotonic, time.time, threading.Thread.start) == REAL
    assert threading.get_ident() not in registrations
    assert CALL.get() is None
    assert random.getstate() == state


def client(up: Upstream, **options: Any) -> Any:
    http = installed()
    return http.Client(transport=up.transport(http), **options)


def patient(up: Upstream) -> int:
    """Retries as the hint says, up to three times."""
    with client(up) as http:
        for _ in range(4):
            answer = http.get(URL)
            if answer.status_code == 200:
                break
            time.sleep(float(answer.headers.get("retry-after", 1)))
        return int(answer.status_code)


async def patient_coroutine(up: Upstream) -> int:
    """The same on a loop."""
    http = installed()
    async with http.AsyncClient(transport=up.transport(http)) as one:
        for _ in range(4):
            answer = await one.get(URL)
            if answer.status_code == 200:
                break
            await asyncio.sleep(float(answer.headers.get("retry-after", 1)))
        return int(answer.status_code)


@pytest.mark.parametrize("function", [patient, patient_coroutine])
def test_a_run_says_what_was_sent_when_and_for_how_long_it_waited(function: Any) -> None:
    happened = upstream.run(function, "429(5),504@2,429(0.5)", hints="decimal")
    assert happened.value == 200
    assert [exchange.at for exchange in happened.requests] == [0.0, 5.0, 8.0, 8.5]
    assert happened.waits_of() == (5.0, 1.0, 0.5)
    assert {exchange.call for exchange in happened.requests} == {0}
    assert happened.requests_of(0) == happened.requests
    assert happened.ended == 8.5


@pytest.mark.parametrize("function", [patient, patient_coroutine])
def test_every_retry_names_the_line_that_sent_it_and_the_function_that_looped(function: Any) -> None:
    happened = upstream.run(function, "529*3")
    assert [exchange.site.function for exchange in happened.requests if exchange.site] == [function.__name__] * 4
    first, *again = happened.requests
    assert first.loop is None
    assert [exchange.loop.function for exchange in again if exchange.loop] == [function.__name__] * 3


def test_an_exception_of_the_function_is_its_outcome() -> None:
    def fails(up: Upstream) -> None:
        client(up).get(URL).raise_for_status()

    happened = upstream.run(fails, "504")
    assert happened.status == "raised"
    assert type(happened.error).__name__ == "HTTPStatusError"
    assert happened.error is not None
    assert happened.error.__traceback__ is None
    assert "fails" in happened.outcomes[0].traceback


def test_a_cancellation_that_the_function_raises_is_its_outcome() -> None:
    async def fails(up: Upstream) -> None:
        raise asyncio.CancelledError

    assert upstream.run(fails).status == "raised"


def test_partials_and_objects_that_are_called_run_too() -> None:
    class Agent:
        async def __call__(self, up: Upstream) -> str:
            return "async"

    async def two(name: str, up: Upstream) -> str:
        return name

    assert upstream.run(Agent()).value == "async"
    assert upstream.run(functools.partial(two, "partial")).value == "partial"


def test_a_coroutine_out_of_a_plain_function_is_refused() -> None:
    with pytest.raises(TypeError, match="give run an async function"):
        upstream.run(lambda up: patient_coroutine(up))
    gc.collect()  # a coroutine that was never awaited nor closed would warn now


def test_an_upstream_may_be_given_in_place_of_a_script() -> None:
    up = Upstream("504*2")
    assert upstream.run(patient, up).requests == up.requests
    assert up.waits() == (1.0, 1.0)


def test_steps_that_no_request_took_are_reported() -> None:
    assert upstream.run(patient, "504,ok,504,529*").unreached == ("504", "529*")


@pytest.mark.parametrize("function", [patient, patient_coroutine])
def test_a_function_runs_from_inside_of_a_running_loop(function: Any) -> None:
    async def test() -> float:
        return upstream.run(function, "429(3)").ended

    assert asyncio.run(test()) == 3


def test_jitter_repeats() -> None:
    def jitters(up: Upstream) -> list[float]:
        return [random.random(), random.random()]

    state = random.getstate()
    random.seed(7)
    first = upstream.run(jitters).value
    random.seed(8)
    again = upstream.run(jitters).value
    random.setstate(state)
    assert first == again


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_a_block_lives_in_virtual_time() -> None:
    up = Upstream("429(3600)")
    with upstream.virtual() as now:
        assert patient(up) == 200
        assert now() == 3600
        assert time.time() == EPOCH + 3600
    assert [exchange.call for exchange in up.requests] == [0, 0]
    assert up.waits() == (3600.0,)


def test_an_exception_leaves_a_block_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), upstream.virtual():
        raise ZeroDivisionError


def test_a_block_inside_of_a_run_uses_the_clock_of_that_run() -> None:
    async def main() -> tuple[float, float]:
        await asyncio.sleep(5)
        with upstream.virtual() as now:
            return now(), clock.now()

    clock = VirtualClock()
    assert clock.run(main) == (5, 5)


def test_outside_of_any_run_an_upstream_says_what_is_missing() -> None:
    up = Upstream("429")
    with pytest.raises(NoVirtualTime, match=r"upstream\.run"):
        patient(up)
    assert up.requests == ()


def test_a_loop_of_its_own_in_a_block_lives_in_virtual_time_too() -> None:
    up = Upstream("429(3600)")
    with upstream.virtual() as now:
        assert asyncio.run(patient_coroutine(up)) == 200
        assert now() == 3600
    assert up.waits() == (3600.0,)


# -- bad ends ----------------------------------------------------------------------------------------------------------


def test_a_block_that_waits_for_ever_ends_with_a_deadlock() -> None:
    with pytest.raises(Deadlock), upstream.virtual():
        client(Upstream("hang"), timeout=None).get(URL)


def test_a_block_that_sends_for_ever_ends_with_its_budget() -> None:
    up = Upstream("504*")
    with pytest.raises(BudgetSpent, match="budget of 7 requests"), upstream.virtual(budget=7):
        [patient(up) for _ in range(9)]
    assert len(up.requests) == 8


@pytest.mark.parametrize("backend", ["sync", "asyncio", "trio"])
def test_a_function_that_sends_for_ever_is_cut_short(backend: str) -> None:
    http = installed()

    def sync(up: Upstream) -> None:
        with client(up) as one:
            while True:
                try:
                    one.get(URL)
                except Exception:
                    time.sleep(1)

    async def coroutine(up: Upstream) -> None:
        async with http.AsyncClient(transport=up.transport(http)) as one:
            while True:
                try:
                    await one.get(URL)
                except Exception:
                    time.sleep(1)

    if backend == "sync":
        happened = upstream.run(sync, "429*", budget=5)
    else:
        happened = upstream.run(coroutine, "429*", budget=5, backend=backend)
    assert (happened.status, happened.idle) == ("unfinished", False)
    assert happened.stopped == "the budget of 5 requests is spent"
    assert [exchange.status for exchange in happened.requests] == [429] * 5 + [None]


def test_a_blocking_function_on_the_loop_that_sends_for_ever_is_cut_short() -> None:
    async def agent(up: Upstream) -> None:
        with client(up) as one:
            while True:
                one.get(URL)

    happened = upstream.run(agent, "429*", budget=5)
    assert happened.stopped == "the budget of 5 requests is spent"


# -- threads -----------------------------------------------------------------------------------------------------------


def test_the_threads_of_a_sync_caller_wait_in_virtual_time() -> None:
    def agent(up: Upstream) -> list[int]:
        with client(up) as one:

            def fetch(number: int) -> int:
                time.sleep(number)
                answer = one.get(f"{URL}/{number}")
                time.sleep(float(answer.headers["retry-after"]))
                return int(one.get(f"{URL}/{number}").status_code)

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                return list(pool.map(fetch, [1, 2]))

    happened = upstream.run(agent, "429(10)*2")
    assert happened.value == [200, 200]
    assert [(exchange.at, exchange.path[-1]) for exchange in happened.requests] == [
        (1.0, "1"),
        (2.0, "2"),
        (11.0, "1"),
        (12.0, "2"),
    ]
    assert {exchange.call for exchange in happened.requests} == {0}


def test_a_thread_of_an_async_caller_belongs_to_its_call() -> None:
    async def agent(up: Upstream) -> int:
        return await asyncio.to_thread(patient, up)

    happened = upstream.run(agent, "429(5)*2")
    assert (happened.value, happened.ended, happened.blocked) == (200, 10, ())
    assert [exchange.call for exchange in happened.requests] == [0, 0, 0]
    assert [exchange.loop.function for exchange in happened.requests if exchange.loop] == ["patient", "patient"]


def test_a_thread_that_hangs_while_the_caller_waits_for_it_is_a_deadlock() -> None:
    def agent(up: Upstream) -> Any:
        with client(up, timeout=None) as one, concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(one.get, URL).result()

    assert upstream.run(agent, "hang").idle
