"""Result values: unique to a request, echoing what was asked, valid against the tool's schema."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import Tool, crm
from fuzzmcp.core.drift import parse_drift
from fuzzmcp.core.faults import ODD_RESULTS
from fuzzmcp.harness.server import values
from fuzzmcp.strategies import arguments, outputs

from .frames import call, fake, frames

TOOLS = crm()
drawn = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
by_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


def tool_of(schema: dict[str, Any], *names: str) -> Tool:
    given = {name: {"type": "string"} for name in names}
    return Tool(
        {
            "name": "t",
            "inputSchema": {"type": "object", "properties": given},
            "outputSchema": {"type": "object", **schema},
        }
    )


@by_tool
@drawn
@given(data=st.data(), serials=st.lists(st.integers(1, 99_999), min_size=2, max_size=6, unique=True))
def test_ok_values_are_valid_unique_and_echo_the_arguments(tool: Tool, data: Any, serials: list[int]) -> None:
    asked = data.draw(arguments(tool))
    base = data.draw(st.none() | outputs(tool))
    made = [values.unique_value(tool, asked, serial, base) for serial in serials]
    assert all(map(tool.accepts_output, made))
    source = tool.sample_output if base is None else base
    for name, value in asked.items():
        if name in source and tool.accepts_output({**source, name: value}):
            assert all(one[name] == value for one in made)
    if base is None:
        assert all(one != other for i, one in enumerate(made) for other in made[:i])


@by_tool
@drawn
@given(data=st.data())
def test_the_server_sends_what_the_schema_promises_for_whatever_is_asked(tool: Tool, data: Any) -> None:
    asked = data.draw(arguments(tool))
    base = data.draw(st.none() | outputs(tool))
    server = fake("", outputs={} if base is None else {tool.name: base})
    frame = call(1, tool.name)
    frame["params"]["arguments"] = asked
    (sent,) = frames(server.receive(frame, 0.0))
    assert tool.accepts_output(sent["result"]["structuredContent"])


@pytest.mark.parametrize("tool", TOOLS[:3], ids=lambda tool: tool.name)
@drawn
@given(data=st.data())
def test_an_odd_value_is_always_valid(tool: Tool, data: Any) -> None:
    base = data.draw(outputs(tool))
    before = copy.deepcopy(base)
    for name in ODD_RESULTS:
        assert tool.accepts_output(values.odd_value(tool, base, name))
    assert base == before, "the given value is left as it was"


def test_a_property_without_room_is_left_alone_and_the_next_one_carries_the_number() -> None:
    tool = tool_of(
        {
            "properties": {
                "kind": {"const": "order"},
                "day": {"type": "string", "format": "date"},
                "n": {"type": "integer", "maximum": 50},
                "m": {"type": "integer"},
            },
            "required": ["kind", "day", "n", "m"],
        }
    )
    one, two = (values.unique_value(tool, {}, serial) for serial in (1, 2))
    assert {name for name in one if one[name] != two[name]} == {"m"}


def test_an_echoed_argument_is_not_the_one_that_gets_the_number() -> None:
    tool = tool_of({"properties": {"id": {"type": "string"}, "name": {"type": "string"}}}, "id")
    assert values.unique_value(tool, {"id": "A7"}, 5) == {"id": "A7", "name": "name-1-5"}


def test_an_argument_that_would_break_the_schema_is_not_echoed() -> None:
    tool = tool_of({"properties": {"id": {"type": "string", "enum": ["a", "b"]}}}, "id")
    assert values.unique_value(tool, {"id": "c"}, 1) == {"id": "a"}


def test_a_tool_without_schema_has_no_value() -> None:
    assert values.unique_value(Tool({"name": "t", "inputSchema": {"type": "object"}}), {}, 1) is None


def test_values_do_not_share_parts_with_each_other_or_with_the_sample() -> None:
    tool = TOOLS[3]
    before = copy.deepcopy(tool.sample_output)
    one = values.unique_value(tool, {}, 1)
    one["invoices"][0]["lines"].clear()
    assert tool.sample_output == before
    assert values.unique_value(tool, {}, 1)["invoices"][0]["lines"]


def test_the_bare_drift_renames_the_first_required_property_and_stringifies_the_first_number() -> None:
    drifted = values.drifted(TOOLS[0], values.unique_value(TOOLS[0], {}, 1), None)
    assert "order_id" not in drifted
    assert "orderId" in drifted
    assert isinstance(drifted["total"], str)


@by_tool
def test_the_bare_drift_is_visible_for_every_tool(tool: Tool) -> None:
    assert values.breaks_schema(tool, values.drifted(tool, tool.sample_output, None))


def test_formats_do_not_make_a_drift_visible() -> None:
    changed = values.drifted(TOOLS[0], TOOLS[0].sample_output, parse_drift('created~"01/02/2000"'))
    assert changed != TOOLS[0].sample_output
    assert not values.breaks_schema(TOOLS[0], changed)


def test_big_integers_go_beyond_what_a_double_can_hold() -> None:
    big = values.odd_value(TOOLS[0], TOOLS[0].sample_output, "big_integers")["total"]
    assert big == 2**53 + 1
    assert float(big) != big


def test_extra_adds_a_property_only_where_the_schema_is_open() -> None:
    assert "x_added" in values.odd_value(TOOLS[0], TOOLS[0].sample_output, "extra")
    closed = tool_of({"properties": {"id": {"type": "string"}}, "additionalProperties": False})
    assert values.odd_value(closed, closed.sample_output, "extra") == closed.sample_output


def test_odd_values_leave_formats_alone() -> None:
    for name in ("empty_strings", "unicode"):
        assert values.odd_value(TOOLS[0], TOOLS[0].sample_output, name)["created"] == "2026-10-05"
