"""Cases and calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call, Case, CaseError, default_calls
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.script import Script

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.one_of(st.sampled_from(["get_order", "a.b/c-d", "my tool", "", 'q"', "x=1", "f(", "1"]), TEXTS)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
STARTS = st.one_of(st.none(), st.floats(0, 1e9), st.sampled_from([0.0, 4.999123, 1234567.5, 1e-7]))
CALLS = st.builds(Call, NAMES, st.dictionaries(NAMES, JSON, max_size=3), STARTS)


@given(CALLS)
def test_a_call_reads_back(call: Call) -> None:
    assert Call.parse(str(call)) == call
    assert hash(Call.parse(str(call))) == hash(call)


@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from([*'ab()=,@"[]{}1e.\\ \x00\ud800', "get_order(", "NaN"]), max_size=15).map("".join),
    )
)
@example("f(a=" + "[" * 50_000 + ")")
@example("f(a=NaN)")
@example('f(a="\\ud800")')
@example("f(a=1)@nan")
@example("f(a=1)@1e400")
@example("f(a=1)@" + "9" * 5_000)
@example("f(a=" + "9" * 5_000 + ")")
def test_any_text_is_a_call_or_a_case_error(text: str) -> None:
    try:
        call = Call.parse(text)
    except CaseError as caught:
        message = str(caught)
    else:
        assert Call.parse(str(call)) == call
        message = "call"
    assert message.startswith("call")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("get_order", "expected '('"),
        ("(a=1)", "expected TOOL"),
        ("f(a=)", "expected a JSON value"),
        ("f(a 1)", "expected '='"),
        ("f(a=1 b=2)", "expected ',' or ')'"),
        ("f(a=1,)", "expected name=JSON"),
        ("f(a=1", "expected ',' or ')'"),
        ("f()2", "expected '@SECONDS'"),
        ("f()@-1", "expected '@SECONDS'"),
    ],
)
def test_a_bad_call_says_what_was_expected(text: str, words: str) -> None:
    with pytest.raises(CaseError) as caught:
        Call.parse(text)
    assert words in str(caught.value)


def test_a_call_may_be_spaced_out() -> None:
    call = Call("get_order", {"order_id": "A1", "n": 2}, 0.5)
    assert Call.parse(' get_order ( order_id = "A1" , n = 2 ) @0.5 ') == call


def test_a_case_that_says_nothing_asks_the_first_tool_of_the_bundled_catalogue() -> None:
    case = Case()
    assert case.tools == crm()
    assert case.calls == default_calls(crm()) == (Call("get_order", {"order_id": "A1"}),)
    assert case.script == Script()
    assert case.inapplicable == ()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"protocol": "2025-11-26"}, "did you mean '2025-11-25'"),
        ({"transport": "telegraph"}, "one of memory"),
        ({"backend": "trioo"}, "did you mean 'trio'"),
        ({"calls": (Call("get_ordr"),)}, "did you mean 'get_order'"),
    ],
)
def test_a_case_that_cannot_run_is_an_error_with_a_suggestion(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(CaseError, match=words):
        Case(**wrong)


def test_each_part_of_the_script_that_the_protocol_cannot_carry_is_named() -> None:
    script = Script.parse("drift+ping,hang")
    assert Case(script=script).inapplicable == ()
    assert [reason.split()[0] for reason in Case(script=script, protocol="2025-03-26").inapplicable] == ["drift"]
    assert [reason.split()[0] for reason in Case(script=script, protocol="2026-07-28").inapplicable] == ["ping"]


def test_tools_are_found_by_name() -> None:
    assert Case().tool("refund_order") is crm()[1]
    assert Case().tool("nobody") is None


@given(CALLS)
def test_cases_hash_and_compare_by_value(call: Call) -> None:
    one, other = (Case(calls=(Call("get_order", each.arguments),)) for each in (call, Call.parse(str(call))))
    assert one == other
    assert hash(one) == hash(other)


def test_a_case_is_shown_as_one_would_write_it() -> None:
    assert repr(case_of("429cap")) == "case_of('429cap')"
    plain = case_of("hang", calls=['get_order(order_id="7")@1'], protocol="2025-06-18", backend="trio")
    assert (
        repr(plain) == """case_of('hang', calls=['get_order(order_id="7")@1'], protocol='2025-06-18', backend='trio')"""
    )
    assert repr(replace(case_of("ok"), schedule=3)) == "replace(case_of('ok'), schedule=3)"
    assert (
        repr(case_of("ok", tools=[{"name": "echo", "inputSchema": {"type": "object"}}]))
        == "case_of('ok', tools=<echo>)"
    )
