"""Data that anybody may have written: what is wrong is said in one short line that names the place, and nothing else
ever happens, in whichever of the three kinds of file it stands."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from report.samples import finding_of, report_with

from fuzzmcp.core.config import CONTRACT, KEYS, ConfigError, find, shown
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.toml import parsed
from fuzzmcp.core.validation import DEEPEST, Node, Source, brief, dotted
from fuzzmcp.report.load import ReportError, from_json, loads
from fuzzmcp.search.corpus import CaseFileError, parse, text_of


class Refused(Exception):
    """What the values of these tests complain with."""


SOURCE = Source(lambda way, message: Refused(f"{dotted(way, '$')}: {message}"))


def refused(read: Callable[[Node], object], value: Any) -> str:
    with pytest.raises(Refused) as caught:
        read(Node(value, SOURCE))
    return str(caught.value)


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (Node.text, 3, "$: expected a text, found 3"),
        (lambda node: node["a"].text(), {}, "$.a: expected a text, found nothing"),
        (lambda node: node["a"]["b"].text(), {"a": None}, "$.a: expected a table, found null"),
        (lambda node: node.text(3), "four", "$: expected at most 3 characters, found 4"),
        (Node.texts, ["a", ["b", ["c", ["d"]]]], "$[1]: expected a text, found ['b', ['c', […]]]"),
        (lambda node: node.items(most=1), [1, 2], "$: expected at most 1 elements, found 2"),
        (Node.flag, 1, "$: expected true or false, found 1"),
        (Node.whole, True, "$: expected a whole number from 0, found true"),
        (Node.whole, 10**5000, "$: expected a whole number from 0, found a number of thousands of digits"),
        (lambda node: node.whole(1, 3), 4, "$: expected a whole number from 1, found 4"),
        (lambda node: node.number("seconds", 0, 1), float("nan"), "$: expected seconds, found nan"),
        (lambda node: node.one_of("color", ("red", "")), "rad", "$: unknown color 'rad'; did you mean 'red'?"),
        (lambda node: node.one_of("color", ("red", "")), "?", "$: unknown color '?'; one of red, ''"),
        (lambda node: node.one_of("color", ("red", "")), ["red"], "$: expected one of red, '', found ['red']"),
        (lambda node: node.known(("name",)), {"nome": 1}, "$.nome: unknown key; did you mean 'name'?"),
        (lambda node: node.known(("name",)), {"?": 1}, '$."?": unknown key: one of name'),
        (lambda node: node.version(1), 2, "$: expected at most 1, found 2: a newer fuzzmcp wrote this"),
        (lambda node: node.parsed(int, ValueError), "x", "$: invalid literal for int() with base 10: 'x'"),
        (lambda node: node.parsed(int, ValueError), 3, "$: expected a text, found 3"),
        (Node.json, {"a": [1, date(2026, 1, 2)]}, "$.a[1]: 2026-01-02 is not JSON; write it in quotes"),
        (Node.json, {"a": float("inf"), "b": float("nan")}, "$.a: inf is not JSON"),
        (Node.json, {"\ud800": 1}, "$.\"\\ud800\": '\\ud800' is not JSON: half of a character"),
        (lambda node: node["a"].anything(), {}, "$.a: expected a value, found nothing"),
    ],
    ids=itertools.count(),
)
def test_a_wrong_value_is_told_with_its_place_and_what_was_expected(
    read: Callable[[Node], object], value: Any, message: str
) -> None:
    assert refused(read, value) == message


def test_a_right_value_is_what_it_was() -> None:
    top = Node({"word": "a", "number": 0.5, "flag": False, "list": [1, None], "null": None}, SOURCE)
    assert (top["word"].text(), top["number"].number("", 0, 1), top["flag"].flag()) == ("a", 0.5, False)
    assert [node.or_none(Node.whole) for node in top["list"].items()] == [1, None]
    assert (top.optional("word", Node.text, "b"), top.optional("gone", Node.text, "b")) == ("a", "b")
    assert top.json() is top.anything() is top.value


@pytest.mark.parametrize("read", [Node.json, Node.anything])
def test_a_value_may_be_nested_to_a_limit_and_no_further(read: Callable[[Node], object]) -> None:
    value: Any = 1
    for level in range(100_000):
        value = [value] if level % 2 else {"a": value}
        if level == DEEPEST - 1:
            read(Node(value, SOURCE))
    assert refused(read, value) == f"$: nested more than {DEEPEST} deep"
    assert refused(Node.text, value) == "$: expected a text, found [{…}]"


@given(st.text(), st.integers(2, 80))
def test_any_text_is_shown_on_one_harmless_line_of_a_limited_length(text: str, limit: int) -> None:
    shown = brief(text, limit)
    assert len(shown) <= limit
    assert shown.isprintable()
    assert shown == text or not text.isprintable() or len(text) > limit


# -- files -------------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["", "a b", "tool", "arguments", "at", "name", "é\n", *KEYS, *CONTRACT]) | st.text(max_size=4)
HUGE = "stands for an integer of thousands of digits"
ODD = [0, -1, 1.5, 2**70, True, "", "x", "\x1b[2J\n", '{"a": null}', '{"a": "\\ud800"}']


def odd(*more: Any) -> st.SearchStrategy[Any]:
    """Values that a reader does not look for, some of them deep."""
    scalars = st.sampled_from([*ODD, *more]) | st.text(max_size=5) | st.integers() | st.floats()
    shallow = st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2), max_leaves=4
    )
    return shallow | st.builds(nested, shallow, st.sampled_from([DEEPEST - 2, DEEPEST + 2, 250]))


def nested(value: Any, levels: int) -> Any:
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*way, key)
        yield from places(member, (*way, key))


@st.composite
def changed(draw: st.DrawFn, make: Callable[[], Any], values: st.SearchStrategy[Any]) -> Any:
    """Valid data with something else in some of its places, without some, or with something new beside."""
    data = copy.deepcopy(make())
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(places(data)) or [("x",)]))
        place = data
        for key in way:
            place = place[key]
        change = draw(st.sampled_from(["other", "other", "gone", "new"]))
        if change == "gone":
            place.pop(last, None) if isinstance(place, dict) else place.pop(last)
        elif change == "new" and isinstance(place, dict):
            place[draw(NAMES)] = draw(values)
        else:
            place[last] = draw(values)
    return data


def toml(value: Any) -> str:
    """TOML text, which can say integers of thousands of digits."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key(name)} = {toml(item)}' for name, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return "0x" + "f" * 5_000 if value == HUGE else str(tomlkit.item(value).as_string())


def key(name: str) -> str:
    return tomlkit.key([name]).as_string()


def document(data: dict[str, Any]) -> str:
    return "".join(f"{key(name)} = {toml(value)}\n" for name, value in data.items())


def said(error: Exception, start: str) -> None:
    """A complaint is one short line that begins with the place."""
    assert str(error).startswith(start)
    assert str(error).isprintable()
    assert len(str(error)) < 700


CONFIG = {
    "client": "a:b",
    "calls": ["get_order()"],
    "runs": 3,
    "seed": "commit",
    "time": "5m",
    "protocol": "2025-06-18",
    "contract": {"deadline": 60, "accept": ["A"], "max_requests_per_tool": {"a": 1}, "jitter": True},
}
ECHO = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "outputSchema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}},
    "annotations": {"readOnlyHint": True},
}
CASE = {
    "version": 1,
    "check": "spend_cap",
    "faults": "429cap,ok",
    "calls": [{"tool": "echo", "arguments": {"text": "A1"}, "at": 0.5}],
    "outputs": {"echo": {"n": 3}},
    "schedule": 3,
    "note": "sent again",
    "tool": [ECHO],
}


@cache
def report() -> Any:
    return json.loads(report_with(finding_of("429cap", "spend_cap")).dumps())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(changed(lambda: CONFIG, odd(date(2026, 1, 2), HUGE)))
@example(CONFIG)
def test_any_table_is_a_configuration_or_a_line_about_one_of_its_keys(tmp_path: Path, data: dict[str, Any]) -> None:
    file = tmp_path / "fuzzmcp.toml"
    file.write_text(document(data), "utf-8")
    try:
        found = find(tmp_path)
    except ConfigError as error:
        said(error, f"{shown(file)}, line ")
    else:
        Contract(**found.contract)
        assert str(found)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(changed(lambda: CASE, odd(date(2026, 1, 2), HUGE)))
@example(CASE)
def test_any_table_is_a_case_that_can_be_written_again_or_a_line_about_one_of_its_keys(data: dict[str, Any]) -> None:
    text = document(data)
    parsed(text.encode())  # else the test says nothing
    try:
        found = parse(text)
    except CaseFileError as error:
        said(error, "case: ")
    else:
        assert parse(text_of(found)).case == found.case
        assert [str(call) for call in found.case.calls]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(changed(report, odd(None, "\ud800")) | odd(None))
def test_any_data_is_a_report_that_can_be_written_again_or_a_line_about_one_of_its_places(data: Any) -> None:
    try:
        found = from_json(data)
    except ReportError as error:
        said(error, f"report: {error.path or 'no place'}: ")
    else:
        assert loads(found.dumps()).dumps() == found.dumps()
