"""Reading whatever a client returned."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import types

from fuzzmcp.checks.interpret import interpret, shows
from fuzzmcp.core.trace import Answer, Reading
from fuzzmcp.harness import sdk

ORDER = {"order_id": "A1", "total": 3}
TEXT = types.TextContent(type="text", text=json.dumps(ORDER))


def sdk_result(**wire: Any) -> types.CallToolResult:
    """A result as the installed SDK hands it out."""
    return types.CallToolResult.model_validate({"content": [], **wire})


def test_a_result_of_the_sdk() -> None:
    wire = {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "structuredContent": ORDER}
    assert interpret(sdk_result(**wire)) == Reading(False, ORDER, "a\nb")
    assert interpret(sdk_result(isError=True)) == Reading(True, None, "")


@dataclass
class FastmcpResult:
    """As fastmcp's `CallToolResult`: `data` beside what came over the wire."""

    content: list[Any]
    structured_content: Any = None
    data: Any = None
    is_error: bool = False
    meta: Any = field(default=None)


def test_a_result_of_fastmcp() -> None:
    assert interpret(FastmcpResult([TEXT], ORDER, ORDER)) == Reading(False, ORDER, TEXT.text)
    assert interpret(FastmcpResult([TEXT], is_error=True)).is_error is True


@pytest.mark.parametrize("flag", ["isError", "is_error"])
def test_a_result_as_a_dict(flag: str) -> None:
    value = {"content": [{"type": "text", "text": "x"}], "structuredContent": ORDER, flag: False}
    assert interpret(value) == Reading(False, ORDER, "x")
    assert interpret({**value, flag: True}).is_error is True


def test_a_dict_without_a_flag_is_the_data_itself() -> None:
    assert interpret(ORDER) == Reading(None, ORDER, json.dumps(ORDER))


@pytest.mark.parametrize("value", [{"error": "no such order"}, {"status": "error", "content": "x"}])
def test_a_dict_that_calls_itself_an_error_is_one(value: dict[str, Any]) -> None:
    assert interpret(value).says_error


def test_text_is_read_as_data_where_it_is_some() -> None:
    assert interpret(TEXT.text) == Reading(None, ORDER, TEXT.text)
    assert interpret("not found") == Reading(None, None, "not found")
    assert interpret("[1]").structured == [1]
    assert interpret("7").structured is None


def test_a_pair_of_content_and_data() -> None:
    assert interpret(([TEXT], ORDER)) == Reading(None, ORDER, TEXT.text)


def test_a_list_of_content_blocks_or_texts() -> None:
    assert interpret([TEXT, {"type": "text", "text": "b"}, "c"]).text == f"{TEXT.text}\nb\nc"


@dataclass
class Message:
    """As LangChain's `ToolMessage`: status and artifact around content blocks."""

    content: Any
    status: str = "success"
    artifact: Any = None
    tool_call_id: str = "1"


def test_a_message_that_answers_a_tool_call() -> None:
    blocks = [{"type": "text", "text": TEXT.text, "id": "lc_1"}]
    assert interpret(Message(blocks, artifact={"structured_content": ORDER})) == Reading(False, ORDER, TEXT.text)
    assert interpret(Message([{"type": "text", "text": "no"}], "error")) == Reading(True, None, "no")
    assert interpret(Message("no", "error")).says_error


@dataclass
class Words:
    """As Agno's `ToolResult`: words for a model, data in the metadata."""

    content: str
    metadata: Any = None


def test_words_for_a_model_with_data_beside_them() -> None:
    assert interpret(Words("an order", {"structured_content": ORDER})) == Reading(None, ORDER, "an order")
    assert interpret(Words(TEXT.text)) == Reading(None, ORDER, TEXT.text)
    assert interpret(Words("Error: no")) == Reading(None, None, "Error: no")


def test_content_alone_is_its_text_and_what_that_holds() -> None:
    block = {"type": "text", "text": TEXT.text}
    assert interpret(block) == interpret([block]) == interpret([TEXT]) == Reading(None, ORDER, TEXT.text)
    assert interpret([TEXT.text, "Source: orders."]) == Reading(None, ORDER, f"{TEXT.text}\nSource: orders.")
    assert interpret({"type": "text", "text": "no such order"}) == Reading(None, None, "no such order")
    image = types.ImageContent.model_validate({"type": "image", "data": "", "mimeType": "image/png"})
    assert interpret([image]) == Reading(None, None, "")


@pytest.mark.parametrize("data", [["a", "b"], [1, 2], [], [{"type": "text"}], [{"type": ["text"]}], [{"type": "dog"}]])
def test_a_list_that_is_no_content_is_data(data: Any) -> None:
    assert interpret(data).structured == data


def test_data_with_a_type_of_its_own_is_data() -> None:
    for data in ({"type": "order", "text": "x"}, {"type": "image", "name": "x"}, {"type": 3}):
        assert interpret(data).structured == data


def test_a_model_or_an_object_is_its_fields() -> None:
    class Order:
        def __init__(self) -> None:
            self.order_id, self.total = "A1", 3

    assert interpret(Order()).structured == ORDER
    assert interpret(TEXT).text == TEXT.text


def test_nothing_says_nothing() -> None:
    assert interpret(None) == Reading()


class Hostile:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


STRANGE = (Hostile(), object(), 7, 1.5, True, b"x", {1: 2}, {"content": [None]}, ((), ()), [[]])


@pytest.mark.parametrize("value", STRANGE, ids=map(str, range(len(STRANGE))))
def test_no_value_is_too_strange(value: Any) -> None:
    assert isinstance(interpret(value), Reading)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_interpret_never_raises(value: Any) -> None:
    interpret(value)
    interpret(json.dumps(value))


def test_a_value_shows_an_answer_by_its_data_or_by_its_text() -> None:
    answer = Answer("success", value_json=json.dumps(ORDER), text="order A1, three euros")
    assert shows(interpret(ORDER), answer)
    assert shows(interpret("I: order A1, three euros. You: thanks"), answer)
    assert not shows(interpret({**ORDER, "total": 4}), answer)
    assert not shows(interpret("nothing"), answer)
    assert not shows(interpret(None), Answer("success", value_json="null", text=""))


def test_an_answer_without_text_or_data_is_shown_by_nothing() -> None:
    for value in ("", "x", {}, [], None):
        assert not shows(interpret(value), Answer("success"))


def test_the_sdk_that_is_installed_is_one_of_both_majors() -> None:
    assert sdk.MAJOR in (1, 2)
