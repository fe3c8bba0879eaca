"""Drift: edits are text, pure, total, and in an order worth shrinking to."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.drift import (
    TYPES,
    DriftError,
    Edit,
    apply,
    candidates,
    canonical_drift,
    canonical_json,
    other_case,
    parse_drift,
    retyped,
    text_of,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.one_of(st.sampled_from(["a", "b", "order_id", "orderId", "0", "1", "a/b", "", "-", "x;y", 'q"', "é"]), TEXTS)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=5,
)
OBJECTS = st.dictionaries(NAMES, JSON, min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
LITERALS = JSON.map(canonical_json)
EDITS = st.one_of(
    st.builds(Edit, st.just("rename"), PATHS, NAMES),
    st.builds(Edit, st.just("retype"), PATHS, st.sampled_from(TYPES)),
    st.builds(Edit, st.sampled_from(["drop", "wrap"]), PATHS),
    st.builds(Edit, st.sampled_from(["replace", "add"]), PATHS, LITERALS),
    st.builds(Edit, st.just("reformat"), PATHS, TEXTS.map(canonical_json)),
)
DRIFTS = st.lists(EDITS, min_size=1, max_size=3).map(tuple)


@given(DRIFTS)
def test_a_drift_reads_back(drift: tuple[Edit, ...]) -> None:
    assert parse_drift(text_of(drift)) == drift


@given(
    st.one_of(st.text(), st.lists(st.sampled_from(list('ab0/":;=~>+-^{}[]1,\\ \x00\ud800')), max_size=12).map("".join))
)
@example('"\ud800">x')
@example('"\\ud800">x')
@example("a=" + "[" * 50_000)
@example("a=NaN")
@example("a=1e999")
@example("a=" + "9" * 5_000)
def test_any_text_is_a_drift_or_a_drift_error_within_it(text: str) -> None:
    try:
        drift = parse_drift(text)
    except DriftError as caught:
        position = caught.position
    else:
        assert parse_drift(text_of(drift)) == drift
        position = 0
    assert 0 <= position <= len(text)


@given(DRIFTS, JSON)
def test_edits_are_total_and_leave_the_value_as_it_was(drift: tuple[Edit, ...], value: Any) -> None:
    before = copy.deepcopy(value)
    canonical_json(apply(drift, value))
    assert value == before


@given(st.data(), OBJECTS)
def test_edits_that_hit_are_total_and_leave_the_value_as_it_was(data: st.DataObject, value: Any) -> None:
    known = candidates(value)
    retypes = [Edit("retype", edit.path, kind) for edit in known if edit.op == "retype" for kind in TYPES]
    drift = tuple(data.draw(st.lists(st.sampled_from([*known, *retypes]), min_size=1, max_size=3)))
    before = copy.deepcopy(value)
    canonical_json(apply(drift, value))
    assert value == before


@given(EDITS, JSON)
def test_an_edit_whose_path_is_gone_does_nothing(edit: Edit, value: Any) -> None:
    gone = Edit(edit.op, ("nobody", "has", "this", *edit.path), edit.argument)
    assert apply((gone,), value) == value


@pytest.mark.parametrize(
    ("drift", "value", "result"),
    [
        ("id>ID", {"id": 1, "x": 2}, {"ID": 1, "x": 2}),
        ("id>x", {"id": 1, "x": 2}, {"id": 1, "x": 2}),
        ("id>ID;ID:string", {"id": 1}, {"ID": "1"}),
        ("items/0/price:string", {"items": [{"price": 3}]}, {"items": [{"price": "3"}]}),
        ("items/1/price:string", {"items": [{"price": 3}]}, {"items": [{"price": 3}]}),
        ("items/0>x", {"items": [3]}, {"items": [3]}),
        ("-items/0", {"items": [3]}, {"items": []}),
        ("+x=1", {"x": 2}, {"x": 2}),
        ("+x=1", [2], [2]),
        ("^data", {"x": 2}, {"data": {"x": 2}}),
        ("^a/data", {"a": 1}, {"a": {"data": 1}}),
        ('a~"x"', {"a": 1}, {"a": 1}),
        ('a~"x"', {"a": "b"}, {"a": "x"}),
        ('"a/b"=null', {"a/b": 1}, {"a/b": None}),
    ],
)
def test_edits_do_what_they_say(drift: str, value: Any, result: Any) -> None:
    assert apply(parse_drift(drift), value) == result


@given(OBJECTS)
def test_every_candidate_changes_the_value(value: Any) -> None:
    for edit in candidates(value):
        assert json.dumps(apply((edit,), value)) != json.dumps(value), str(edit)


@given(OBJECTS)
def test_candidates_are_sorted_and_unique_with_the_wrap_at_the_end(value: Any) -> None:
    *known, wrap = candidates(value)
    assert wrap == Edit("wrap", ("data",))
    assert known == sorted(known, key=lambda edit: edit.order)
    assert len({*known, wrap}) == len(known) + 1


@given(OBJECTS)
def test_candidates_read_back(value: Any) -> None:
    assert [parse_drift(str(edit)) for edit in candidates(value)] == [(edit,) for edit in candidates(value)]


def test_candidates_depend_on_formats_but_not_on_the_order_of_properties() -> None:
    tool = crm()[0]
    backwards = dict(reversed(tool.sample_output.items()))
    assert candidates(backwards, tool.formats) == candidates(tool.sample_output, tool.formats)
    reformats = [str(edit) for edit in candidates(tool.sample_output, tool.formats) if edit.op == "reformat"]
    assert reformats == ['created~"01/02/2000"']


@given(OBJECTS, st.lists(NAMES, max_size=3))
def test_the_canonical_drift_reads_back_and_changes_the_value(value: Any, required: list[str]) -> None:
    drift = canonical_drift(value, required)
    assert parse_drift(text_of(drift)) == drift
    assert other_case(drift[0].path[0]) in value or json.dumps(apply(drift, value)) != json.dumps(value)


def test_the_canonical_drift_of_what_is_no_object_wraps_it() -> None:
    assert text_of(canonical_drift([1], [])) == "^data"
    assert text_of(canonical_drift({}, [])) == "^data"


@given(JSON, st.sampled_from(TYPES))
def test_a_retyped_value_has_the_other_type(value: Any, kind: str) -> None:
    python = {
        "string": str,
        "number": (int, float),
        "integer": int,
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }
    changed = retyped(value, kind)
    assert isinstance(changed, python[kind])
    assert isinstance(changed, bool) == (kind == "boolean")


def test_what_utf_8_cannot_carry_is_still_retyped() -> None:
    assert retyped(["\ud800"], "string") == '["\\ud800"]'


@given(TEXTS)
def test_the_other_case_is_another_name_wherever_there_is_one(name: str) -> None:
    if name.isascii():
        assert other_case(name) != name


def test_the_position_of_an_error_is_where_reading_stopped() -> None:
    with pytest.raises(DriftError, match="unknown type 'text'") as caught:
        parse_drift("-a;b:text")
    assert caught.value.position == 5
