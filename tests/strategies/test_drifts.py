"""Drifts: short, effective, and shrunk to one edit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import Tool, crm, load
from fuzzmcp.core.drift import Drift, apply, candidates, parse_drift, text_of
from fuzzmcp.strategies import drifts

from .searching import smallest

TOOLS = pytest.mark.parametrize("tool", crm(), ids=lambda tool: tool.name)


@TOOLS
def test_a_drift_is_one_to_three_candidates_in_order_and_each_makes_a_difference(tool: Tool) -> None:
    known = candidates(tool.sample_output, tool.formats)

    @settings(max_examples=60)
    @given(drifts(tool))
    def check(drift: Drift) -> None:
        assert 1 <= len(drift) <= 3
        places = [known.index(edit) for edit in drift]
        assert places == sorted(set(places))
        assert parse_drift(text_of(drift)) == drift
        result = json.dumps(apply(drift, tool.sample_output))
        for i in range(len(drift)):
            assert json.dumps(apply(drift[:i] + drift[i + 1 :], tool.sample_output)) != result

    check()


@pytest.mark.parametrize("seed", range(5))
def test_a_visible_drift_of_an_order_shrinks_to_the_same_one_edit(seed: int) -> None:
    tool = crm()[0]
    found = smallest(drifts(tool), lambda drift: not tool.accepts_output(apply(drift, tool.sample_output)), seed)
    assert text_of(found) == "created>Created"


@pytest.mark.parametrize("seed", range(2))
def test_a_drift_deep_inside_shrinks_to_that_one_edit(seed: int) -> None:
    tool = crm()[3]

    def text_price(drift: Drift) -> bool:
        lines = str(apply(drift, tool.sample_output))
        return "'price': '99.5'" in lines

    found = smallest(drifts(tool), text_price, seed)
    assert text_of(found) == "invoices/0/lines/0/price:string"


@pytest.mark.parametrize("seed", range(2))
def test_two_edits_that_are_both_needed_shrink_to_those_two(seed: int) -> None:
    tool = crm()[0]

    def both(drift: Drift) -> bool:
        changed = apply(drift, tool.sample_output)
        return isinstance(changed, dict) and "status" not in changed and isinstance(changed.get("total"), str)

    found = smallest(drifts(tool), both, seed)
    assert text_of(found) == "status>Status;total:string"


def test_a_tool_without_an_output_schema_does_not_drift() -> None:
    plain = load([{"name": "t", "inputSchema": {"type": "object"}}])[0]
    assert smallest(drifts(plain) | st.just("none")) == "none"
