"""Checks on answers: the right one, a valid one, through the right channel."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import jsonschema
import pytest

from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.contract import Contract

from .clients import (
    AT_ONCE,
    HELD,
    NOT_EXERCISED,
    TWICE,
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


async def raises(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """Turns every failure into an exception."""
    result = await session.call(tool, arguments)
    if failed(result):
        raise ToolFailed(text_of(result))
    return result


async def validates(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """Believes structured content only when it fits the schema."""
    result = await raises(session, tool, arguments)
    schema = next(t.output_schema for t in crm() if t.name == tool)
    jsonschema.validate(result.get("structuredContent"), schema)
    return result


async def next_that_comes(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """Takes the next response for its own, whatever its id."""
    mine = anyio.Event()
    box: list[dict[str, Any]] = []

    async def received(frame: dict[str, Any]) -> None:
        if "method" not in frame:
            box.append(frame)
            mine.set()

    session.received = received
    await session.post("tools/call", {"name": tool, "arguments": arguments})
    await mine.wait()
    return box[0].get("result")


# -- right_answer -----------------------------------------------------------------------------------------------------


def test_right_answer_is_broken_by_taking_a_stray_response() -> None:
    found = violated("right_answer", client(next_that_comes), "orphan", last="0 settle")
    assert found.message == "get_order returned an answer that nobody asked for"
    assert found.evidence[0].answer.foreign


def test_right_answer_is_broken_by_a_response_under_another_id_and_nothing_else() -> None:
    found = violated("right_answer", client(next_that_comes), "wrongid", last="0 settle")
    assert found.message == "get_order returned an answer that nobody asked for"


def test_right_answer_is_broken_by_taking_the_late_answer_to_an_earlier_call() -> None:
    async def gives_up(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        with anyio.move_on_after(5):
            return await next_that_comes(session, tool, arguments)
        return None

    found = violated("right_answer", client(gives_up), "ok@7,ok@9", calls=TWICE, last="7 settle")
    assert found.message == "get_order returned the answer to another call (get_order)"
    assert (found.call, found.evidence[0].call) == (1, 0)


def test_right_answer_is_broken_by_swapping_two_answers() -> None:
    boxes: list[Any] = []

    async def swaps(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        boxes.append(await session.call(tool, arguments))
        await anyio.sleep(10)
        return boxes.pop()

    verdict, run = look("right_answer", client(swaps), "ok@1,ok@2", calls=AT_ONCE)
    assert verdict.message == "get_order returned the answer to another call (get_order)"
    assert [o.status for o in run.outcomes] == ["returned", "returned"]


@pytest.mark.parametrize("script", ["orphan", "dup", "ok@2,ok@1", "ok+dup@1,ok@3"])
def test_right_answer_holds_for_whoever_goes_by_the_id(script: str) -> None:
    assert judged("right_answer", once, script, calls=AT_ONCE) == HELD


def test_right_answer_allows_the_answer_to_an_earlier_request_of_the_same_call() -> None:
    async def hedges(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        first = await session.post("tools/call", {"name": tool, "arguments": arguments})
        await anyio.sleep(2)
        second = await session.post("tools/call", {"name": tool, "arguments": arguments})
        await session.answer(second)
        return (await session.answer(first))["result"]

    assert judged("right_answer", client(hedges), "ok@3+orphan") == HELD


def test_right_answer_allows_a_value_that_is_like_none_of_the_answers() -> None:
    async def counts(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return len(await session.call(tool, arguments))

    assert judged("right_answer", client(counts), "orphan") == NOT_EXERCISED


def cached(key: Any) -> Any:
    known: dict[Any, Any] = {}

    async def call(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        name = key(tool, arguments)
        if name not in known:
            known[name] = await session.call(tool, arguments)
        return known[name]

    return client(call)


def test_right_answer_allows_a_cache_of_equal_calls_but_not_one_that_forgets_the_arguments() -> None:
    equal = ['get_order(order_id="A1")'] * 2
    by_both, by_tool = cached(lambda tool, arguments: (tool, *arguments.values())), cached(lambda tool, arguments: tool)
    assert judged("right_answer", by_both, "ok@1", calls=equal) == NOT_EXERCISED
    found = violated("right_answer", by_tool, "ok@1", calls=TWICE, last="1 settle")
    assert found.message == "get_order returned the answer to another call (get_order)"


def test_right_answer_is_not_confused_by_equal_answers() -> None:
    tool = {
        "name": "ping_all",
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"done": {"type": "boolean"}}},
    }
    assert judged("right_answer", once, "ok@2,ok@1", tools=[tool], calls=["ping_all()", "ping_all()@0"]) == HELD


@pytest.mark.parametrize("script", ["", "ok@3", "error", "429", "hang"])
def test_right_answer_is_not_exercised_where_there_is_one_answer_at_most(script: str) -> None:
    assert judged("right_answer", patient, script) == NOT_EXERCISED


# -- drift_caught -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["drift", "drift(-status)", "drift(total:string)", "unstructured", "empty"])
def test_drift_caught_is_broken_by_handing_it_on_as_a_success(script: str) -> None:
    found = violated("drift_caught", once, script, last="0 settle")
    assert found.message == f"get_order returned content that breaks its outputSchema ({script}) as a success"
    assert [event.kind for event in found.evidence] == ["request", "deliver", "settle"]


def test_drift_caught_is_broken_by_reading_the_text_only() -> None:
    async def reads(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return json.loads(text_of(await session.call(tool, arguments)))

    assert violated("drift_caught", client(reads), "drift(order_id>orderId)", last="0 settle")


@pytest.mark.parametrize("script", ["drift", "drift(-status)", "unstructured", "empty", "ok@1,drift"])
def test_drift_caught_holds_for_whoever_validates(script: str) -> None:
    assert judged("drift_caught", client(validates), script, calls=TWICE) == HELD


def test_drift_caught_holds_for_an_error_result_too() -> None:
    async def flags(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await validates(session, tool, arguments)
        except jsonschema.ValidationError as error:
            return {"isError": True, "content": [{"type": "text", "text": str(error)}]}

    assert judged("drift_caught", client(flags), "drift") == HELD


def test_drift_caught_holds_for_an_error_in_plain_words() -> None:
    async def words(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return text_of(await validates(session, tool, arguments))
        except jsonschema.ValidationError:
            return "the order service sent something that is no order"

    async def believes(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return f"it said: {text_of(await session.call(tool, arguments))}"

    for script in ("drift", "unstructured", "empty"):
        assert judged("drift_caught", client(words), script) == HELD
    for script in ("drift", "unstructured"):
        assert violated("drift_caught", client(believes), script, last="0 settle")


def test_drift_caught_holds_for_a_retry_that_got_a_valid_answer() -> None:
    async def again(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await validates(session, tool, arguments)
        except jsonschema.ValidationError:
            return await validates(session, tool, arguments)

    assert judged("drift_caught", client(again), "drift") == NOT_EXERCISED


@pytest.mark.parametrize(
    "script",
    ["", "odd(extra)", 'drift(created~"01/02/2000")', 'drift(+extra="x")', "drift(-note)", "mismatch", "huge(9)"],
)
def test_drift_caught_is_not_exercised_by_what_no_validator_rejects(script: str) -> None:
    assert judged("drift_caught", once, script) == NOT_EXERCISED


def test_drift_caught_is_not_exercised_where_the_drifted_answer_came_too_late() -> None:
    assert judged("drift_caught", patient, "drift@31") == NOT_EXERCISED


def test_drift_caught_accuses_an_agent_only_when_its_transcript_shows_the_drifted_content() -> None:
    async def shows(server: Any) -> Any:
        async with once(server) as call:
            return json.dumps(await call("get_order", {"order_id": "A1"}))

    async def hides(server: Any) -> Any:
        async with client(validates)(server) as call:
            try:
                await call("get_order", {"order_id": "A1"})
            except jsonschema.ValidationError:
                return "the order service sent something that is no order"

    async def tells(server: Any) -> Any:
        async with once(server) as call:
            return text_of(await call("get_order", {"order_id": "A1"}))

    assert judged("drift_caught", hides, "drift") == HELD
    assert violated("drift_caught", tells, "drift", last="0 settle")
    assert judged("drift_caught", shows, "") == NOT_EXERCISED


# -- valid_accepted ---------------------------------------------------------------------------------------------------


def test_valid_accepted_is_broken_by_rejecting_an_additional_property() -> None:
    async def strict(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if "x_added" in result["structuredContent"]:
            raise ToolFailed("unknown property")
        return result

    found = violated("valid_accepted", client(strict), "odd(extra)", last="0 settle")
    assert found.message == "a valid answer to get_order (odd(extra)) arrived, but the call raised ToolFailed"


def test_valid_accepted_is_broken_by_altering_it() -> None:
    async def tidies(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        order = (await session.call(tool, arguments))["structuredContent"]
        return {name: value for name, value in order.items() if name != "x_added"}

    found = violated("valid_accepted", client(tidies), "odd(extra)", last="0 settle")
    assert found.message.endswith("it came back altered")


def test_valid_accepted_is_broken_by_losing_it_in_a_hidden_list() -> None:
    async def lists_behind(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        await session.tools()
        return result

    found = violated("valid_accepted", client(lists_behind), "list:rpc(-32603)", last="0 settle")
    assert found.message == "a valid answer to get_order arrived, but the call raised Refused"
    found = violated("valid_accepted", client(lists_behind), "list:hang", last="0 deliver")
    assert found.message == "a valid answer to get_order arrived, but the call never returned it"


def test_valid_accepted_is_broken_by_calling_it_an_error() -> None:
    async def suspects(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return {**await session.call(tool, arguments), "isError": True}

    found = violated("valid_accepted", client(suspects), "ok@1", last="1 settle")
    assert found.message.endswith("it came back as an error")


@pytest.mark.parametrize(
    "script",
    [
        "odd",
        "odd(no_text)",
        "odd(links)",
        "odd(unicode)",
        "odd(big_integers)",
        "mismatch",
        "ok@5",
        "dup",
        "noise",
        "log",
    ],
)
def test_valid_accepted_holds_for_whoever_hands_it_on(script: str) -> None:
    assert judged("valid_accepted", patient, script) == HELD


def test_valid_accepted_holds_for_the_text_or_the_data_alone() -> None:
    async def text(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return text_of(await session.call(tool, arguments))

    async def data(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return (await session.call(tool, arguments))["structuredContent"]

    async def parsed(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return json.loads(text_of(await session.call(tool, arguments)))

    for call in (text, data, parsed):
        for script in ("odd(unicode)", "mismatch", "ok@1"):
            assert judged("valid_accepted", client(call), script) == HELD


def test_valid_accepted_does_not_accuse_a_summary_of_being_altered() -> None:
    async def total(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return (await session.call(tool, arguments))["structuredContent"]["total"]

    assert judged("valid_accepted", client(total), "odd") == HELD


def test_valid_accepted_allows_to_refuse_what_is_huge() -> None:
    async def bounded(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if len(text_of(result)) > 10_000:
            raise ToolFailed("too long")
        return result

    assert judged("valid_accepted", client(bounded), "huge") == NOT_EXERCISED


def test_valid_accepted_allows_to_time_out_at_the_very_moment_of_the_answer() -> None:
    verdict, run = look("valid_accepted", patient, "ok@30")
    answered = [e.at for e in run.events if e.kind == "deliver" and e.call == 0]
    assert (run.outcomes[0].status, run.outcomes[0].ended, answered) == ("raised", 30.0, [30.0])
    assert verdict == NOT_EXERCISED


@pytest.mark.parametrize(
    "script", ["ok@31", "late", "ok@5+cancel@5", "ok@5+cancel@2", "drift", "error", "malformed", ""]
)
def test_valid_accepted_is_not_exercised_without_a_valid_answer_in_time(script: str) -> None:
    assert judged("valid_accepted", patient, script) == NOT_EXERCISED


@pytest.mark.parametrize("script", ["strid", "batch"])
@pytest.mark.parametrize("lenient", [True, False])
def test_valid_accepted_leaves_it_open_whether_a_nearly_right_answer_counts(script: str, lenient: bool) -> None:
    async def prepare(session: Session) -> None:
        session.lenient = lenient

    verdict, run = look("valid_accepted", client(careful, prepare=prepare), script)
    assert verdict == NOT_EXERCISED
    assert run.outcomes[0].status == ("returned" if lenient and script == "strid" else "raised")


def test_valid_accepted_allows_either_schema_while_the_catalogue_changes() -> None:
    async def suspicious(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if session.stale:
            raise ToolFailed("the catalogue changed under way")
        return result

    async def prepare(session: Session) -> None:
        def changed(frame: dict[str, Any]) -> None:
            session.stale = True

        session.on_notification = changed

    verdict, run = look("valid_accepted", client(suspicious, prepare=prepare), "ok@5+list_changed@2")
    assert run.outcomes[0].status == "raised"
    assert verdict == NOT_EXERCISED


# -- error_channels ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["error", "429", "429cap", "504", "529(style=json)", "traceback"])
def test_error_channels_is_broken_by_an_execution_error_that_comes_back_as_a_success(script: str) -> None:
    async def text(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return text_of(await session.call(tool, arguments))

    found = violated("error_channels", client(text), script, last="0 settle")
    assert found.message == f"the execution error of get_order ({script}) came back as a success"


def test_error_channels_is_broken_by_raising_an_execution_error_with_a_code() -> None:
    async def confuses(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if failed(result):
            raise Refused(-32603, text_of(result))
        return result

    found = violated("error_channels", client(confuses), "error", last="0 settle")
    assert found.message == "the execution error of get_order (error) was raised as protocol error -32603"


async def as_result(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    try:
        return await session.call(tool, arguments)
    except Refused as error:
        return {"isError": True, "content": [{"type": "text", "text": str(error)}]}


def test_error_channels_is_broken_by_a_protocol_error_that_comes_back_as_a_result() -> None:
    found = violated("error_channels", client(as_result), "rpc(-32603)", last="0 settle")
    assert found.message == "the protocol error of get_order (rpc(-32603)) came back as an execution error"
    allowed = Contract(protocol_errors_as_results=True)
    assert judged("error_channels", client(as_result), "rpc(-32603)", contract=allowed) == HELD


async def in_words(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """As a tool that answers a model: the server's text, or a sentence about the error."""
    try:
        result = await session.call(tool, arguments)
    except Refused as error:
        return f"Failed: {error}"
    return f"Failed: {text_of(result)}" if failed(result) else text_of(result)


def test_error_channels_knows_an_error_by_the_words_of_the_contract() -> None:
    words = Contract(error_words=("Failed: ",))
    assert judged("error_channels", client(in_words), "error", contract=words) == HELD
    found = judged("error_channels", client(in_words), "rpc(-32603)", contract=words)
    assert found.message == "the protocol error of get_order (rpc(-32603)) came back as an execution error"
    both = Contract(error_words=("Failed: ",), protocol_errors_as_results=True)
    assert judged("error_channels", client(in_words), "rpc(-32603)", contract=both) == HELD
    violated("error_channels", client(in_words), "error")


def test_error_channels_takes_the_bare_text_of_an_execution_error_where_the_contract_does() -> None:
    async def bare(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return text_of(await session.call(tool, arguments))

    async def hushed(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        return "done" if failed(result) else result

    texts = Contract(errors_as_text=True)
    assert judged("error_channels", client(bare), "error", contract=texts) == HELD
    assert judged("error_channels", client(hushed), "error", contract=texts) != HELD
    assert judged("error_channels", client(as_words), "rpc(-32603)", contract=texts) != HELD


async def as_words(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    try:
        return text_of(await session.call(tool, arguments))
    except Refused as error:
        return str(error)


def test_valid_accepted_is_broken_by_words_of_an_error_in_place_of_a_valid_answer() -> None:
    async def gloomy(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        await session.call(tool, arguments)
        return "Failed: something"

    words = Contract(error_words=("Failed: ",))
    found = judged("valid_accepted", client(gloomy), "odd", contract=words)
    assert found.message == "a valid answer to get_order (odd) arrived, but it came back as an error"


@pytest.mark.parametrize("ends", ["words", "raises"])
def test_valid_accepted_judges_nobody_who_hung_up_at_the_very_moment_of_the_answer(ends: str) -> None:
    async def impatient(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments, timeout=5, cancel=False)
        except TimeoutError:
            await session.write.aclose()
            if ends == "words":
                return "Failed: something"
            raise anyio.ClosedResourceError from None

    words = Contract(error_words=("Failed: ",))
    assert judged("valid_accepted", client(impatient), "ok@5", contract=words) == NOT_EXERCISED
    assert judged("valid_accepted", client(impatient), "ok@4", contract=words) == HELD


def test_drift_caught_and_survives_know_an_error_by_the_words_of_the_contract() -> None:
    async def suspects(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return f"Failed: {text_of(await session.call(tool, arguments))}"

    words = Contract(error_words=("Failed: ",))
    assert judged("drift_caught", client(suspects), "drift", contract=words) == HELD
    found = judged("survives", client(suspects), "error", contract=words)
    assert found.message == "after the script, an ordinary call on the same session came back as an error"


def test_error_channels_is_broken_by_a_protocol_error_that_comes_back_as_a_success() -> None:
    async def shrugs(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await session.call(tool, arguments)
        except Refused:
            return {}

    found = violated("error_channels", client(shrugs), "toolgone", last="0 settle")
    assert found.message == "the protocol error of get_order (toolgone) came back as a success"


@pytest.mark.parametrize("script", ["error", 'error("")', "429", "traceback", "rpc(-32603)", "rpc(1)", "toolgone"])
@pytest.mark.parametrize("call", [plain, raises], ids=["returned", "raised"])
def test_error_channels_holds_for_the_flag_or_an_exception_of_the_tools_own(call: Any, script: str) -> None:
    assert judged("error_channels", client(call), script) == HELD


@pytest.mark.parametrize(
    "script", ["", "ok@1", "drift", "malformed", "nullid", "error@31", "rpc(1)@30", "error+cancel"]
)
def test_error_channels_is_not_exercised_without_an_error_in_time(script: str) -> None:
    assert judged("error_channels", patient, script) == NOT_EXERCISED


def agent(*, shows: str, logs: bool = False) -> Any:
    """An agent whose transcript holds `errors`, `refusals`, `both` or `nothing`."""

    async def run(server: Any) -> Any:
        async with once(server) as call:
            try:
                result = await call("get_order", {"order_id": "A1"})
            except Refused as error:
                if logs:
                    logging.getLogger("agent").error("refused: %s", error)
                return f"I: {error}" if shows in ("refusals", "both") else "I: something is wrong"
            return f"I: {text_of(result)}" if shows in ("errors", "both") or not failed(result) else "I: done"

    return run


@pytest.mark.parametrize("script", ["error", 'error("")', "429", "traceback"])
def test_error_channels_wants_the_execution_error_in_an_agents_transcript(script: str) -> None:
    assert judged("error_channels", agent(shows="errors"), script) == HELD


def test_error_channels_is_broken_by_an_agent_that_keeps_the_execution_error_from_its_model() -> None:
    found = violated("error_channels", agent(shows="nothing"), "error", last="0 settle")
    assert found.message == "the execution error of get_order (error) never reached the transcript"


def test_error_channels_wants_the_protocol_error_in_the_log_and_not_in_the_transcript() -> None:
    assert judged("error_channels", agent(shows="errors", logs=True), "rpc(-32603)") == HELD
    found = violated("error_channels", agent(shows="both", logs=True), "rpc(-32603)", last="0 settle")
    assert found.message == "the protocol error of get_order (rpc(-32603)) reached the transcript"
    found = violated("error_channels", agent(shows="errors"), "rpc(-32603)", last="0 settle")
    assert found.message == "the protocol error of get_order (rpc(-32603)) was logged for nobody"


def test_valid_accepted_is_broken_where_only_the_text_is_right() -> None:
    async def rounded(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        total = result["structuredContent"]["total"]
        return {**result, "structuredContent": {**result["structuredContent"], "total": total + 0.1}}

    found = violated("valid_accepted", client(rounded), "log", last="0 settle")
    assert found.message == "a valid answer to get_order arrived, but it came back altered"


def test_valid_accepted_is_broken_by_a_part_of_the_text_and_by_nothing_at_all() -> None:
    async def first_block(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return {"content": (await session.call(tool, arguments))["content"][:1], "isError": False}

    found = violated("valid_accepted", client(first_block), "odd", last="0 settle")
    assert found.message == "a valid answer to get_order (odd) arrived, but parts of it were lost"
    found = violated("valid_accepted", client(first_block), "odd(no_text)", last="0 settle")
    assert found.message == "a valid answer to get_order (odd(no_text)) arrived, but it came back empty"


def test_valid_accepted_is_broken_by_an_empty_text_where_the_answer_said_something() -> None:
    async def only_blocks(session: Session, tool: str, arguments: dict[str, Any]) -> str:
        result = await session.call(tool, arguments)
        return "".join(block.get("text", "") for block in result["content"])

    found = violated("valid_accepted", client(only_blocks), "odd(no_text)")
    assert found.message == "a valid answer to get_order (odd(no_text)) arrived, but it came back empty"
    assert judged("valid_accepted", client(only_blocks), "odd(many_blocks)") == HELD


def test_valid_accepted_lets_a_client_assert_formats() -> None:
    async def strict(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        result = await session.call(tool, arguments)
        if result["structuredContent"]["created"].count("-") != 2:
            raise ToolFailed("created is no date")
        return result

    assert not isinstance(judged("valid_accepted", client(strict), 'drift(created~"01/02/2000")'), Violation)


def test_drift_caught_does_not_accuse_a_client_that_serves_an_older_valid_result() -> None:
    async def cached(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        old = getattr(session, "old", None)
        result = await session.call(tool, arguments)
        session.old = old or result
        return old or result

    twice = ['get_order(order_id="A1")', 'get_order(order_id="A1")']
    assert judged("drift_caught", client(cached), "ok,drift", calls=twice) == HELD
    assert isinstance(judged("drift_caught", client(cached), "drift", calls=twice), Violation)


def test_drift_caught_does_not_judge_an_answer_that_a_change_of_the_catalogue_overtook() -> None:
    assert judged("drift_caught", once, "drift+list_changed") == NOT_EXERCISED
