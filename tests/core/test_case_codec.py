"""A case is written and read in one place, and nothing of it is lost on the way."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call, Case, CaseError, keywords_of
from fuzzmcp.core.case_codec import FIELDS, KEYS, OPTIONS, SETTINGS, from_data, key, options_of, to_data
from fuzzmcp.core.catalogue.tools import crm, load
from fuzzmcp.core.protocol import TRANSPORTS, VERSIONS
from fuzzmcp.strategies import cases

SLOW = settings(suppress_health_check=list(HealthCheck))
ECHO = [{"name": "echo", "inputSchema": {"type": "object"}}]


@st.composite
def any_case(draw: st.DrawFn, tools: Any = None) -> Case:
    return draw(
        cases(
            tools,
            protocol=draw(st.sampled_from(VERSIONS)),
            transport=draw(st.sampled_from(TRANSPORTS)),
            backend=draw(st.sampled_from(["asyncio", "trio"])),
        )
    )


def test_every_field_of_a_case_has_its_row() -> None:
    """A new field of `Case` is written everywhere once it has a row, and nowhere before."""
    assert sorted(field.name for field in FIELDS) == sorted(field.name for field in fields(Case))


def test_every_row_has_a_form_in_each_format_or_follows_from_another() -> None:
    for field in FIELDS:
        assert field.name == "changed" or field.key is not None
        assert field.name in ("script", "tools", "changed") or field.option is not None
        assert field.name in ("tools", "changed") or field.to_key is not None


@SLOW
@given(st.one_of(any_case(), any_case(load(ECHO))))
def test_a_case_is_read_as_it_is_written(case: Case) -> None:
    written = json.loads(json.dumps(to_data(case)))
    assert vars(from_data(written)) == vars(case)
    everything = json.loads(json.dumps(to_data(case, always=[field.name for field in FIELDS])))
    assert vars(from_data(everything)) == vars(case)


@SLOW
@given(any_case())
def test_keywords_make_the_same_case(case: Case) -> None:
    plain, more = keywords_of(case)
    assert vars(replace(case_of(str(case.script), **plain), **more)) == vars(case)
    assert eval(repr(case), {"case_of": case_of, "replace": replace}) == case


@SLOW
@given(any_case(), any_case())
def test_the_keys_of_two_cases_are_equal_only_when_the_cases_are(one: Case, other: Case) -> None:
    assert key(one) == key(from_data(to_data(one)))
    assert one == other or key(one) != key(other)


def test_what_has_its_default_is_not_written() -> None:
    case = case_of("429")
    assert to_data(case) == {"faults": "429"}
    assert (options_of(case), keywords_of(case)) == ([], ({}, {}))


def test_each_field_can_be_written_always_or_left_out() -> None:
    case = case_of("429", calls=["get_order()"], backend="trio")
    assert list(to_data(case_of("429"), always=SETTINGS)) == ["faults", *SETTINGS]
    assert to_data(case, without=["calls"]) == {"faults": "429", "backend": "trio"}
    assert options_of(case, without=["calls"]) == ["--backend", "trio"]
    assert options_of(case_of("429"), always=["calls"]) == ["--call", 'get_order(order_id="A1")']


def test_what_the_data_leaves_out_is_that_of_the_base() -> None:
    base = case_of("hang", protocol="2025-06-18", tools=ECHO, calls=["echo(a=1)"])
    assert from_data({"faults": "list_changed"}, base) == case_of(
        "list_changed", protocol="2025-06-18", tools=ECHO, calls=["echo(a=1)"]
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "faults: expected a text, found nothing"),
        ({"faults": "429", "backend": "curio"}, "backend: unknown backend"),
        ({"faults": "429", "calls": [{"tool": "get_ordr"}]}, "calls: unknown tool 'get_ordr'; did you mean"),
        ({"faults": "429", "calls": [{"tool": 3}]}, r"calls\[0\].tool: expected a text, found 3"),
        ({"faults": "429", "outputs": {"get_order": "{"}}, "outputs.get_order: not JSON"),
        ({"faults": "429", "schedule": -1}, r"schedule: expected a whole number from 0 to 2\*\*63, found -1"),
        ({"faults": "429", "tools": [{}]}, "tools: tools: tools/0: a tool is an object with a 'name'"),
        ({"faults": "429", "scedule": 1}, "scedule: unknown key; did you mean 'schedule'"),
    ],
)
def test_data_that_is_no_case_is_told_with_its_place(data: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        from_data(data)


def test_the_words_of_each_format_are_those_that_they_always_were() -> None:
    assert KEYS == ("faults", "protocol", "transport", "backend", "calls", "schedule", "outputs")
    assert list(OPTIONS.values()) == ["--protocol", "--transport", "--backend", "--call", "--schedule", "--output"]
    assert SETTINGS == {"protocol": "2025-11-25", "transport": "memory", "backend": "asyncio"}
    case = replace(
        case_of("429", calls=[Call("echo", {}, 1.0)], tools=ECHO, protocol="2025-06-18", backend="trio"),
        schedule=7,
        outputs={"echo": {}},
    )
    assert repr(case) == (
        "replace(case_of('429', calls=['echo()@1'], tools=<echo>, protocol='2025-06-18', backend='trio'), "
        "outputs={'echo': {}}, schedule=7)"
    )
    assert " ".join(options_of(case)) == (
        "--call echo()@1 --protocol 2025-06-18 --backend trio --schedule 7 --output echo={}"
    )
    assert list(to_data(case)) == ["faults", "protocol", "backend", "calls", "schedule", "outputs", "tools"]
    assert crm() == from_data({"faults": "429"}).tools
