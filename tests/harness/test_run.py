"""Driving: how calls and sessions end, what is observed around them, and that nothing of a run outlives it."""

# ruff: noqa: ASYNC251

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from checks.clients import (
    AT_ONCE,
    TWICE,
    VERSION,
    Session,
    ToolFailed,
    careful,
    client,
    failed,
    plain,
    retrying,
    stateless,
    text_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuzzmcp
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.limits import Limits
from fuzzmcp.core.trace import PROBE, Run
from fuzzmcp.examples.sdk_client import connect
from fuzzmcp.harness.clock import EPOCH
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])
once, patient = client(plain), client(careful)
SHORT = Limits(stall=0.05)
OVERLAPPING = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0.5']


def driven(target: Any, script: str = "", limits: Limits = SHORT, *, quiet: bool = False, **options: Any) -> Run:
    """A run with a watchdog that has little patience."""
    return drive(fuzzmcp.case_of(script, **options), target_of(target), limits, quiet=quiet)


def shape(run: Run) -> list[str]:
    return [outcome.status for outcome in run.outcomes]


# -- outcomes ---------------------------------------------------------------------------------------------------------


@both
def test_a_call_that_returns(backend: str) -> None:
    run = fuzzmcp.run(once, "ok@5", backend=backend)
    (outcome,) = run.outcomes
    assert (outcome.status, outcome.started, outcome.ended, outcome.error) == ("returned", 0.0, 5.0, None)
    assert outcome.value["structuredContent"]["order_id"] == "A1"


@both
def test_a_call_that_raises(backend: str) -> None:
    run = fuzzmcp.run(patient, "hang", backend=backend)
    (outcome,) = run.outcomes
    assert (outcome.status, outcome.ended, type(outcome.error)) == ("raised", 30.0, TimeoutError)
    assert outcome.error.__traceback__ is None
    assert "clients.py:" in outcome.traceback


@both
def test_a_call_that_its_caller_cancels(backend: str) -> None:
    run = fuzzmcp.run(once, "hang+cancel@2", backend=backend)
    (outcome,) = run.outcomes
    assert (outcome.status, outcome.ended, outcome.error) == ("cancelled", 2.0, None)
    assert [(e.kind, e.at) for e in run.events if e.kind in ("cancel", "settle")][:2] == [
        ("cancel", 2.0),
        ("settle", 2.0),
    ]
    assert [str(action) for _, action in run.played] == ["hang", "cancel@2"]


@both
def test_a_cancellation_alone_counts_as_played(backend: str) -> None:
    async def thinks(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        await anyio.sleep(9)
        return result

    run = fuzzmcp.run(client(thinks), "cancel@2", backend=backend)
    assert shape(run) == ["cancelled"]
    assert [str(action) for _, action in run.played] == ["cancel@2"]


def test_a_cancellation_that_comes_too_late_does_nothing_and_is_reported() -> None:
    run = fuzzmcp.run(once, "cancel@2")
    assert shape(run) == ["returned"]
    assert run.played == ()
    assert run.undelivered == ("cancel@2: the connection or the run had ended before it was due",)


@both
def test_only_the_call_that_is_cancelled_is_cancelled(backend: str) -> None:
    run = fuzzmcp.run(patient, "hang+cancel@2,ok@5", calls=OVERLAPPING, backend=backend)
    assert shape(run) == ["cancelled", "returned"]


@both
def test_a_cancellation_that_the_client_turns_into_an_error_is_no_cancellation(backend: str) -> None:
    async def converts(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments)
        except anyio.get_cancelled_exc_class():
            raise ToolFailed("interrupted") from None

    run = fuzzmcp.run(client(converts), "hang+cancel@2", backend=backend)
    assert (shape(run), type(run.outcomes[0].error)) == (["raised"], ToolFailed)


@both
def test_a_call_that_never_settles_is_given_up_at_twice_the_deadline_and_the_run_goes_on(backend: str) -> None:
    run = fuzzmcp.run(once, "hang+progress(500)", backend=backend, contract=Contract(deadline=50))
    assert (shape(run), run.outcomes[0].ended) == (["unfinished"], 100.0)
    assert run.probe is not None
    assert run.probe.status == "returned"


@both
def test_a_loop_that_is_idle_without_a_timer_is_the_proof_of_waiting_for_ever(backend: str) -> None:
    assert fuzzmcp.run(once, "hang", backend=backend).idle


@both
def test_a_loop_that_still_has_a_timer_is_not_idle(backend: str) -> None:
    assert not fuzzmcp.run(patient, "hang", backend=backend).idle


@both
def test_a_client_that_swallows_its_cancellation_is_left_alone(backend: str) -> None:
    async def swallows(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while True:
            try:
                await session.call(tool, arguments)
            except anyio.get_cancelled_exc_class():
                if backend == "trio":
                    raise
                continue

    limits = Limits(deadline=10, shutdown=5)
    run = driven(client(swallows), "hang*", limits, backend=backend)
    assert shape(run) == ["unfinished"]
    assert run.ended < 1_000


# -- the workload -----------------------------------------------------------------------------------------------------


@both
def test_calls_begin_when_the_one_before_has_settled_or_at_their_own_time(backend: str) -> None:
    calls = [f'get_order(order_id="A{n}"){at}' for n, at in enumerate(["", "", "@2.5", "@2.6", ""])]
    run = fuzzmcp.run(once, "ok@2,ok@1,ok@1,ok@4", calls=calls, backend=backend)
    assert [(o.started, o.ended) for o in run.outcomes] == [(0, 2), (2, 3), (2.5, 3.5), (2.6, 6.6), (6.6, 6.6)]


@both
def test_calls_at_once_are_really_under_way_at_once(backend: str) -> None:
    run = fuzzmcp.run(once, "ok@3,ok@2", calls=OVERLAPPING, backend=backend)
    assert [e.kind for e in run.events if e.kind in ("start", "settle")][:4] == ["start", "start", "settle", "settle"]
    assert [o.ended for o in run.outcomes] == [3.0, 2.5]


def test_each_call_gets_arguments_of_its_own_to_change() -> None:
    async def spoils(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, dict(arguments))
        arguments.clear()
        return result

    case = fuzzmcp.case_of("ok", calls=TWICE)
    fuzzmcp.run(client(spoils), case)
    assert [dict(call.arguments) for call in case.calls] == [{"order_id": "A1"}, {"order_id": "A2"}]


# -- the probe --------------------------------------------------------------------------------------------------------


def test_the_probe_comes_after_the_grace_and_meets_no_fault() -> None:
    run = fuzzmcp.run(patient, "error*", contract=Contract(grace=7))
    (probe,) = run.requests_of(PROBE)
    assert probe.at == 7.0
    assert not failed(run.probe.value)


def test_a_plain_run_has_nothing_to_bear_so_no_probe_follows() -> None:
    run = fuzzmcp.run(once, "ok")
    assert (run.probe, len(run.requests_of(0)), run.ended) == (None, 1, 0.0)


def test_the_probe_calls_a_tool_that_may_be_called_twice() -> None:
    run = fuzzmcp.run(once, "error", calls=['refund_order(order_id="A1", amount=20.5)'])
    assert [e.frame["params"]["name"] for e in run.requests_of(PROBE)] == ["get_order"]


@pytest.mark.parametrize("script", ["close", "close@3", "init:close"])
def test_there_is_no_probe_on_a_closed_connection(script: str) -> None:
    assert fuzzmcp.run(patient, script).probe is None


# -- sessions ---------------------------------------------------------------------------------------------------------


@both
def test_a_client_that_cannot_connect_is_on_record_with_its_own_traceback(backend: str) -> None:
    @asynccontextmanager
    async def broken(server: Any) -> Any:
        raise ValueError("no credentials")
        yield

    run = fuzzmcp.run(broken, "", backend=backend)
    assert not run.connected
    assert (run.outcomes, repr(run.connect_error)) == ((), "ValueError('no credentials')")
    assert 'raise ValueError("no credentials")' in run.connect_traceback


@both
def test_connecting_for_ever_is_cut_short(backend: str) -> None:
    run = fuzzmcp.run(once, "init:hang", backend=backend, contract=Contract(deadline=10))
    assert not run.connected
    assert [leak.what.split(":")[0] for leak in run.leaks if leak.kind == "shutdown"] == ["connecting waits for ever"]


@both
def test_an_error_while_closing_belongs_to_the_session_and_not_to_a_call(backend: str) -> None:
    @asynccontextmanager
    async def breaks(server: Any) -> Any:
        async with once(server) as call:
            yield call
        raise ValueError("while closing")

    run = fuzzmcp.run(breaks, "", backend=backend)
    assert shape(run) == ["returned"]
    assert repr(run.connect_error) == "ValueError('while closing')"


@both
def test_an_endless_shutdown_is_cut_short(backend: str) -> None:
    @asynccontextmanager
    async def lingers(server: Any) -> Any:
        async with once(server) as call:
            yield call
            await anyio.sleep_forever()

    run = fuzzmcp.run(lingers, "", backend=backend, contract=Contract(shutdown=30))
    assert [leak.kind for leak in run.leaks] == ["shutdown"]
    assert run.ended <= 100


@both
def test_endless_paging_spends_the_frame_budget_and_ends(backend: str) -> None:
    async def pages(session: Session) -> None:
        cursor: dict[str, Any] = {}
        while True:
            cursor = {"cursor": (await session.ask("tools/list", cursor))["nextCursor"]}

    run = fuzzmcp.run(
        client(plain, prepare=pages), "list:fresh_loop", backend=backend, contract=Contract(max_frames=99)
    )
    assert run.stopped == "the frame budget of 99 is spent"
    assert len([e for e in run.events if e.kind in ("request", "notify")]) == 100


def asks_for_ever(words: int) -> Any:
    """A client that ends with so many notifications, before it lets go of its streams."""

    @asynccontextmanager
    async def connect(server: Any) -> AsyncIterator[Any]:
        async def ask(read: Any, write: Any) -> None:
            try:
                for number in itertools.count(1):
                    await write.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
                    await read.receive()
            finally:
                with anyio.CancelScope(shield=True):
                    for _ in range(words):
                        gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
                        await write.send(json.dumps(gone))

        async with server.lines() as streams, anyio.create_task_group() as group:

            async def call_tool(tool: str, arguments: dict[str, Any]) -> None:
                group.start_soon(ask, *streams)
                await anyio.sleep_forever()

            yield call_tool

    return connect


@both
def test_a_client_gets_to_take_back_what_it_asked_when_its_frames_are_used_up(backend: str) -> None:
    """To keep it from that would make it leave a task behind."""
    run = fuzzmcp.run(asks_for_ever(words=3), "", backend=backend, contract=Contract(max_frames=9))
    assert run.stopped == "the frame budget of 9 is spent"
    assert [event.kind for event in run.events].count("notify") == 3
    assert run.leaks == ()


@both
def test_a_client_that_never_ends_taking_back_is_stopped_as_well(backend: str) -> None:
    run = fuzzmcp.run(asks_for_ever(words=10_000), "", backend=backend, contract=Contract(max_frames=9))
    assert [event.kind for event in run.events].count("notify") == 100
    assert "shutdown" in {leak.kind for leak in run.leaks}


def test_parts_of_the_script_that_did_not_happen_are_named_once_each() -> None:
    run = fuzzmcp.run(once, "list:hang,504,529")
    assert run.unreached == ("list:hang", "529")
    run = fuzzmcp.run(stateless(plain), "ping,drift(-nothing)", calls=TWICE, protocol=VERSION)
    assert [reason.partition(" ")[0] for reason in run.undelivered] == ["ping", "drift(-nothing):"]
    run = fuzzmcp.run(client(retrying(1.0, timeout=5, cancel=False)), "429@cancel,429@99")
    assert run.undelivered[0] == "429@cancel: the client never cancelled request 2 on the wire"
    run = fuzzmcp.run(once, "dup@99")
    assert run.undelivered == ("dup@99: the connection or the run had ended before it was due",)


def test_a_late_answer_has_happened_also_when_the_run_ends_before_it_comes() -> None:
    run = fuzzmcp.run(patient, "error@99")
    assert [str(action) for _, action in run.played] == ["error@99"]


# -- what is observed -------------------------------------------------------------------------------------------------


def test_logs_from_warning_up_and_warnings_are_kept_with_their_time_and_reach_nobody_else(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def noisy(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        await anyio.sleep(3)
        logging.getLogger("shop.client").warning("slow: %s", tool)
        logging.getLogger("shop.client").info("not this")
        logging.getLogger("shop.client").error("broken %d", "format")
        warnings.warn("old call", DeprecationWarning, stacklevel=1)
        return await session.call(tool, arguments)

    run = fuzzmcp.run(client(noisy), "")
    logs = [(log.at, log.logger, log.level, log.message) for log in run.logs if log.at == 3.0]
    assert logs[0] == (3.0, "shop.client", "WARNING", "slow: get_order")
    assert logs[1][:3] == (3.0, "shop.client", "ERROR")
    assert logs[2] == (3.0, "warnings", "DeprecationWarning", "old call")
    assert len(logs) == 3
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


def test_log_handlers_and_warning_filters_are_as_before() -> None:
    before = list(logging.getLogger().handlers), list(warnings.filters), warnings.showwarning
    fuzzmcp.run(once, "error")
    assert (list(logging.getLogger().handlers), list(warnings.filters), warnings.showwarning) == before


def test_a_task_left_behind_is_named() -> None:
    kept: list[Any] = []

    async def background() -> None:
        await asyncio.sleep(10_000)

    async def forgets(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        kept.append(asyncio.ensure_future(background()))
        return await session.call(tool, arguments)

    run = fuzzmcp.run(client(forgets), "")
    assert [leak.kind for leak in run.leaks] == ["task"]
    assert "background (test_run.py:" in run.leaks[0].what


@both
def test_a_stream_left_open_is_named(backend: str) -> None:
    kept: list[Any] = []

    @asynccontextmanager
    async def forgets(server: Any) -> Any:
        kept.append(server.connect())
        await kept[0].__aenter__()
        async with once(server) as call:
            yield call

    run = fuzzmcp.run(forgets, "", backend=backend)
    assert [str(leak.what) for leak in run.leaks if leak.kind == "stream"] == ["connection 0 was never closed"]


def test_an_exception_that_nobody_retrieves_is_named_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    async def fails() -> None:
        raise ValueError("lost")

    async def forgets(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        asyncio.ensure_future(fails())  # noqa: RUF006
        return await session.call(tool, arguments)

    run = fuzzmcp.run(client(forgets), "")
    assert {leak.kind for leak in run.leaks} == {"exception"}
    assert "ValueError: lost" in run.leaks[0].what
    assert capfd.readouterr() == ("", "")


@both
def test_a_client_that_sleeps_on_the_loop_does_not_sleep_for_real(backend: str) -> None:
    async def sleeps(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        time.sleep(3600)
        return await session.call(tool, arguments)

    run = fuzzmcp.run(client(sleeps), "", backend=backend, contract=Contract(deadline=9999))
    assert run.outcomes[0].ended == 3600.0
    assert run.blocked[0].seconds == 3600.0
    assert "test_run.py:" in run.blocked[0].where


@both
def test_the_clients_clocks_are_the_virtual_one(backend: str) -> None:
    async def reads(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        before = time.monotonic(), time.time()
        await session.call(tool, arguments)
        return time.monotonic() - before[0], time.time() - before[1], before[1] - EPOCH

    run = fuzzmcp.run(client(reads), "ok@1000", backend=backend, contract=Contract(deadline=9999))
    assert run.outcomes[0].value == (1000.0, 1000.0, 0.0)


@both
def test_a_client_may_work_in_threads(backend: str) -> None:
    async def threads(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        name = await anyio.to_thread.run_sync(lambda: threading.current_thread() is threading.main_thread())
        return name, await session.call(tool, arguments)

    run = fuzzmcp.run(client(threads), "ok@50", backend=backend)
    assert shape(run) == ["returned"]
    assert run.outcomes[0].value[0] is False
    assert run.outcomes[0].ended == 50.0


def test_what_a_client_prints_is_swallowed_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    async def prints(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        print("hello")
        print("oh", file=sys.stderr)
        return await session.call(tool, arguments)

    fuzzmcp.run(client(prints), "", quiet=True)
    assert capsys.readouterr() == ("", "")
    fuzzmcp.run(client(prints), "")
    assert capsys.readouterr().out == "hello\n"
    assert sys.stdout is not None


# -- clients out of control -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("x")], ids=repr)
@both
def test_whatever_a_client_raises_is_its_outcome_and_the_run_goes_on(error: BaseException, backend: str) -> None:
    async def raises(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        if failed(await session.call(tool, arguments)):
            raise error
        return "fine"

    run = fuzzmcp.run(client(raises), "error", backend=backend)
    assert (shape(run), run.outcomes[0].error) == (["raised"], error)
    assert (run.probe.status, run.probe.value) == ("returned", "fine")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
@both
def test_whatever_a_background_task_of_the_client_raises_stays_inside(error: BaseException, backend: str) -> None:
    async def bomb() -> None:
        await anyio.sleep(1)
        raise error

    async def starts(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        session.tasks.start_soon(bomb)
        return await session.call(tool, arguments)

    run = fuzzmcp.run(client(starts), "ok@9", backend=backend)
    assert run.stopped or run.connect_error is not None or run.outcomes[0].error is not None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@both
def test_a_client_that_never_yields_is_interrupted(backend: str) -> None:
    async def spins(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while True:
            pass

    run = driven(client(spins), "", backend=backend)
    assert shape(run) == ["unfinished"]
    assert run.blocked[0].seconds == float("inf")
    assert "spins" in run.blocked[0].where


def test_the_users_own_interrupt_comes_out() -> None:
    async def presses(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return await session.call(tool, arguments)

    with pytest.raises(KeyboardInterrupt):
        fuzzmcp.run(client(presses), "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# -- where it can run -------------------------------------------------------------------------------------------------


@both
def test_it_runs_inside_of_an_async_test(backend: str) -> None:
    async def a_test() -> Run:
        before = asyncio.current_task()
        run = fuzzmcp.run(once, "ok@3600", backend=backend, contract=Contract(deadline=9999))
        await asyncio.sleep(0)
        assert asyncio.current_task() is before
        return run

    assert asyncio.run(a_test()).outcomes[0].ended == 3600.0


def test_it_runs_in_a_thread() -> None:
    runs: list[Run] = []
    thread = threading.Thread(target=lambda: runs.append(fuzzmcp.run(patient, "hang")))
    thread.start()
    thread.join()
    assert shape(runs[0]) == ["raised"]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(delay=st.floats(0.001, 29.9), backend=st.sampled_from(["asyncio", "trio"]))
def test_it_runs_inside_of_a_hypothesis_test(delay: float, backend: str) -> None:
    run = fuzzmcp.run(patient, f"ok@{delay!r}", backend=backend)
    assert run.outcomes[0].ended == pytest.approx(delay, abs=1e-6)


@both
def test_an_agent_makes_its_own_calls_and_one_run_is_one_call(backend: str) -> None:
    async def agent(server: Any) -> str:
        async with once(server) as call:
            found = [text_of(await call("get_order", {"order_id": name})) for name in ("A1", "A2")]
        return "\n".join(found)

    run = fuzzmcp.run(agent, "429", backend=backend)
    assert (run.role, shape(run), run.probe) == ("agent", ["returned"], None)
    assert [e.call for e in run.requests if e.method == "tools/call"] == [0, 1]
    assert "rate limit" in run.outcomes[0].value


def test_an_agents_run_can_be_cancelled_by_its_caller() -> None:
    async def agent(server: Any) -> Any:
        async with once(server) as call:
            return await call("get_order", {"order_id": "A1"})

    assert shape(fuzzmcp.run(agent, "hang+cancel@2")) == ["cancelled"]
    assert shape(fuzzmcp.run(agent, "hang")) == ["unfinished"]


# -- determinism, and nothing left ------------------------------------------------------------------------------------

SCRIPTS = ["429(3)", "hang+cancel@2", "ok@2+log+progress(3)+ping@1,529*2", "close", "list:pages,drift", "notjson"]


@pytest.mark.parametrize("script", SCRIPTS)
@both
def test_the_same_case_gives_the_same_record(script: str, backend: str) -> None:
    target = client(retrying(1.0, 2.0, timeout=10))
    one, two = (fuzzmcp.run(target, script, calls=AT_ONCE, backend=backend).lines() for _ in range(2))
    assert one == two


PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from checks.clients import AT_ONCE, client, retrying
import fuzzmcp
for script in {scripts!r}:
    run = fuzzmcp.run(client(retrying(1.0, 2.0, timeout=10)), script, calls=AT_ONCE)
    print("\\n".join(run.lines()))
"""


def test_the_record_is_the_same_bytes_in_any_process() -> None:
    program = PROGRAM.format(tests=str(Path(__file__).parents[1]), scripts=SCRIPTS)
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other}
    printed = subprocess.run([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE).stdout
    target = client(retrying(1.0, 2.0, timeout=10))
    here = [line for script in SCRIPTS for line in fuzzmcp.run(target, script, calls=AT_ONCE).lines()]
    assert printed.decode().splitlines() == "\n".join(here).splitlines()


class Marker:
    """Something in a frame of the client."""


@pytest.mark.parametrize("script", ["", "hang", "error", "hang+cancel@2", "close", "init:hang"])
@both
def test_no_frame_of_the_client_outlives_its_run(script: str, backend: str) -> None:
    alive: list[weakref.ref[Any]] = []

    async def marked(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        mine = Marker()
        alive.append(weakref.ref(mine))
        for _ in range(2):
            if failed(await session.call(tool, arguments, timeout=20)):
                raise ToolFailed("x")
        return mine is None

    async def prepare(session: Session) -> None:
        mine = Marker()
        alive.append(weakref.ref(mine))

    gc.disable()  # what survives the run's own collection is then in the second generation, and nothing is older
    try:
        run = fuzzmcp.run(client(marked, prepare=prepare), script, backend=backend)
        gc.collect(1)
    finally:
        gc.enable()
    assert run.events
    assert [reference() for reference in alive if reference() is not None] == []


def test_collection_is_as_before() -> None:
    assert gc.isenabled()
    fuzzmcp.run(once, "error")
    assert gc.isenabled()
    gc.disable()
    try:
        fuzzmcp.run(once, "error")
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("script", ["", "hang", "error"])
def test_what_a_run_recorded_is_freed_with_it_and_needs_no_collection(script: str) -> None:
    gc.disable()
    try:
        run = fuzzmcp.run(connect, script)
        recorded = weakref.ref(run)
        del run
        assert recorded() is None
    finally:
        gc.enable()


def test_a_client_that_yields_no_call_tool_is_told_what_it_should_yield() -> None:
    class Client:
        def __init__(self, server: Any) -> None:
            self.server = server

        async def __aenter__(self) -> Client:
            return self

        async def __aexit__(self, *exc_info: object) -> None:
            return None

    run = fuzzmcp.run(Client, "ok")
    assert not run.connected
    assert str(run.connect_error) == "a client yields call_tool, async (tool, arguments); this one yields: Client"
