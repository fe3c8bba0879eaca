"""Checks on how calls and sessions end, and on what a fault does to everything else."""

# ruff: noqa: ASYNC251

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import fuzzmcp
from fuzzmcp.clients._table import offered
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.errors import ToolNotOffered
from fuzzmcp.core.limits import Limits
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of

from .clients import (
    AT_ONCE,
    HELD,
    NOT_EXERCISED,
    TWICE,
    Closed,
    Refused,
    Session,
    ToolFailed,
    Violation,
    careful,
    client,
    failed,
    judged,
    look,
    plain,
    text_of,
    violated,
)

once = client(plain)
patient = client(careful)


# -- finishes ---------------------------------------------------------------------------------------------------------


def test_finishes_is_broken_by_waiting_for_ever_and_an_idle_loop_proves_it() -> None:
    found = violated("finishes", once, "hang", last="0 request tools/call")
    assert found.message == "get_order waits for ever: nothing was left that could wake it"


def test_finishes_is_broken_by_taking_longer_than_the_contract_allows() -> None:
    found = violated("finishes", once, "ok@10.5", contract=Contract(deadline=10), last="10.5 settle")
    assert found.message == "get_order took 10.5 s; the contract allows 10 s"


def test_finishes_is_broken_by_never_settling_while_something_goes_on() -> None:
    async def polls(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while failed(await session.call(tool, arguments)):
            await anyio.sleep(1)

    contract = Contract(deadline=20)
    found = violated("finishes", client(polls), "529*", contract=contract)
    assert found.message == "get_order had not settled after 40 s"


def test_finishes_is_broken_by_waiting_for_the_timeout_on_a_connection_that_is_closed() -> None:
    async def deaf(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments)
        except Closed:
            await anyio.sleep(30)
            raise TimeoutError("timed out") from None

    found = violated("finishes", client(deaf), "close", last="30 settle")
    assert found.message == "get_order waited for 30.0 s on a connection that the server had closed"


def test_finishes_allows_what_is_no_wait_for_an_answer_after_the_connection_was_closed() -> None:
    async def backs_off(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments)
        except Closed:
            await anyio.sleep(30)
            raise

    assert judged("finishes", client(backs_off), "close") == HELD
    assert judged("finishes", once, "close") == HELD


def test_finishes_is_broken_by_a_call_that_does_not_let_itself_be_cancelled() -> None:
    async def stubborn(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments)
        except asyncio.CancelledError:
            await asyncio.sleep(18)
            return {}

    found = violated("finishes", client(stubborn), "ok@60+cancel@2", last="20 settle")
    assert found.message == "get_order went on for 18.0 s after its caller cancelled it"


def test_finishes_is_broken_by_connecting_for_ever() -> None:
    found = violated("finishes", once, "init:hang", last="0 request initialize")
    assert found.message == "connecting never came to an end"


@pytest.mark.parametrize("script", ["hang", "close", "ok@29", "hang+cancel@2", "error", "late", "ok@30", "block(20)"])
def test_finishes_holds_for_whoever_gives_up_in_time(script: str) -> None:
    assert judged("finishes", patient, script) == HELD


def test_finishes_holds_at_exactly_the_deadline() -> None:
    assert judged("finishes", once, "ok@10", contract=Contract(deadline=10)) == HELD


def test_finishes_counts_each_call_from_its_own_start() -> None:
    assert judged("finishes", once, "ok@9*", calls=TWICE, contract=Contract(deadline=10)) == HELD


def test_finishes_is_not_exercised_without_a_fault() -> None:
    assert judged("finishes", once, "") == NOT_EXERCISED


def test_finishes_leaves_a_spent_frame_budget_to_the_check_on_traffic() -> None:
    async def floods(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while True:
            await session.call(tool, arguments)

    assert judged("finishes", client(floods), "ok@0.001") == NOT_EXERCISED


# -- expected_errors --------------------------------------------------------------------------------------------------


def raising(error: Any) -> Any:
    async def call(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if failed(result):
            raise error
        return result

    return client(call)


@pytest.mark.parametrize(
    "error",
    [KeyError("total"), TypeError("x"), AttributeError("x"), AssertionError("x"), RecursionError("x")],
    ids=repr,
)
def test_expected_errors_is_broken_by_what_is_a_programming_mistake(error: Exception) -> None:
    found = violated("expected_errors", raising(error), "error", last="0 settle")
    assert found.message == f"get_order raised {type(error).__name__}: {error}"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("x")], ids=repr)
def test_expected_errors_is_broken_by_what_ends_the_program(error: BaseException) -> None:
    found = violated("expected_errors", raising(error), "error", last="0 settle")
    assert found.message.startswith(f"get_order raised {type(error).__name__}")


def test_expected_errors_is_broken_by_a_cancellation_that_nobody_asked_for() -> None:
    found = violated("expected_errors", raising(asyncio.CancelledError()), "error", last="0 settle")
    assert found.message.startswith("get_order raised CancelledError")


def test_expected_errors_judges_a_group_by_its_members() -> None:
    group = _group("several", [ValueError("fine"), _group("inner", [KeyError("total")])])
    found = violated("expected_errors", raising(group), "error", last="0 settle")
    assert found.message == "get_order raised KeyError: 'total'"
    assert judged("expected_errors", raising(_group("all fine", [ValueError("x"), ToolFailed("y")])), "error") == HELD


def _group(message: str, members: list[Exception]) -> Exception:
    try:
        return ExceptionGroup(message, members)  # type: ignore[name-defined,no-any-return]
    except NameError:
        from exceptiongroup import ExceptionGroup as Backport

        return Backport(message, members)


def test_expected_errors_goes_by_the_contract_in_types_or_names() -> None:
    for accepts in ((ToolFailed,), ("ToolFailed",), ("Exception",)):
        contract = Contract(accepts=accepts)
        assert judged("expected_errors", raising(ToolFailed("x")), "error", contract=contract) == HELD
    narrow = Contract(accepts=(ToolFailed,))
    found = violated("expected_errors", raising(ValueError("x")), "error", contract=narrow, last="0 settle")
    assert found.message == "get_order raised ValueError: x"


def test_expected_errors_judges_what_comes_out_of_the_session_too() -> None:
    @asynccontextmanager
    async def breaks_at_the_end(server: Any) -> Any:
        async with once(server) as call:
            yield call
        raise KeyError("session")

    found = violated("expected_errors", breaks_at_the_end, "ok@1")
    assert found.message == "the session raised KeyError: 'session'"


@pytest.mark.parametrize("script", ["hang", "close", "rpc(-32603)", "ok@31"])
def test_expected_errors_holds_for_errors_of_the_clients_own(script: str) -> None:
    assert judged("expected_errors", patient, script) == HELD


def test_expected_errors_is_not_exercised_where_nothing_came_out() -> None:
    assert judged("expected_errors", once, "error") == NOT_EXERCISED
    assert judged("expected_errors", raising(ToolFailed("x")), "") == NOT_EXERCISED
    assert judged("expected_errors", patient, "hang+cancel@2") == NOT_EXERCISED


# -- survives ---------------------------------------------------------------------------------------------------------


def test_survives_is_broken_by_a_receive_loop_that_dies_of_a_bad_line() -> None:
    async def prepare(session: Session) -> None:
        session.dead = False
        received = session.received

        async def fragile(frame: dict[str, Any]) -> None:
            session.dead = session.dead or "method" in frame
            if not session.dead:
                await received(frame)

        session.received = fragile

    found = violated("survives", client(careful, prepare=prepare), "log", last="65 settle")
    assert found.message == "after the script, an ordinary call on the same session raised TimeoutError"


def test_survives_is_broken_by_a_session_that_reports_errors_for_ever() -> None:
    state: list[Any] = []

    async def sulks(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        state.extend([result] if failed(result) else [])
        return state[0] if state else result

    found = violated("survives", client(sulks), "error", last="5 settle")
    assert found.message.endswith("came back as an error")


@pytest.mark.parametrize("script", ["hang", "error", "rpc(-32603)", "notjson", "nullid", "batch", "ok@40", "late"])
def test_survives_holds_where_the_probe_works(script: str) -> None:
    assert judged("survives", patient, script) == HELD


def test_survives_is_not_exercised_where_the_framework_does_not_offer_the_tool_of_the_probe() -> None:
    asked: list[str] = []

    async def partial(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        if asked:
            offered({}, tool)
        asked.append(tool)
        return await session.call(tool, arguments)

    verdict, run = look("survives", client(partial), "error")
    assert run.probe is not None
    assert isinstance(run.probe.error, ToolNotOffered)
    assert verdict == NOT_EXERCISED


@pytest.mark.parametrize("script", ["", "close", "close@3", "list_changed", "init:close"])
def test_survives_is_not_exercised_where_the_script_ended_the_session_or_changed_the_catalogue(script: str) -> None:
    assert judged("survives", patient, script) == NOT_EXERCISED


# -- cleans_up --------------------------------------------------------------------------------------------------------


def test_cleans_up_is_broken_by_a_task_left_behind() -> None:
    left: list[Any] = []

    async def forgets(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        left.append(asyncio.ensure_future(asyncio.sleep(10_000)))
        return await session.call(tool, arguments)

    found = violated("cleans_up", client(forgets), "ok@1")
    assert found.message == "a task was left behind: sleep (tasks.py:" + found.message.partition("(tasks.py:")[2]


def test_cleans_up_is_broken_by_a_stream_left_open() -> None:
    @asynccontextmanager
    async def never_closes(server: Any) -> Any:
        opened = server.connect()
        read, write = await opened.__aenter__()
        session = Session(read, write, "2025-11-25")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.listen)
            await session.handshake()
            yield lambda tool, arguments: session.call(tool, arguments)
            tasks.cancel_scope.cancel()
        kept.append(opened)

    kept: list[Any] = []
    found = violated("cleans_up", never_closes, "ok@1")
    assert found.message == "a stream was left open: connection 0 was never closed"


def test_cleans_up_is_broken_by_an_exception_that_nobody_retrieves() -> None:
    async def fails() -> None:
        raise ValueError("lost")

    async def forgets(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        asyncio.ensure_future(fails())  # noqa: RUF006
        return await session.call(tool, arguments)

    found = violated("cleans_up", client(forgets), "ok@1")
    assert found.message.startswith("an exception was never retrieved: ")
    assert "ValueError: lost" in found.message


def test_cleans_up_is_broken_by_an_endless_shutdown() -> None:
    @asynccontextmanager
    async def lingers(server: Any) -> Any:
        async with once(server) as call:
            yield call
            await anyio.sleep(61)

    found = violated("cleans_up", lingers, "ok@1")
    assert found.message == "closing took longer than 60 s"
    assert judged("cleans_up", lingers, "ok@1", contract=Contract(shutdown=70)) == HELD


@pytest.mark.parametrize("script", ["hang", "close", "error", "hang+cancel@2", "noise"])
def test_cleans_up_holds_for_whoever_owns_its_tasks(script: str) -> None:
    assert judged("cleans_up", patient, script) == HELD


def test_cleans_up_gives_background_work_a_moment_to_end() -> None:
    tasks: list[Any] = []

    async def starts(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        if not tasks:
            tasks.append(asyncio.ensure_future(asyncio.sleep(5.9)))
        return await session.call(tool, arguments)

    assert judged("cleans_up", client(starts), "ok+noise") == HELD


def test_cleans_up_is_not_exercised_without_a_fault() -> None:
    assert judged("cleans_up", once, "") == NOT_EXERCISED


# -- never_blocks -----------------------------------------------------------------------------------------------------


def test_never_blocks_is_broken_by_sleeping_on_the_loop() -> None:
    async def sleeps(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if failed(result):
            time.sleep(30)
        return result

    found = violated("never_blocks", client(sleeps), "529")
    assert found.message.startswith("the event loop was blocked for 30 s by test_endings.py:")
    assert found.message.endswith(" sleeps")


def test_never_blocks_is_broken_by_never_yielding_again() -> None:
    async def spins(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        while result["isError"]:
            pass
        return result

    run = drive(fuzzmcp.case_of("529"), target_of(client(spins)), Limits(stall=0.05))
    verdict = fuzzmcp.judge(run, None, ["never_blocks"])["never_blocks"]
    assert verdict.message.startswith("the event loop never turned again: test_endings.py:")


def test_never_blocks_holds_for_whoever_awaits() -> None:
    assert judged("never_blocks", patient, "hang") == HELD
    assert judged("never_blocks", once, "") == NOT_EXERCISED


# -- isolation --------------------------------------------------------------------------------------------------------


def test_isolation_is_broken_by_a_lock_around_the_whole_call() -> None:
    async def prepare(session: Session) -> None:
        session.lock = anyio.Lock()

    async def one_by_one(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        async with session.lock:
            return await careful(session, tool, arguments)

    found = violated("isolation", client(one_by_one, prepare=prepare), "hang", calls=AT_ONCE, last="30 settle")
    assert found.message == "get_order was not sent for 30.0 s while only get_order met a fault"
    assert found.call == 1


def test_isolation_is_broken_by_a_task_group_that_one_failure_cancels() -> None:
    scopes: list[Any] = []

    async def shared_fate(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            if arguments["order_id"] == "A2":
                await anyio.sleep(2)
            result = await session.call(tool, arguments)
            if failed(result):
                for other in scopes:
                    other.cancel()
                raise ToolFailed(text_of(result))
            return result
        raise ToolFailed("cancelled by the other one")

    found = violated("isolation", client(shared_fate), "error@1", calls=AT_ONCE, last="1 settle")
    assert found.message == "get_order raised ToolFailed while only get_order met a fault"


def test_isolation_is_broken_before_an_answer_that_only_comes_a_moment_later() -> None:
    """Both send at once; the second call's answer is valid and a millisecond behind the error that cancels it."""
    scopes: list[Any] = []

    async def shared_fate(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            result = await session.call(tool, arguments)
            if failed(result):
                for other in scopes:
                    other.cancel()
            return result
        raise ToolFailed("cancelled by the other one")

    found = violated("isolation", client(shared_fate), "error,ok@0.001", calls=AT_ONCE, last="0 settle")
    assert found.message == "get_order raised ToolFailed while only get_order met a fault"


def test_isolation_is_broken_by_handing_an_answer_on_late() -> None:
    async def in_order(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        before, mine = session.last, anyio.Event()
        session.last = mine
        try:
            result = await careful(session, tool, arguments)
            if before is not None:
                await before.wait()
            return result
        finally:
            mine.set()

    async def prepare(session: Session) -> None:
        session.last = None

    found = violated("isolation", client(in_order, prepare=prepare), "hang", calls=AT_ONCE, last="30 settle")
    assert found.message == "get_order was held up for 30.0 s while only get_order met a fault"


@pytest.mark.parametrize("script", ["hang", "error", "ok@20,ok@4", "hang+cancel@2", "malformed", "orphan@1,ok@2"])
def test_isolation_holds_where_calls_do_not_touch(script: str) -> None:
    assert judged("isolation", patient, f"{script}", calls=[*AT_ONCE, 'get_order(order_id="A3")@0']) == HELD


def test_isolation_does_not_accuse_a_call_that_met_an_extra_of_its_own() -> None:
    async def obeys(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        if session.cancelled:
            raise ToolFailed("the server cancelled it")
        result = await careful(session, tool, arguments)
        if session.cancelled:
            raise ToolFailed("the server cancelled it")
        return result

    async def prepare(session: Session) -> None:
        session.cancelled = False

        def note(frame: dict[str, Any]) -> None:
            session.cancelled = True

        session.on_notification = note

    verdict, run = look("isolation", client(obeys, prepare=prepare), "hang,ok@1+server_cancel", calls=AT_ONCE)
    assert [o.status for o in run.outcomes] == ["raised", "raised"]
    assert verdict == NOT_EXERCISED


@pytest.mark.parametrize("script", ["", "block(20)", "close", "list_changed", "noise", "list:hang", "hang*2"])
def test_isolation_is_not_exercised_where_the_fault_is_everybodys(script: str) -> None:
    assert judged("isolation", patient, script, calls=AT_ONCE) == NOT_EXERCISED


def test_isolation_is_not_exercised_by_calls_one_after_the_other() -> None:
    assert judged("isolation", patient, "hang", calls=TWICE) == NOT_EXERCISED
    assert judged("isolation", patient, "hang") == NOT_EXERCISED


def test_the_toolkits_own_errors_are_what_these_tests_rely_on() -> None:
    for script, error in (("close", Closed), ("rpc(5)", Refused), ("hang", TimeoutError)):
        assert type(fuzzmcp.run(patient, script).outcomes[0].error) is error


def test_isolation_leaves_alone_a_client_that_pauses_all_calls_on_a_rate_limit() -> None:
    pause = {"until": 0.0}

    async def considerate(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while True:
            await anyio.sleep(max(pause["until"] - anyio.current_time(), 0))
            result = await session.call(tool, arguments)
            if not failed(result):
                return result
            pause["until"] = anyio.current_time() + 10

    calls = ['get_order(order_id="A1")@0', 'get_order(order_id="A2")@1']
    assert judged("isolation", client(considerate), "429(10)", calls=calls) == HELD


def test_finishes_leaves_a_loop_that_never_turns_to_the_check_on_blocking() -> None:
    async def spins(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        for _ in range(20_000):
            time.sleep(1)

    assert judged("finishes", client(spins), "hang") == NOT_EXERCISED
    violated("never_blocks", client(spins), "hang")


def test_survives_is_broken_by_a_session_that_ends_in_the_middle() -> None:
    async def raises_beside(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if failed(result):
            session.tasks.start_soon(explode)
        return result

    async def explode() -> None:
        raise ToolFailed("in the receive loop")

    found = violated("survives", client(raises_beside), "error", last="0 request tools/call")
    assert found.message == "the session ended by itself while calls were made: ToolFailed: in the receive loop"


def test_survives_is_broken_by_a_client_that_hangs_up() -> None:
    async def hangs_up(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if failed(result):
            await session.write.aclose()
        return result

    found = violated("survives", client(hangs_up), "error")
    assert found.message == "after the script, an ordinary call on the same session raised ClosedResourceError"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_expected_errors_does_not_blame_a_call_for_the_end_of_its_session(backend: str) -> None:
    """The second call waits before it sends, the first one's error takes the session down: we end the second."""

    async def call(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        if arguments["order_id"] == "A2":
            await anyio.sleep(10)
        result = await session.call(tool, arguments)
        if failed(result):
            session.tasks.start_soon(explode)
        return result

    async def explode() -> None:
        raise ToolFailed("in the receive loop")

    verdict, run = look("expected_errors", client(call), "error", calls=AT_ONCE, backend=backend)
    assert run.outcomes[1].status == "cancelled"
    assert not isinstance(verdict, Violation)
