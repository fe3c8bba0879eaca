"""Every row of the vocabulary, at every method and in every version that can carry it: what comes, and when."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import fuzzmcp
from fuzzmcp.core.catalogue.tools import Tool, crm
from fuzzmcp.core.faults import ANSWERS, BY_NAME, EXTRAS, FAULTS, ODD_RESULTS, why_inapplicable
from fuzzmcp.core.protocol import METHODS, VERSIONS
from fuzzmcp.core.script import Action, Script, action
from fuzzmcp.examples.sdk_client import connect
from fuzzmcp.harness.server import Delivery, FakeServer, answers, wire
from fuzzmcp.harness.server.answers import Asked

from .frames import HANDSHAKE, STATELESS, call, fake, frames, judges, request, validate

SPELLINGS = {"rpc": "rpc(-32603)", "block": "block(5)"}
NOW = 10.0


@dataclass
class Seen:
    """What one fault made of one request, beside what the same request gets without it."""

    name: str
    method: str
    version: str
    asked: dict[str, Any]
    sent: list[Delivery]
    plain: list[Delivery]
    server: FakeServer

    @property
    def frames(self) -> list[dict[str, Any]]:
        return frames(self.sent)

    @property
    def only(self) -> Delivery:
        (delivery,) = self.sent
        return delivery

    @property
    def result(self) -> dict[str, Any]:
        assert self.only.frame is not None
        assert self.only.frame["id"] == self.asked["id"]
        self.valid(self.only.frame)
        return self.only.frame["result"]

    @property
    def unanswered(self) -> bool:
        """The same request, without the fault, is answered by a response (and not by a listening stream)."""
        return "id" in self.answer

    @property
    def answer(self) -> dict[str, Any]:
        """What comes without the fault."""
        (frame,) = frames(self.plain)
        return frame

    def valid(self, frame: Any) -> None:
        validate(frame, self.version, METHODS[self.method])

    def as_ever(self, frame: Any) -> None:
        """The ordinary answer, untouched."""
        assert frame == self.answer
        self.valid(frame)


def look(name: str, method: str, version: str) -> Seen:
    """Ask once with the fault, once without."""
    spelling = SPELLINGS.get(name, name)
    server = fake(f"{method}:{spelling}", version, BY_NAME[name].transports[0])
    asked = request(method, version, name=7)
    if name == "list_changed" and version in STATELESS:
        server.receive(request("listen", version, name="ear"), NOW)
    if name == "log" and version in STATELESS:
        asked["params"]["_meta"][wire.META_LOG_LEVEL] = "debug"
    other = fake("", version)
    other.serial = server.serial
    return Seen(name, method, version, asked, server.receive(asked, NOW), other.receive(asked, NOW), server)


# -- what each row promises -------------------------------------------------------------------------------------------


def success(seen: Seen) -> None:
    assert seen.result["isError"] is False
    assert seen.only.answer.kind == "success"
    tool = crm()[0]
    if seen.version >= "2025-06-18":
        assert tool.accepts_output(seen.result["structuredContent"])
    else:
        assert "structuredContent" not in seen.result


def ok(seen: Seen) -> None:
    seen.as_ever(seen.only.frame)
    assert seen.only.action is None, "ordinary behaviour belongs to nobody's script"


def failure(seen: Seen) -> None:
    assert seen.result["isError"] is True
    assert "structuredContent" not in seen.result
    assert seen.result["content"][0]["text"] == seen.only.answer.text != ""
    assert seen.only.answer.kind == "execution_error"


def refusal(seen: Seen) -> None:
    frame = seen.only.frame
    seen.valid(frame)
    assert frame["id"] == 7
    assert frame["error"]["code"] == (-32602 if seen.name == "toolgone" else -32603)
    assert (seen.only.answer.kind, seen.only.answer.code) == ("protocol_error", frame["error"]["code"])


def breaks_schema(seen: Seen) -> None:
    assert seen.result["isError"] is False
    promised = seen.version >= "2025-06-18"
    assert seen.only.answer.visible is promised
    structured = seen.result.get("structuredContent")
    assert structured is None or not crm()[0].accepts_output(structured)
    if seen.name == "empty":
        assert seen.result["content"] == []
        assert structured is None
    if seen.name == "unstructured":
        assert structured is None
        assert json.loads(seen.result["content"][0]["text"])["order_id"] == "A7"


def mismatch(seen: Seen) -> None:
    success(seen)
    text = json.loads(seen.result["content"][0]["text"])
    assert crm()[0].accepts_output(text)
    assert text != seen.result["structuredContent"]


def huge(seen: Seen) -> None:
    success(seen)
    assert 4 * 40_000 <= len(seen.only.answer.text) < 4 * 42_000


def malformed(seen: Seen) -> None:
    assert seen.only.frame["id"] == 7
    assert seen.only.answer.kind == "broken"
    if judges(seen.version):
        with pytest.raises((ValueError, KeyError)):
            seen.valid(seen.only.frame)


def no_json(seen: Seen) -> None:
    assert seen.only.frame is None
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(seen.only.line)


def wrong_id(seen: Seen) -> None:
    assert seen.only.frame["id"] == answers.WRONG_ID
    seen.valid(seen.only.frame)
    assert seen.only.answer.foreign
    assert seen.only.frame.get("result", 0) != seen.answer.get("result", 1) or seen.method != "call"


def null_id(seen: Seen) -> None:
    assert seen.only.frame == {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}


def string_id(seen: Seen) -> None:
    assert seen.only.frame["id"] == "7"
    if seen.unanswered:
        seen.as_ever({**seen.only.frame, "id": 7})


def batch(seen: Seen) -> None:
    (frame,) = json.loads(seen.only.line)
    assert frame["id"] == 7
    if seen.unanswered:
        seen.as_ever(frame)


def truncated(seen: Seen) -> None:
    with pytest.raises(ValueError, match=r"."):
        json.loads(seen.only.line)
    if seen.unanswered:
        whole = json.dumps(seen.answer, ensure_ascii=False)
        assert whole.startswith(seen.only.line)
        assert abs(len(whole) - 2 * len(seen.only.line)) <= 1


def hang(seen: Seen) -> None:
    assert seen.sent == []
    assert seen.server.played == [(seen.server.serial, action("hang"))]


def close(seen: Seen) -> None:
    assert (seen.only.kind, seen.only.frame, seen.only.line) == ("close", None, "")


def listed(seen: Seen) -> None:
    assert seen.result["tools"]
    if seen.name != "badtool":
        assert seen.result["nextCursor"]


def bad_tool(seen: Seen) -> None:
    tools = seen.only.frame["result"]["tools"]
    assert tools[:-1] == seen.answer["result"]["tools"]
    assert not isinstance(tools[-1]["inputSchema"], dict)
    if judges(seen.version):
        with pytest.raises(ValueError, match="inputSchema"):
            seen.valid(seen.only.frame)


def before_the_answer(method: str, **params: Any) -> Callable[[Seen], None]:
    def expectation(seen: Seen) -> None:
        first, answer = seen.frames
        seen.valid(first)
        seen.as_ever(answer)
        assert first["method"] == method
        assert {key: first.get("params", {})[key] for key in params} == params
        assert [d.at for d in seen.sent] == [NOW, NOW]
        assert ("id" in first) == (seen.name in ("ping", "sampling", "elicit", "roots"))

    return expectation


def progress_after(seen: Seen) -> None:
    answer, after = seen.frames
    seen.as_ever(answer)
    seen.valid(after)
    assert after["method"] == "notifications/progress"
    assert after["params"]["progressToken"] == 7


def noise(seen: Seen) -> None:
    line, answer = seen.sent
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(line.line)
    seen.as_ever(answer.frame)


def exit_(seen: Seen) -> None:
    assert (seen.only.kind, seen.only.frame, seen.only.answer) == ("close", None, None)
    assert seen.only.line == "its process ends with status 1"


def bad_utf8(seen: Seen) -> None:
    line, answer = seen.sent
    assert (line.kind, line.frame, line.answer) == ("bytes", None, None)
    assert line.data.endswith(b"\n")
    with pytest.raises(UnicodeDecodeError):
        line.data.decode()
    seen.as_ever(answer.frame)


def split(seen: Seen) -> None:
    if not seen.unanswered:
        seen.as_ever(seen.only.frame)
        assert seen.server.undelivered == ["split: there is no answer to split"]
        return
    head, rest = seen.sent
    assert (head.kind, rest.kind, head.frame, head.answer) == ("bytes", "rest", None, None)
    assert json.loads(head.data + rest.data) == rest.frame
    seen.valid(rest.frame)
    assert (rest.answer, rest.action) == (seen.plain[0].answer, None)
    if "result" not in rest.frame:
        seen.as_ever(rest.frame)
        return
    with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
        head.data.decode()
    assert rest.frame["result"].pop("_meta")
    seen.as_ever(rest.frame)


def orphan(seen: Seen) -> None:
    stray, answer = seen.sent
    assert stray.frame["id"] == answers.WRONG_ID
    assert stray.answer.foreign
    seen.valid(stray.frame)
    seen.as_ever(answer.frame)


def dup(seen: Seen) -> None:
    if not seen.unanswered:
        seen.as_ever(seen.only.frame)
        assert seen.server.undelivered == ["dup: there is no answer to repeat"]
        return
    first, second = seen.sent
    seen.as_ever(first.frame)
    assert first.frame == second.frame
    assert first.answer == second.answer
    assert (first.action, second.action) == (None, action("dup"))


def block(seen: Seen) -> None:
    seen.as_ever(seen.only.frame)
    assert seen.only.at == NOW + 5
    assert seen.server.played == [(seen.server.serial, action("block", 5.0))]


def cancel(seen: Seen) -> None:
    command, answer = seen.sent
    assert (command.kind, command.frame, command.request) == ("cancel", None, answer.request)
    seen.as_ever(answer.frame)


ROWS: dict[str, Callable[[Seen], None]] = {
    "ok": ok,
    "odd": success,
    "error": failure,
    "429": failure,
    "429cap": failure,
    "504": failure,
    "529": failure,
    "traceback": failure,
    "rpc": refusal,
    "toolgone": refusal,
    "drift": breaks_schema,
    "unstructured": breaks_schema,
    "mismatch": mismatch,
    "empty": breaks_schema,
    "huge": huge,
    "malformed": malformed,
    "notjson": no_json,
    "wrongid": wrong_id,
    "nullid": null_id,
    "strid": string_id,
    "batch": batch,
    "truncated": truncated,
    "hang": hang,
    "close": close,
    "exit": exit_,
    "pages": listed,
    "loop": listed,
    "fresh_loop": listed,
    "badtool": bad_tool,
    "log": before_the_answer("notifications/message", level="warning"),
    "progress": before_the_answer("notifications/progress", progressToken=7, progress=1.0),
    "progress_after": progress_after,
    "ping": before_the_answer("ping"),
    "sampling": before_the_answer("sampling/createMessage", maxTokens=100),
    "elicit": before_the_answer("elicitation/create", message="Why is it refunded?"),
    "roots": before_the_answer("roots/list"),
    "noise": noise,
    "badutf8": bad_utf8,
    "split": split,
    "orphan": orphan,
    "dup": dup,
    "list_changed": before_the_answer("notifications/tools/list_changed"),
    "server_cancel": before_the_answer("notifications/cancelled", requestId=7),
    "block": block,
    "cancel": cancel,
}
EVERYWHERE = [(fault.name, method) for fault in FAULTS for method in fault.methods]


def carriers(name: str, method: str) -> list[str]:
    """The versions that can carry the fault there; one test for all of them, of which there are a thousand."""
    transport = BY_NAME[name].transports[0]
    return [version for version in VERSIONS if why_inapplicable(name, method, version, transport) is None]


def test_every_row_of_the_vocabulary_has_an_expectation_here() -> None:
    assert set(ROWS) == set(BY_NAME)


def test_every_fault_has_a_version_that_carries_it() -> None:
    assert [place for place in EVERYWHERE if not carriers(*place)] == []


@pytest.mark.parametrize(("name", "method"), EVERYWHERE)
def test_a_fault_does_what_its_row_says(name: str, method: str) -> None:
    for version in carriers(name, method):
        seen = look(name, method, version)
        ROWS[name](seen)
        if name not in ("hang", "block", "ok") and seen.server.undelivered == []:
            assert any(d.action is not None and d.action.name == name for d in seen.sent), "each names its cause"
        assert all(d.request == seen.server.serial for d in seen.sent)


@pytest.mark.parametrize(("name", "method"), [p for p in EVERYWHERE if p[0] not in ("ok", "hang", "block", "split")])
def test_a_fault_with_a_moment_comes_at_that_moment(name: str, method: str) -> None:
    for version in carriers(name, method):
        comes_3_seconds_later(name, method, version)


def comes_3_seconds_later(name: str, method: str, version: str) -> None:
    server = fake(f"{method}:{SPELLINGS.get(name, name)}@3", version, BY_NAME[name].transports[0])
    if name == "list_changed" and version in STATELESS:
        server.receive(request("listen", version, name="ear"), NOW)
    level = {wire.META_LOG_LEVEL: "debug"} if name == "log" and version in STATELESS else {}
    sent = server.receive(request(method, version, name=7, **level), NOW)
    caused = [d for d in sent if d.action is not None]
    if not caused:
        assert server.undelivered == ["dup: there is no answer to repeat"]
        return
    assert {d.at for d in caused} == {NOW + 3}
    assert sent == sorted(sent, key=lambda d: d.at)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ODD_RESULTS)
@pytest.mark.parametrize("tool", crm(), ids=lambda tool: tool.name)
def test_an_odd_result_is_valid_and_really_odd_or_is_said_to_be_impossible(tool: Tool, name: str, version: str) -> None:
    server, other = fake(f"odd({name})", version), fake("", version)
    asked = call(7, tool.name, version, **tool.sample_arguments)
    (sent,), (plain,) = server.receive(asked, NOW), other.receive(asked, NOW)
    validate(sent.frame, version, "tools/call")
    if server.undelivered:
        assert sent.frame == plain.frame
        assert tool.name in server.undelivered[0]
        return
    assert sent.frame["result"] != plain.frame["result"]
    assert sent.answer.kind == "success"
    assert not sent.answer.visible
    if version >= "2025-06-18":
        assert tool.accepts_output(sent.frame["result"]["structuredContent"])


@pytest.mark.parametrize("name", ["429", "429cap", "504", "529", "error"])
def test_a_json_style_error_is_an_envelope_that_says_what_the_prose_says(name: str) -> None:
    prose, envelope = (answers.error_text(action(name, style=style)) for style in ("prose", "json"))
    body = json.loads(envelope)
    assert body["message"] in prose
    assert body["retryable"] is ("transient" in ANSWERS[name].traits)
    assert body["details"] == ({"retry_after_seconds": 2} if name == "429" else {})
    assert ("retry-after: 2" in prose) is (name == "429")


@pytest.mark.parametrize(
    ("spelling", "hint", "text"),
    [("429", 2.0, "retry-after: 2"), ("429(0.5)", 0.5, "retry-after: 0.5"), ("429(none)", None, None)],
)
def test_the_hint_of_a_rate_limit_is_in_its_text_and_in_the_record(spelling: str, hint: Any, text: Any) -> None:
    (sent,) = fake(spelling).receive(call(), NOW)
    assert sent.answer.hint == hint
    assert text is None or text in sent.answer.text
    assert ("retry-after" in sent.answer.text) is (text is not None)


def test_a_spend_cap_promises_no_time_at_which_a_retry_works() -> None:
    (sent,) = fake("429cap").receive(call(), NOW)
    assert "retry-after" not in sent.answer.text
    assert "spend cap" in sent.answer.text
    assert sent.answer.hint is None


def test_an_error_says_the_text_that_the_script_gives_it() -> None:
    (sent,) = fake('error("no such order, é")').receive(call(), NOW)
    assert sent.frame["result"]["content"][0]["text"] == "no such order, é"


def test_drift_edits_the_value_that_the_request_would_have_got() -> None:
    (sent,) = fake("drift(-status;total:string)").receive(call(), NOW)
    (plain,) = fake("").receive(call(), NOW)
    whole = plain.frame["result"]["structuredContent"]
    edited = sent.frame["result"]["structuredContent"]
    assert edited == {k: str(v) if k == "total" else v for k, v in whole.items() if k != "status"}
    assert json.loads(sent.frame["result"]["content"][0]["text"]) == edited


def test_a_drift_that_no_validator_can_see_is_recorded_as_invisible() -> None:
    (sent,) = fake('drift(created~"01/02/2000")').receive(call(), NOW)
    assert sent.frame["result"]["structuredContent"]["created"] == "01/02/2000"
    assert not sent.answer.visible


@pytest.mark.parametrize("size", [1, 100, 12_345])
def test_huge_counts_four_characters_to_a_token(size: int) -> None:
    (sent,) = fake(f"huge({size})").receive(call(), NOW)
    assert 4 * size <= len(sent.frame["result"]["content"][1]["text"]) <= 4 * size + 32


def test_a_string_id_stays_distinguishable_from_the_string_that_was_asked() -> None:
    (sent,) = fake("strid").receive(call("abc"), NOW)
    assert sent.frame["id"] == "abc "


def test_the_foreign_answers_content_belongs_to_no_request_of_the_run() -> None:
    server = fake("wrongid,ok*20")
    sent = [server.receive(call(name), NOW)[0] for name in range(20)]
    (stray, *own) = [d.answer.value_json for d in sent]
    assert len({stray, *own}) == 20


NO_SCHEMA = Tool({"name": "note", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}})


@pytest.mark.parametrize("spelling", ["drift", "unstructured", "mismatch", "odd(no_text)"])
def test_what_needs_structured_content_is_not_played_on_a_tool_that_promises_none(spelling: str) -> None:
    server = fake(spelling, tools=(NO_SCHEMA,))
    (sent,) = server.receive(call(7, "note", text="x"), NOW)
    assert server.undelivered == [f"{Script.parse(spelling).steps[0].answer}: note promises no structured content"]
    assert sent.action is None
    assert "structuredContent" not in sent.frame["result"]


def test_a_drift_whose_edits_change_nothing_is_not_played() -> None:
    server = fake("drift(-nothing)")
    (sent,) = server.receive(call(), NOW)
    assert server.undelivered == ["drift(-nothing): the edits change nothing in the output of get_order"]
    assert sent.action is None


@pytest.mark.parametrize("name", sorted(name for name in ANSWERS if name not in ("ok", "rpc")))
def test_an_answer_to_an_unknown_tool_is_the_protocol_error_whatever_the_script_says(name: str) -> None:
    if ANSWERS[name].methods != ("call",) or name == "toolgone":
        return
    server = fake(SPELLINGS.get(name, name))
    (sent,) = server.receive(call(7, "no_such_tool"), NOW)
    assert sent.frame["error"] == {"code": -32602, "message": "Unknown tool: no_such_tool"}
    assert server.undelivered == [f"{Action(name, action(name).value)}: the request names an unknown tool"]


def test_the_answer_of_a_real_server_is_passed_on_with_what_the_version_adds() -> None:
    own = {"content": [{"type": "text", "text": "mine"}], "isError": False}
    for version in (HANDSHAKE[-1], *STATELESS):
        (sent,) = fake("", version).receive(call(7, version=version), NOW, ok_result=dict(own))
        assert sent.frame["result"]["content"] == own["content"]
        assert sent.answer.text == "mine"
        validate(sent.frame, version, "tools/call")


def test_the_error_of_a_real_server_is_recorded_as_an_execution_error() -> None:
    own = {"content": [{"type": "text", "text": "broke"}], "isError": True}
    (sent,) = fake("").receive(call(), NOW, ok_result=own)
    assert sent.answer.kind == "execution_error"


@pytest.mark.parametrize("name", sorted(name for name, fault in ANSWERS.items() if "call" in fault.methods))
def test_building_an_answer_is_a_pure_function(name: str) -> None:
    asked = Asked(7, 3, "2025-11-25", crm()[0], {"order_id": "A7"})
    played = action("rpc", -32603) if name == "rpc" else action(name)
    assert answers.build(played, asked) == answers.build(played, asked)
    assert asked == Asked(7, 3, "2025-11-25", crm()[0], {"order_id": "A7"})


def test_the_extras_and_the_answers_are_all_there_is() -> None:
    assert set(ANSWERS) | set(EXTRAS) == set(BY_NAME)
    assert not set(ANSWERS) & set(EXTRAS)


@pytest.mark.parametrize("script", ["drift(done:integer)", "drift(done=1)"])
def test_a_boolean_that_becomes_a_number_is_a_change(script: str) -> None:
    schema = {"type": "object", "properties": {"done": {"type": "boolean"}}, "required": ["done"]}
    tools = [{"name": "finish", "inputSchema": {"type": "object"}, "outputSchema": schema}]
    run = fuzzmcp.run(connect, script, tools=tools)
    assert run.undelivered == ()
    (given,) = [event.answer for event in run.events if event.answer is not None and event.action is not None]
    assert given.value_json == '{"done":1}'
    assert given.visible
