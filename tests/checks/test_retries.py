"""Checks on retrying: how often, how soon, and whether at all."""

from __future__ import annotations

import re
from typing import Any

import anyio
import pytest

from fuzzmcp.core.contract import Contract

from .clients import (
    AT_ONCE,
    HELD,
    NOT_EXERCISED,
    REFUND,
    TWICE,
    Refused,
    Session,
    careful,
    client,
    failed,
    judged,
    look,
    plain,
    retrying,
    text_of,
    violated,
)

once = client(plain)
hasty = client(retrying(1.0, 1.0, 1.0, 1.0, 1.0))


# -- request_budget ---------------------------------------------------------------------------------------------------


def test_request_budget_is_broken_by_one_request_more_than_the_contract_allows() -> None:
    found = violated("request_budget", hasty, "529*", last="5 request tools/call")
    assert re.fullmatch(r"get_order cost 6 requests; the contract allows 4: clients\.py:\d+ call ×6", found.message)
    assert len(found.evidence) == 6


def test_request_budget_holds_for_exactly_as_many_as_the_contract_allows() -> None:
    assert judged("request_budget", client(retrying(1.0, 2.0, 4.0)), "529*") == HELD
    assert judged("request_budget", hasty, "529*", contract=Contract(max_requests=6)) == HELD


def test_request_budget_counts_each_call_by_itself_and_not_the_probe() -> None:
    verdict, run = look("request_budget", client(retrying(1.0, 2.0, 4.0)), "529*8", calls=AT_ONCE)
    assert len([e for e in run.requests if e.method == "tools/call"]) == 9
    assert verdict == HELD


def test_request_budget_is_what_the_contract_says_of_the_tool_that_was_called() -> None:
    contract = Contract(max_requests=9, max_requests_per_tool={"get_order": 2, "refund_order": 9})
    found = violated("request_budget", hasty, "529*", contract=contract)
    assert found.message.startswith("get_order cost 6 requests; the contract allows 2: ")
    others = Contract(max_requests=9, max_requests_per_tool={"refund_order": 1})
    assert judged("request_budget", hasty, "529*", contract=others) == HELD


@pytest.mark.parametrize("script", ["", "ok@5", "odd", "list:hang"])
def test_request_budget_is_not_exercised_where_nothing_tempts_to_retry(script: str) -> None:
    assert judged("request_budget", hasty, script) == NOT_EXERCISED


# -- retry_after ------------------------------------------------------------------------------------------------------


def test_retry_after_is_broken_by_a_request_before_the_named_moment() -> None:
    found = violated("retry_after", hasty, "429(5)", last="1 request tools/call")
    told = "get_order was sent again after 1.0 s; retry-after said 5 s"
    assert re.fullmatch(re.escape(told) + r" \(by clients\.py:\d+ call\)", found.message)
    assert [event.kind for event in found.evidence] == ["request", "deliver", "request"]


def test_retry_after_is_broken_by_the_second_request_where_only_the_first_one_waits() -> None:
    found = violated("retry_after", client(retrying(5.0, 1.0)), "429(5)*2", last="6 request tools/call")
    told = "get_order was sent again after 1.0 s; retry-after said 5 s"
    assert re.fullmatch(re.escape(told) + r" \(by clients\.py:\d+ call\)", found.message)


@pytest.mark.parametrize("waits", [(5.0,), (6.0,), ()], ids=["exactly", "longer", "never"])
def test_retry_after_holds_for_whoever_waits_or_gives_up(waits: tuple[float, ...]) -> None:
    assert judged("retry_after", client(retrying(*waits)), "429(5)") == HELD


def test_retry_after_counts_from_the_answer_and_not_from_the_request() -> None:
    assert judged("retry_after", client(retrying(5.0)), "429(5)@3") == HELD
    assert violated("retry_after", client(retrying(4.0)), "429(5)@3", last="7 request tools/call")


def test_retry_after_holds_for_decimal_seconds_in_either_style() -> None:
    async def reads(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        hint = re.search(r'retry[-_]after(?:_seconds)?"?: ([0-9.]+)', text_of(result))
        if hint:
            await anyio.sleep(float(hint.group(1)))
            result = await session.call(tool, arguments)
        return result

    assert judged("retry_after", client(reads), "429(0.3)") == HELD
    assert judged("retry_after", client(reads), "429(1.7,style=json)@0.1") == HELD


@pytest.mark.parametrize("script", ["", "429(none)", "529", "429cap", "error"])
def test_retry_after_is_not_exercised_without_a_hint(script: str) -> None:
    assert judged("retry_after", hasty, script) == NOT_EXERCISED


def test_retry_after_binds_the_call_that_was_told_and_no_other() -> None:
    verdict, run = look("retry_after", client(retrying(5.0)), "429(5),ok@1", calls=AT_ONCE)
    assert [e.call for e in run.requests if e.method == "tools/call"] == [0, 1, 0, -1]
    assert verdict == HELD


def test_retry_after_does_not_bind_who_had_given_the_request_up_before_the_hint_came() -> None:
    gives_up = client(retrying(2.0, timeout=5.0))
    verdict, run = look("retry_after", gives_up, "429(60)@6")
    hint = next(e for e in run.events if e.answer and e.answer.hint)
    again = [e for e in run.requests if e.method == "tools/call"][1]
    assert hint.at < again.at < hint.at + 60, "the hint really comes between both requests"
    assert verdict == NOT_EXERCISED


# -- spend_cap --------------------------------------------------------------------------------------------------------


def test_spend_cap_is_broken_by_any_request_after_it() -> None:
    found = violated("spend_cap", hasty, "429cap", last="1 request tools/call")
    assert found.message == "get_order was sent again 1.0 s after its spend cap was reached"
    assert [event.kind for event in found.evidence] == ["request", "deliver", "request"]
    assert violated("spend_cap", client(retrying(500.0)), "429cap", last="500 request tools/call")


def test_spend_cap_is_broken_behind_other_errors_too() -> None:
    assert violated("spend_cap", client(retrying(1.0, 2.0)), "529,429cap(style=json)", last="3 request tools/call")


def test_spend_cap_holds_for_whoever_stops() -> None:
    assert judged("spend_cap", once, "429cap") == HELD
    assert judged("spend_cap", client(retrying(1.0)), "529,429cap") == HELD


def test_spend_cap_of_one_call_does_not_bind_another_nor_the_probe() -> None:
    assert judged("spend_cap", once, "429cap", calls=TWICE) == HELD


@pytest.mark.parametrize("script", ["", "429", "error", "hang"])
def test_spend_cap_is_not_exercised_without_one(script: str) -> None:
    assert judged("spend_cap", client(careful), script) == NOT_EXERCISED


def test_spend_cap_does_not_bind_who_had_sent_again_before_it_came() -> None:
    verdict, run = look("spend_cap", client(retrying(0.0, timeout=5.0)), "429cap@6")
    cap = next(e for e in run.events if e.answer and "spend cap" in e.answer.text)
    assert [e.at for e in run.requests if e.method == "tools/call"][1] < cap.at
    assert verdict == NOT_EXERCISED


# -- no_pointless_retry -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("rpc(-32602)", "protocol error -32602"),
        ("rpc(-32601)", "protocol error -32601"),
        ("toolgone", "protocol error -32602"),
        ("error", "an execution error that is not transient"),
        ('error("no such order",style=json)', "an execution error that is not transient"),
        ("traceback", "an execution error that is not transient"),
    ],
)
def test_no_pointless_retry_is_broken_by_sending_what_was_refused(script: str, reason: str) -> None:
    found = violated("no_pointless_retry", hasty, script, last="1 request tools/call")
    assert found.message == f"get_order was sent again after {reason}, which the same request meets again"


@pytest.mark.parametrize("script", ["error", "rpc(-32602)", "toolgone", "traceback"])
def test_no_pointless_retry_holds_for_whoever_takes_no_for_an_answer(script: str) -> None:
    assert judged("no_pointless_retry", once, script) == HELD


@pytest.mark.parametrize("script", ["", "429", "504", "529", "rpc(-32603)", "rpc(-32000)", "429cap", "drift"])
def test_no_pointless_retry_is_not_exercised_by_what_may_pass(script: str) -> None:
    assert judged("no_pointless_retry", hasty, script) == NOT_EXERCISED


def test_no_pointless_retry_allows_another_try_behind_a_fresh_list() -> None:
    async def relists(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments)
        except Refused:
            await session.tools()
            return await session.call(tool, arguments)

    assert judged("no_pointless_retry", client(relists), "toolgone") == HELD


def test_no_pointless_retry_does_not_count_a_refusal_that_came_after_the_retry() -> None:
    verdict, run = look("no_pointless_retry", client(retrying(0.0, timeout=5.0)), "error@6,ok@5")
    refused = next(e for e in run.events if e.answer and e.answer.kind == "execution_error")
    assert [e.at for e in run.requests if e.method == "tools/call"][1] < refused.at
    assert verdict == NOT_EXERCISED


# -- backoff ----------------------------------------------------------------------------------------------------------


def test_backoff_is_broken_by_a_fixed_interval() -> None:
    found = violated("backoff", client(retrying(1.0, 1.0, 1.0)), "529*", last="2 request tools/call")
    told = "get_order was sent again and again without growing waits: 1.0 s, 1.0 s"
    assert re.fullmatch(re.escape(told) + r" \(by clients\.py:\d+ call\)", found.message)


def test_backoff_is_broken_by_waits_that_shrink() -> None:
    assert violated("backoff", client(retrying(4.0, 2.0)), "504*", last="6 request tools/call")


def test_backoff_is_broken_by_no_wait_at_all() -> None:
    assert violated("backoff", client(retrying(0.0, 0.0)), "429(none)*", last="0 request tools/call")


@pytest.mark.parametrize("waits", [(1.0, 2.0, 4.0), (0.1, 0.2, 0.4, 0.8), (1.0, 1.5, 2.25), (0.0, 1.0, 3.0)], ids=str)
def test_backoff_holds_for_waits_that_grow(waits: tuple[float, ...]) -> None:
    assert judged("backoff", client(retrying(*waits)), "529*") == HELD


@pytest.mark.parametrize(
    "waits", [(1.0, 2.0, 4.0, 4.0, 4.0), (0.1, 0.2, 0.4, 0.4, 0.4, 0.4), (0.3, 0.7, 0.7), (5.0, 10.0, 10.0)], ids=str
)
def test_backoff_allows_a_cap(waits: tuple[float, ...]) -> None:
    assert judged("backoff", client(retrying(*waits)), "529*") == HELD


def test_backoff_allows_a_cap_also_where_answers_come_late() -> None:
    assert judged("backoff", client(retrying(0.1, 0.3, 0.9, 0.9, 0.9)), "529@0.7*") == HELD


def test_backoff_with_jitter_in_the_contract_forbids_waits_of_zero_only() -> None:
    contract = Contract(jitter=True, max_requests=9)
    assert judged("backoff", client(retrying(3.1, 0.4, 2.2)), "529*", contract=contract) == HELD
    assert violated("backoff", client(retrying(3.1, 0.0)), "529*", contract=contract, last="3.1 request tools/call")


def test_backoff_without_the_word_jitter_in_the_contract_takes_a_shorter_wait_as_broken() -> None:
    assert violated("backoff", client(retrying(3.1, 0.4)), "529*")


def test_backoff_says_nothing_about_waits_that_the_server_named() -> None:
    assert judged("backoff", client(retrying(5.0, 2.0, 2.0)), "429(5),429(2)*2") == NOT_EXERCISED
    assert judged("backoff", client(retrying(4.0, 2.0, 1.0)), "529,429(2),529") == NOT_EXERCISED


@pytest.mark.parametrize("script", ["", "529", "529,ok", "error*", "rpc(-32603)*"])
def test_backoff_is_not_exercised_before_the_third_attempt(script: str) -> None:
    assert judged("backoff", hasty, script) == NOT_EXERCISED


def test_backoff_does_not_measure_from_an_answer_that_came_after_the_retry() -> None:
    eager = client(retrying(1.0, 1.0, 1.0, timeout=5.0))
    verdict, run = look("backoff", eager, "529@7*3")
    sent = [e.at for e in run.requests if e.method == "tools/call"]
    late = [e.at for e in run.events if e.answer and e.answer.kind == "execution_error"]
    assert sent[1] < late[0]
    assert verdict == NOT_EXERCISED


# -- unsafe_retry -----------------------------------------------------------------------------------------------------

SECOND = client(retrying(1.0, timeout=5.0))


@pytest.mark.parametrize(
    "script", ["hang", "ok@9", "ok@99", "block(99)", "late", "notjson", "wrongid", "nullid", "truncated", "batch"]
)
def test_unsafe_retry_is_broken_by_a_second_refund_after_silence(script: str) -> None:
    found = violated("unsafe_retry", SECOND, script, calls=REFUND, last="6 request tools/call")
    assert found.message.startswith("refund_order may run twice: it was sent again after '")
    assert found.message.endswith("', which does not say whether it ran")


def test_unsafe_retry_is_broken_across_connections_too() -> None:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def reconnects(server: Any) -> Any:
        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            for _ in range(2):
                async with client(plain)(server) as ask:
                    try:
                        return await ask(tool, arguments)
                    except Exception:
                        continue
            return None

        yield call

    found = violated("unsafe_retry", reconnects, "close", calls=REFUND, last="0 request tools/call")
    assert "'close'" in found.message
    assert (found.evidence[0].connection, found.evidence[-1].connection) == (0, 1)


@pytest.mark.parametrize("script", ["hang", "close", "late", "ok@60"])
def test_unsafe_retry_holds_for_whoever_leaves_a_refund_alone(script: str) -> None:
    assert judged("unsafe_retry", client(careful), script, calls=REFUND) == HELD


@pytest.mark.parametrize("script", ["hang", "ok@9", "late"])
def test_unsafe_retry_allows_to_read_twice(script: str) -> None:
    assert judged("unsafe_retry", SECOND, script) == NOT_EXERCISED


@pytest.mark.parametrize("script", ["", "529", "error", "rpc(-32603)", "429", "malformed"])
def test_unsafe_retry_is_not_exercised_by_an_answer(script: str) -> None:
    assert judged("unsafe_retry", SECOND, script, calls=REFUND) == NOT_EXERCISED


def test_unsafe_retry_holds_for_a_slow_answer_that_was_waited_for() -> None:
    async def patient(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        return await session.call(tool, arguments) if failed(result) else result

    assert judged("unsafe_retry", client(patient), "529@60", calls=REFUND) == NOT_EXERCISED


def test_unsafe_retry_asks_whether_the_tool_is_marked_idempotent() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    for marks, expected in (({"idempotentHint": True}, NOT_EXERCISED), ({}, None)):
        tool = {"name": "put", "inputSchema": schema, "annotations": marks}
        verdict = judged("unsafe_retry", SECOND, "hang", tools=[tool])
        assert verdict == expected or (expected is None and verdict.message.startswith("put may run twice"))
