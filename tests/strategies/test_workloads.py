"""Workloads: valid arguments and results, and calls that can be told apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.tools import Tool, crm, load
from fuzzmcp.strategies import arguments, calls, outputs
from fuzzmcp.strategies.workloads import variants

from .searching import smallest

TOOLS = pytest.mark.parametrize("tool", crm(), ids=lambda tool: tool.name)
CRM = {tool.name: tool for tool in crm()}
ENUM = {"type": "object", "properties": {"on": {"const": 1}}, "required": ["on"], "additionalProperties": False}


@TOOLS
def test_arguments_are_valid_and_shrink_to_the_sample(tool: Tool) -> None:
    @given(arguments(tool))
    @settings(max_examples=20)
    def check(drawn: dict[str, Any]) -> None:
        tool.input_validator.validate(drawn)

    check()
    assert smallest(arguments(tool)) == tool.sample_arguments


@TOOLS
def test_outputs_are_valid_and_shrink_to_the_sample(tool: Tool) -> None:
    @given(outputs(tool))
    @settings(max_examples=8)
    def check(drawn: Any) -> None:
        assert tool.accepts_output(drawn)

    check()
    assert smallest(outputs(tool)) == tool.sample_output


def test_outputs_other_than_the_sample_are_drawn() -> None:
    tool = crm()[0]
    other = smallest(outputs(tool), lambda drawn: drawn != tool.sample_output)
    assert other == {"created": "2000-01-01", "order_id": "", "status": "open", "total": 0}


def test_a_tool_without_an_output_schema_has_no_outputs() -> None:
    plain = load([{"name": "t", "inputSchema": {"type": "object"}}])[0]
    assert smallest(outputs(plain) | st.just("none")) == "none"


@given(calls(crm()))
def test_calls_are_valid_begin_in_turn_or_at_once_and_can_be_told_apart(drawn: tuple[Call, ...]) -> None:
    assert 1 <= len(drawn) <= 3
    assert drawn[0].at is None
    for call in drawn:
        CRM[call.tool].input_validator.validate(call.arguments)
        assert call.at in (None, 0.0)
    assert all(
        one == other or one.tool != other.tool or one.arguments != other.arguments for one in drawn for other in drawn
    )
    assert len({str(call).split("@")[0] for call in drawn}) == len(drawn)


@given(calls(load([{"name": "t", "inputSchema": ENUM}])))
@settings(max_examples=20)
def test_calls_of_a_tool_with_one_way_to_call_it_are_alike(drawn: tuple[Call, ...]) -> None:
    assert all(call.arguments == {"on": 1} for call in drawn)


def shrunk(holds: Any) -> str:
    return " ".join(map(str, smallest(calls(crm()), holds)))


def test_calls_shrink_to_one_of_the_first_tool() -> None:
    assert shrunk(lambda drawn: True) == 'get_order(order_id="A1")'


def test_two_calls_shrink_to_two_of_the_first_tool_in_turn() -> None:
    assert shrunk(lambda drawn: len(drawn) == 2) == 'get_order(order_id="A1") get_order(order_id="A2")'


def test_calls_at_once_shrink_to_two_of_the_first_tool() -> None:
    at_once = shrunk(lambda drawn: any(call.at == 0.0 for call in drawn))
    assert at_once == 'get_order(order_id="A1") get_order(order_id="A2")@0'


def test_arguments_from_the_schema_are_drawn_too() -> None:
    customers = calls(crm()[2:3], max_calls=1)
    assert [str(call) for call in smallest(customers, lambda drawn: drawn[0].arguments == {})] == ["find_customer()"]


def test_there_is_at_least_one_tool_and_one_call() -> None:
    with pytest.raises(ValueError, match="at least one tool"):
        calls(())
    with pytest.raises(ValueError, match="max_calls"):
        calls(crm(), max_calls=0)


@pytest.mark.parametrize(
    ("name", "part", "second"),
    [
        ("s", {"type": "string", "examples": ["A9"]}, "A10"),
        ("s", {"type": "string", "examples": ["A009"]}, "A010"),
        ("s", {"type": "string", "examples": ["Ada"]}, "Ada2"),
        ("s", {"type": "string", "examples": [""]}, "2"),
        ("s", {"type": "string", "format": "email"}, "ada2@example.com"),
        ("s", {"type": "string", "enum": ["x", "y"]}, "y"),
        ("s", {"type": "integer", "maximum": 40}, 40),
        ("s", {"type": "integer", "minimum": 3}, 41),
        ("s", {"type": "number", "examples": [1.5]}, 2.5),
        ("s", {"type": "boolean"}, False),
    ],
)
def test_a_variant_differs_in_one_property_and_is_valid(name: str, part: Any, second: Any) -> None:
    schema = {"type": "object", "properties": {"o": {"type": "string"}, name: part}, "required": [name]}
    tool = load([{"name": "t", "inputSchema": schema}])[0]
    first, *others = variants(tool)
    assert first == tool.sample_arguments
    assert all(tool.input_validator.is_valid(other) for other in others)
    assert second in (first[name], others[0][name])
    assert others[0] != first


def test_a_tool_that_takes_nothing_has_one_variant() -> None:
    assert variants(load([{"name": "t", "inputSchema": {"type": "object"}}])[0]) == [{}]
