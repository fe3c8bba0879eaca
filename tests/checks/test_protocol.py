"""Checks on the client's half of the protocol: lists, cancellations, traffic, duties towards the server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from fuzzmcp.core.contract import Contract

from .clients import (
    AT_ONCE,
    HELD,
    NOT_EXERCISED,
    TWICE,
    VERSION,
    Session,
    careful,
    client,
    failed,
    judged,
    look,
    plain,
    retrying,
    stateless,
    violated,
)

once = client(plain)
patient = client(careful)


async def list_once(session: Session) -> None:
    await session.tools()


async def watch(session: Session) -> None:
    """List, and notice when the list has changed."""

    def changed(frame: dict[str, Any]) -> None:
        session.stale = session.stale or frame["method"] == "notifications/tools/list_changed"

    session.on_notification = changed
    await session.tools()


async def up_to_date(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    if session.stale:
        await session.tools()
    return await session.call(tool, arguments)


# -- relists ----------------------------------------------------------------------------------------------------------


def test_relists_is_broken_by_a_call_on_the_old_catalogue() -> None:
    found = violated(
        "relists", client(plain, prepare=list_once), "list_changed", calls=TWICE, last="0 request tools/call"
    )
    assert found.message == "the catalogue changed, and get_order was sent without listing again"
    assert [event.method for event in found.evidence] == ["notifications/tools/list_changed", "tools/call"]


def test_relists_is_broken_by_a_retry_too() -> None:
    again = client(retrying(1.0), prepare=list_once)
    assert violated("relists", again, "529+list_changed", last="1 request tools/call").call == 0


def test_relists_is_broken_by_listing_only_behind_the_call() -> None:
    async def too_late(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        await session.tools()
        return result

    found = violated("relists", client(too_late, prepare=watch), "list_changed@3", last="5 request tools/call")
    assert found.message.startswith("the catalogue changed, and the probe call was sent")


def test_relists_holds_for_whoever_lists_before_the_next_call() -> None:
    assert judged("relists", client(up_to_date, prepare=watch), "list_changed", calls=TWICE) == HELD
    assert judged("relists", client(up_to_date, prepare=watch), "list_changed,list_changed", calls=TWICE) == HELD


def test_relists_holds_in_the_stateless_era_for_whoever_listens() -> None:
    async def listens(session: Session) -> None:
        await session.post("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await watch(session)

    for call, held in ((up_to_date, True), (plain, False)):
        target = stateless(call, prepare=listens)
        verdict, run = look("relists", target, "list_changed", calls=TWICE, protocol=VERSION)
        assert any(event.method == "notifications/tools/list_changed" for event in run.events)
        assert (verdict == HELD) is held


def test_relists_does_not_accuse_calls_that_were_under_way_when_the_list_changed() -> None:
    script = "ok@5+list_changed@2,ok@5"
    verdict, run = look("relists", client(up_to_date, prepare=watch), script, calls=AT_ONCE)
    change = next(e for e in run.events if e.method == "notifications/tools/list_changed")
    assert [o.started <= change.at <= o.ended for o in run.outcomes] == [True, True]
    assert verdict == HELD, "the probe listed again"


def test_relists_does_not_accuse_calls_that_were_sent_at_the_same_moment() -> None:
    async def only_now(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return await session.call(tool, arguments) if arguments["order_id"] != "A9" else None

    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0', 'get_order(order_id="A3")@0']
    verdict, run = look("relists", client(up_to_date, prepare=watch), "ok@1+list_changed,ok@1*2", calls=calls)
    sent = [event.at for event in run.requests if event.method == "tools/call"][:3]
    assert sent == [0.0, 0.0, 0.0]
    assert verdict == HELD


@pytest.mark.parametrize("script", ["", "error", "hang"])
def test_relists_is_not_exercised_without_a_change(script: str) -> None:
    assert judged("relists", client(careful, prepare=list_once), script) == NOT_EXERCISED


def test_relists_is_not_exercised_by_a_client_that_never_listed() -> None:
    assert judged("relists", once, "list_changed", calls=TWICE) == NOT_EXERCISED


# -- cancels ----------------------------------------------------------------------------------------------------------


async def silent(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    return await session.call(tool, arguments, timeout=30, cancel=False)


@pytest.mark.parametrize("script", ["hang", "ok@31", "notjson", "wrongid", "nullid", "truncated"])
def test_cancels_is_broken_by_giving_up_in_silence(script: str) -> None:
    found = violated("cancels", client(silent), script, last="30 settle")
    assert found.message == "tools/call 2 was given up without notifications/cancelled"
    assert [event.kind for event in found.evidence] == ["request", "settle"]


def test_cancels_is_broken_when_the_caller_cancels_and_nobody_tells_the_server() -> None:
    assert violated("cancels", client(silent), "hang+cancel@2", last="2 settle")


def test_cancels_is_broken_by_going_on_to_the_next_attempt_in_silence() -> None:
    found = violated("cancels", client(retrying(1.0, timeout=5, cancel=False)), "hang", last="6 request tools/call")
    assert found.message == "tools/call 2 was given up without notifications/cancelled"


def test_cancels_is_broken_by_an_id_that_was_never_sent() -> None:
    async def guesses(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        await session.notify("notifications/cancelled", requestId=99)
        return result

    found = violated("cancels", client(guesses), "error", last="0 notify notifications/cancelled")
    assert found.message == "a cancellation names the unknown id 99"


def test_cancels_is_broken_by_the_id_as_a_string() -> None:
    async def as_text(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        name = await session.post("tools/call", {"name": tool, "arguments": arguments})
        with anyio.move_on_after(5):
            return await session.answer(name)
        await session.notify("notifications/cancelled", requestId=str(name))
        return None

    found = violated("cancels", client(as_text), "hang", last="5 notify notifications/cancelled")
    assert found.message == "a cancellation names the unknown id '2'"


def test_cancels_is_broken_by_cancelling_what_was_answered_before() -> None:
    async def tidies(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        name = await session.post("tools/call", {"name": tool, "arguments": arguments})
        result = (await session.answer(name))["result"]
        await anyio.sleep(1)
        await session.notify("notifications/cancelled", requestId=name)
        return result

    found = violated("cancels", client(tidies), "error", last="1 notify notifications/cancelled")
    assert found.message == "request 2 was cancelled after its answer had come"


def test_cancels_is_broken_by_cancelling_twice() -> None:
    async def insists(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await careful(session, tool, arguments)
        except TimeoutError:
            await session.notify("notifications/cancelled", requestId=session.next_id)
            raise

    found = violated("cancels", client(insists), "hang", last="30 notify notifications/cancelled")
    assert found.message == "request 2 was cancelled twice"


def test_cancels_is_broken_by_cancelling_initialize() -> None:
    @asynccontextmanager
    async def impatient(server: Any) -> Any:
        async with server.connect() as (read, write), anyio.create_task_group() as tasks:
            session = Session(read, write, "2025-11-25")
            tasks.start_soon(session.listen)
            await session.ask("initialize", {"protocolVersion": "2025-11-25"}, timeout=5)
            yield lambda tool, arguments: session.call(tool, arguments)

    found = violated("cancels", impatient, "init:hang", last="5 notify notifications/cancelled")
    assert found.message == "initialize was cancelled"


def test_cancels_is_broken_by_sending_again_after_the_caller_had_cancelled() -> None:
    async def obstinate(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await careful(session, tool, arguments)
        except anyio.get_cancelled_exc_class():
            return await careful(session, tool, arguments)

    found = violated("cancels", client(obstinate), "hang+cancel@2", last="2 request tools/call")
    assert found.message == "get_order was sent again after its caller had cancelled it"


@pytest.mark.parametrize("script", ["hang", "ok@31", "late", "hang+cancel@2", "notjson", "hang*2", "block(60)"])
def test_cancels_holds_for_whoever_tells_the_server(script: str) -> None:
    assert judged("cancels", patient, script) == HELD


@pytest.mark.parametrize("script", ["", "error", "ok@29", "close", "rpc(5)", "dup", "malformed"])
def test_cancels_is_not_exercised_where_every_request_is_answered_or_the_stream_closed(script: str) -> None:
    assert judged("cancels", patient, script) == NOT_EXERCISED


@pytest.mark.parametrize(("call", "expected"), [(careful, HELD), (silent, NOT_EXERCISED)], ids=["with", "without"])
def test_cancels_allows_both_when_the_answer_comes_at_the_very_moment_of_the_timeout(call: Any, expected: Any) -> None:
    verdict, run = look("cancels", client(call), "ok@30")
    assert [e.at for e in run.events if e.kind == "deliver" and e.call == 0] == [30.0]
    assert run.outcomes[0].status == "raised"
    assert verdict == expected


def test_cancels_allows_a_cancellation_that_crosses_the_answer() -> None:
    async def crosses(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        name = await session.post("tools/call", {"name": tool, "arguments": arguments})
        await session.notify("notifications/cancelled", requestId=name)
        raise TimeoutError

    verdict, run = look("cancels", client(crosses), "error")
    kinds = [e.kind for e in run.events if e.call == 0 and e.kind in ("deliver", "notify")]
    assert kinds == ["deliver", "notify"], "the answer really came first, at the same moment"
    assert verdict == HELD


@pytest.mark.parametrize("lenient", [True, False])
def test_cancels_leaves_it_open_whether_a_string_id_answers(lenient: bool) -> None:
    async def prepare(session: Session) -> None:
        session.lenient = lenient

    assert judged("cancels", client(silent, prepare=prepare), "strid") == NOT_EXERCISED


def test_cancels_allows_to_wait_for_two_requests_of_one_call_at_once() -> None:
    async def hedges(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        first = await session.post("tools/call", {"name": tool, "arguments": arguments})
        with anyio.move_on_after(2):
            return (await session.answer(first))["result"]
        second = await session.post("tools/call", {"name": tool, "arguments": arguments})
        result = (await session.answer(first))["result"]
        await session.notify("notifications/cancelled", requestId=second)
        return result

    verdict, run = look("cancels", client(hedges), "ok@3,hang")
    assert [e.at for e in run.requests_of(0)] == [0.0, 2.0]
    assert run.outcomes[0].ended == 3.0
    assert verdict == HELD


def test_cancels_allows_to_hang_up_instead() -> None:
    @asynccontextmanager
    async def a_connection_each(server: Any) -> Any:
        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            async with client(silent)(server) as ask:
                return await ask(tool, arguments)

        yield call

    assert judged("cancels", a_connection_each, "hang") == NOT_EXERCISED


def test_cancels_knows_ids_by_connection() -> None:
    @asynccontextmanager
    async def two(server: Any) -> Any:
        async with client(plain)(server) as first, client(careful)(server) as second:
            await first("get_order", {"order_id": "A0"})
            yield second

    assert judged("cancels", two, "ok,hang") == HELD


# -- traffic ----------------------------------------------------------------------------------------------------------


async def every_page(session: Session) -> None:
    cursor: Any = {}
    while cursor is not None:
        page = await session.ask("tools/list", cursor)
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None


@pytest.mark.parametrize("script", ["list:loop", "list:fresh_loop"])
def test_traffic_is_broken_by_endless_paging(script: str) -> None:
    found = violated("traffic", client(plain, prepare=every_page), script)
    assert found.message == "the frame budget of 1,000 is spent: 999 of the frames were tools/list"


def test_traffic_is_broken_by_endless_retries_and_the_contract_sets_the_budget() -> None:
    async def hammers(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while failed(await session.call(tool, arguments)):
            pass

    found = violated("traffic", client(hammers), "529*", contract=Contract(max_frames=50))
    assert found.message == "the frame budget of 50 is spent: 49 of the frames were tools/call"


def test_traffic_is_broken_by_endless_reconnecting() -> None:
    @asynccontextmanager
    async def reconnects(server: Any) -> Any:
        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            while True:
                try:
                    async with client(plain)(server) as ask:
                        return await ask(tool, arguments)
                except Exception:
                    continue

        yield call

    assert violated("traffic", reconnects, "close*", contract=Contract(max_frames=90))


@pytest.mark.parametrize("script", ["list:pages", "hang", "529*"])
def test_traffic_holds_within_the_budget(script: str) -> None:
    assert judged("traffic", client(careful, prepare=every_page), script) == HELD


def test_traffic_is_not_exercised_without_a_fault() -> None:
    assert judged("traffic", once, "") == NOT_EXERCISED


# -- peer_duties ------------------------------------------------------------------------------------------------------


async def deaf(session: Session) -> None:
    session.answer_requests = False


@pytest.mark.parametrize(
    ("script", "method"),
    [
        ("ping", "ping"),
        ("sampling", "sampling/createMessage"),
        ("elicit", "elicitation/create"),
        ("roots", "roots/list"),
        ("hang+ping@3", "ping"),
    ],
)
def test_peer_duties_is_broken_by_silence(script: str, method: str) -> None:
    found = violated("peer_duties", client(careful, prepare=deaf), script, last=f"deliver {method}")
    assert found.message == f"the server's {method} was never answered"


def test_peer_duties_is_broken_by_answering_only_behind_the_pending_call() -> None:
    async def prepare(session: Session) -> None:
        session.answer_requests = False
        session.asked = []
        received = session.received

        async def later(frame: dict[str, Any]) -> None:
            if "method" in frame and "id" in frame:
                session.asked.append(frame)
            await received(frame)

        session.received = later

    async def behind(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        for frame in session.asked:
            await session.reply(frame)
        return result

    found = violated("peer_duties", client(behind, prepare=prepare), "ok@20+ping@1", last="20 reply")
    assert found.message == "the server's ping was answered only after 19 s"
    assert judged("peer_duties", client(behind, prepare=prepare), "ok@3+ping@1") == HELD


def test_peer_duties_is_broken_by_refusing_a_ping() -> None:
    async def prepare(session: Session) -> None:
        async def refuse(frame: dict[str, Any]) -> None:
            await session.send({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32601, "message": "no"}})

        session.reply = refuse

    found = violated("peer_duties", client(careful, prepare=prepare), "ping", last="0 reply")
    assert found.message == "the server's ping was answered with an error"
    assert judged("peer_duties", client(careful, prepare=prepare), "sampling+roots+elicit") == HELD


@pytest.mark.parametrize("script", ["ping", "hang+ping@5", "sampling+elicit+roots+ping", "ok@5+ping@2,list:ok"])
def test_peer_duties_holds_for_whoever_answers(script: str) -> None:
    assert judged("peer_duties", patient, script) == HELD


@pytest.mark.parametrize("script", ["", "hang", "error", "close+ping", "close@1+ping@0.5"])
def test_peer_duties_is_not_exercised_without_a_question_or_without_time_to_answer(script: str) -> None:
    assert judged("peer_duties", client(careful, prepare=deaf), script) == NOT_EXERCISED
