"""Clients that block their caller, some with an event loop in a thread of their own, in whole runs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest
from checks.clients import Session, careful, client, plain, retrying

import fuzzmcp
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.blocking import threaded
from harness.test_backing_server import shop

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])
OVERLAPPING = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0.5']
HOUR = 3600


def loop_thread(connect: Any, *, ready: float | None = 30, patience: float | None = None, close: bool = True) -> Any:
    """A blocking client out of an async one, as frameworks do it: its session lives in a thread with a loop."""

    @contextmanager
    def connected(server: Any) -> Iterator[Callable[[str, dict[str, Any]], Any]]:
        up, made = threading.Event(), dict[str, Any]()

        async def session() -> None:
            async with connect(server) as call_tool:
                made.update(call=call_tool, stop=asyncio.Event(), loop=asyncio.get_running_loop())
                up.set()
                await made["stop"].wait()

        thread = threading.Thread(target=lambda: asyncio.run(session()), name="session", daemon=True)
        thread.start()
        if not up.wait(ready):
            raise TimeoutError("no session")
        loop = made["loop"]

        def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            future = asyncio.run_coroutine_threadsafe(made["call"](tool, arguments), loop)
            try:
                return future.result(patience)
            finally:
                future.cancel()

        yield call_tool
        if close:
            loop.call_soon_threadsafe(made["stop"].set)
            thread.join()

    return connected


def story(run: Run) -> str:
    """All that is known of a run, as text."""
    outcomes = [
        (o.call, o.status, o.started, o.ended, repr(o.value), repr(o.error)) for o in (*run.outcomes, run.probe) if o
    ]
    return "\n".join([*map(str, run.events), *map(str, outcomes), *map(str, (run.leaks, run.logs, run.blocked))])


def statuses(run: Run) -> list[tuple[str, float]]:
    return [(outcome.status, outcome.ended) for outcome in run.outcomes]


@both
def test_calls_of_a_session_in_a_thread_return(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(plain)), "ok@5", calls=OVERLAPPING, backend=backend)
    assert statuses(run) == [("returned", 5.0), ("returned", 0.5)]
    assert [outcome.value["structuredContent"]["order_id"] for outcome in run.outcomes] == ["A1", "A2"]
    assert (run.leaks, run.blocked) == ((), ())
    assert fuzzmcp.violations(run) == {}


@both
def test_each_request_is_known_to_belong_to_its_call(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(retrying(1, 2))), "error,error", calls=OVERLAPPING, backend=backend)
    sent = [(e.at, e.call) for e in run.requests if e.method == "tools/call" and e.call != -1]
    assert sent == [(0.0, 0), (0.5, 1), (1.0, 0), (1.5, 1)]


@both
def test_the_same_run_is_the_same_each_time(backend: str) -> None:
    script = "429,hang,error@3,ok@1+dup,close@9"
    impatient = loop_thread(client(retrying(1, 2)), patience=7)  # its calls are cancelled while others go on
    run = lambda: fuzzmcp.run(impatient, script, calls=OVERLAPPING, backend=backend)  # noqa: E731
    first = story(run())
    assert "notifications/cancelled" in first
    assert all(story(run()) == first for _ in range(19))


@both
def test_a_hang_of_an_hour_is_an_hour_of_virtual_time(backend: str) -> None:
    contract = Contract(deadline=2 * HOUR)
    run = fuzzmcp.run(loop_thread(client(plain), patience=HOUR), "hang", backend=backend, contract=contract)
    assert statuses(run) == [("raised", HOUR)]
    assert isinstance(run.outcomes[0].error, concurrent.futures.TimeoutError)


@both
def test_an_answer_after_an_hour_arrives(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(plain)), f"ok@{HOUR}", backend=backend, contract=Contract(deadline=2 * HOUR))
    assert statuses(run) == [("returned", HOUR)]


@both
def test_a_call_that_waits_for_ever_is_proved_to(backend: str) -> None:
    async def silent(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return await session.call(tool, arguments, cancel=False)

    run = fuzzmcp.run(loop_thread(client(silent)), "hang", calls=OVERLAPPING, backend=backend)
    proved = 0.5 if backend == "asyncio" else 600.0  # trio says so when the first guard is due
    assert statuses(run) == [("unfinished", proved), ("returned", 0.5)]
    assert run.idle
    assert run.probe is not None
    assert run.probe.status == "returned"
    assert set(fuzzmcp.violations(run)) == {"finishes"}


@both
def test_a_session_that_never_gets_ready_is_given_up_by_the_client(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(plain), ready=30), "init:hang", backend=backend)
    assert (type(run.connect_error), run.ended) == (TimeoutError, 30.0)
    assert [(leak.kind, leak.what) for leak in run.leaks if leak.kind == "thread"] == [("thread", "session")]


@both
def test_a_session_that_is_waited_for_without_end_is_proved_to(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(plain), ready=None), "init:hang", backend=backend)
    assert "connecting waits for ever: nothing was left that could wake it" in [leak.what for leak in run.leaks]
    assert "finishes" in fuzzmcp.violations(run)


@both
def test_an_exception_in_the_loop_thread_is_one_that_nobody_retrieved(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(plain), ready=5), "init:close", backend=backend)
    assert isinstance(run.connect_error, TimeoutError)
    told = [leak.what for leak in run.leaks if leak.kind == "exception"]
    assert len(told) == 1
    assert told[0].startswith("unhandled exception in a thread: ")


@both
def test_a_loop_thread_that_is_left_behind_is_reported_and_does_not_reach_the_next_run(backend: str) -> None:
    before = threading.active_count()
    for _ in range(3):
        run = fuzzmcp.run(loop_thread(client(plain), close=False), "error", backend=backend)
        assert ("thread", "session") in [(leak.kind, leak.what) for leak in run.leaks]
    assert "cleans_up" in fuzzmcp.violations(run)
    assert [t.name for t in threading.enumerate() if t.name == "session"] == []
    assert threading.active_count() <= before + 2  # trio keeps a thread or two for the next


@both
def test_what_closing_waits_for_in_vain_is_reported(backend: str) -> None:
    @contextmanager
    def stuck(server: Any) -> Iterator[Any]:
        with loop_thread(client(plain))(server) as call_tool:
            yield call_tool
            threading.Event().wait()

    run = fuzzmcp.run(stuck, "error", backend=backend)
    assert [outcome.status for outcome in run.outcomes] == ["returned"]
    assert "closing waits for ever: nothing was left that could wake it" in [leak.what for leak in run.leaks]


@both
def test_nobody_cancels_a_blocking_call_and_the_report_says_so(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(careful)), "hang+cancel@2", backend=backend)
    assert statuses(run) == [("raised", 30.0)]
    assert run.undelivered == ("cancel@2: the call blocks its caller, who cannot cancel it",)
    assert "cancel" not in [event.kind for event in run.events]


@both
def test_a_blocking_call_that_sends_for_ever_is_cut_short(backend: str) -> None:
    async def pages(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while True:
            await session.tools()

    run = fuzzmcp.run(loop_thread(client(pages)), backend=backend, contract=Contract(max_frames=50))
    assert run.stopped == "the frame budget of 50 is spent"


@both
def test_a_client_that_blocks_the_harness_loop_is_answered_all_the_same(backend: str) -> None:
    async def agent(server: Any) -> Any:
        with loop_thread(client(plain))(server) as call_tool:
            return call_tool("get_order", {"order_id": "A1"})

    run = fuzzmcp.run(agent, "ok@5", backend=backend)
    assert statuses(run) == [("returned", 5.0)]
    assert set(fuzzmcp.violations(run)) == {"never_blocks"}
    run = fuzzmcp.run(agent, "hang", backend=backend)
    assert statuses(run) == [("unfinished", 0.0)]
    assert "never turned again" in fuzzmcp.violations(run)["never_blocks"].message


@both
def test_a_real_server_behind_the_fake_is_asked_on_its_own_loop(backend: str) -> None:
    run = fuzzmcp.run(loop_thread(client(plain)), "", tools=shop(), calls=['price(article="tea")'], backend=backend)
    assert run.outcomes[0].value["structuredContent"] == {"price": 12.5}
    run = fuzzmcp.run(loop_thread(client(plain)), "", tools=shop(), calls=['fail(reason="sold out")'], backend=backend)
    assert run.outcomes[0].value["isError"] is True


def test_a_blocking_client_without_a_loop_needs_nothing_more() -> None:
    @contextmanager
    def sleeper(server: Any) -> Iterator[Any]:
        time.sleep(5)
        yield lambda tool, arguments: time.sleep(7)

    run = fuzzmcp.run(sleeper)
    assert statuses(run) == [("returned", 12.0)]


def test_the_error_of_a_blocking_client_is_its_own() -> None:
    def fails(tool: str, arguments: dict[str, Any]) -> None:
        raise LookupError(tool)

    @contextmanager
    def failing(server: Any) -> Iterator[Any]:
        yield fails

    error = fuzzmcp.run(failing).outcomes[0].error
    assert (type(error), str(error)) == (LookupError, "get_order")


def test_a_blocking_client_must_yield_a_function() -> None:
    @contextmanager
    def yields_nothing(server: Any) -> Iterator[Any]:
        yield None

    async def main() -> None:
        async with threaded(yields_nothing)(None):
            pass

    with pytest.raises(TypeError, match="this one yields: NoneType"):
        anyio.run(main)


def test_a_class_with_enter_and_exit_is_a_blocking_client() -> None:
    class Client:
        def __init__(self, server: Any) -> None:
            self.closed = False

        def __enter__(self) -> Any:
            return lambda tool, arguments: f"{tool}: {arguments}"

        def __exit__(self, *exc: object) -> None:
            self.closed = True

    assert fuzzmcp.run(Client).outcomes[0].value == "get_order: {'order_id': 'A1'}"


def test_what_the_body_raises_is_shown_to_the_client_which_may_keep_it() -> None:
    seen: list[Any] = []

    @contextmanager
    def keeps(server: Any) -> Iterator[Any]:
        try:
            yield print
        except LookupError as error:
            seen.append(error)

    async def main() -> None:
        async with threaded(keeps)(None):
            raise LookupError("in the body")

    anyio.run(main)
    assert [str(error) for error in seen] == ["in the body"]
