"""Two schemas compared: what drift has words for can be played, all else is told in a sentence, and nothing is lost."""

from __future__ import annotations

import copy
import json

import pytest
from catalogues import DATE, INTEGER, NUMBER, OBJECT, STRING, Json, closed, played, prop, told, tool

from fuzzmcp.core.catalogue.diff import diff, scripts_of
from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.drift import apply

# -- the words ---------------------------------------------------------------------------------------------------------

PLAYABLE: list[tuple[Json, Json, list[str]]] = [
    (closed({"order_id": STRING}), closed({"orderId": STRING}), ["order_id>orderId"]),
    (closed({"total": NUMBER}), closed({"total": STRING}), ["total:string"]),
    (closed({"id": STRING, "status": INTEGER}), closed({"id": STRING}), ["-status"]),
    (prop(STRING), prop({"type": ["string", "null"]}), ["p=null"]),
    (prop(STRING), prop({"anyOf": [STRING, {"type": "null"}]}), ["p=null"]),
    (prop({"$ref": "#/$defs/a", "$defs": {}}, **{"$defs": {"a": STRING}}), prop(INTEGER), ["p:integer"]),
    (prop(STRING), closed({"p": STRING, "note": {**STRING, "examples": ["x"]}}), ['+note="x"']),
    (prop(STRING), closed({"data": prop(STRING)}), ["^data"]),
    (prop(STRING), closed({"data": prop(STRING), "page": INTEGER}), ["^data", "+page=40"]),
    (prop(STRING), prop(closed({"value": STRING})), ["^p/value"]),
    (prop(DATE), prop({**STRING, "format": "date-time"}), ['p~"2026-01-31T12:00:00Z"']),
    (prop(DATE), prop(STRING), ['p~"p-1"']),
    (prop({"enum": ["a", "b"]}), prop({"enum": ["b", "a", "c"]}), ['p="c"']),
    (prop({"enum": ["a"]}), prop(STRING), ['p="p-1"']),
    (prop(INTEGER), prop(NUMBER), ["p=40.5"]),
    (prop(STRING), prop({"type": ["string", "integer"]}), ["p:integer"]),
    (prop(STRING), prop({"anyOf": [INTEGER, STRING]}), ["p:integer"]),
    (prop({**NUMBER, "examples": [1.5]}), prop(INTEGER), ["p:integer"]),
    (prop(STRING), closed({"p": STRING}, ()), ["-p"]),
    (prop(STRING), prop({"type": "null"}), ["p=null"]),
    (prop({"type": "array", "items": STRING}), prop({"type": "array", "items": INTEGER}), ["p/0:integer"]),
    (
        prop({"type": "array", "prefixItems": [STRING, INTEGER], "items": False}),
        prop({"type": "array", "prefixItems": [STRING, STRING], "items": False}),
        ["p/1:string"],
    ),
    (
        closed({"items": {"type": "array", "items": closed({"price": NUMBER})}}),
        closed({"items": {"type": "array", "items": closed({"price": STRING})}}),
        ["items/0/price:string"],
    ),
    (closed({"old_name": prop(STRING)}), closed({"oldName": prop(INTEGER)}), ["old_name>oldName", "oldName/p:integer"]),
    (
        prop({"anyOf": [prop(STRING), INTEGER]}),
        prop({"anyOf": [prop(NUMBER), INTEGER]}),
        ["p/p:number"],
    ),
]


@pytest.mark.parametrize(("before", "after", "words"), PLAYABLE, ids=[";".join(words) for *_, words in PLAYABLE])
def test_what_drift_has_words_for_is_told_in_them_and_can_be_played(
    before: Json, after: Json, words: list[str]
) -> None:
    old, new = tool(before), tool(after)
    assert told(old, new) == words
    assert played(old, new) == [f"drift({';'.join(words)})"]
    (drift,) = (script.steps[0].answer.value for _, script in scripts_of(diff((old,), (new,))))
    assert isinstance(drift, tuple)
    assert new.accepts_output(apply(drift, old.sample_output))


PLAIN: list[tuple[Json, Json, list[str]]] = [
    (prop({**NUMBER, "minimum": 0}), prop({**NUMBER, "minimum": 50}), ["p: minimum 0 is now 50"]),
    (prop(STRING), prop({**STRING, "pattern": "^p"}), ['p: pattern "^p" is new']),
    (prop({**STRING, "maxLength": 9}), prop(STRING), ["p: maxLength 9 is gone"]),
    (prop({"enum": ["a", "b"]}), prop({"enum": ["a"]}), ['p: no longer one of "b"']),
    (prop(STRING), prop({"enum": ["p-1"]}), ['p: only one of "p-1" now']),
    (prop({"type": ["string", "null"]}), prop(STRING), ["p: no longer null"]),
    (prop({"type": ["string", "integer"]}), prop(STRING), ["p: no longer integer"]),
    (prop(True), prop(STRING), ["p: only string now"]),
    (closed({"p": STRING}, ()), prop(STRING), ["p: required now"]),
    (prop(STRING), {**prop(STRING), "additionalProperties": True}, ["additionalProperties false is now true"]),
    (prop(STRING), prop({**STRING, "description": "An id."}), ['p: description "An id." is new']),
    (prop({"anyOf": [INTEGER, prop(STRING)]}), prop({"oneOf": [INTEGER, prop(STRING)]}), ["p: anyOf", "p: oneOf"]),
    (
        prop({"anyOf": [INTEGER, prop(STRING)]}),
        prop({"anyOf": [prop(STRING), INTEGER]}),
        ["the schema says it in another order"],
    ),
    (
        {"type": "object", "patternProperties": {"^x": STRING}},
        {"type": "object", "patternProperties": {"^x": INTEGER}},
        ["patternProperties"],
    ),
    ({"type": "object", "default": {}}, {"type": "object", "default": {"a": 1}}, ["default {} is now"]),
]


@pytest.mark.parametrize(("before", "after", "words"), PLAIN, ids=[words[0] for *_, words in PLAIN])
def test_what_no_edit_can_show_is_told_in_a_sentence(before: Json, after: Json, words: list[str]) -> None:
    found = diff((tool(before),), (tool(after),))
    assert [each.words.startswith(start) for each, start in zip(found, words, strict=True)] == [True] * len(words)
    assert [each.edit for each in found] == [None] * len(words)
    assert scripts_of(found) == ()


SAME: list[tuple[Json, Json]] = [
    (prop({"$ref": "#/$defs/a"}, **{"$defs": {"a": STRING}}), prop(STRING)),
    (
        prop({"$ref": "#/$defs/a"}, **{"$defs": {"a": STRING}}),
        prop({"$ref": "#here"}, **{"$defs": {"b": {"$anchor": "here", **STRING}}}),
    ),
    (prop({"type": ["string", "null"]}), prop({"anyOf": [{"type": "null"}, STRING]})),
    (prop({"allOf": [STRING, {"minLength": 1}]}), prop({**STRING, "minLength": 1})),
    (prop({"const": "a"}), prop({"enum": ["a"], "type": "string"})),
    (prop({**STRING, "title": "P", "examples": ["a"], "$comment": "!"}), prop(STRING)),
    (closed({"a": STRING, "b": INTEGER}), closed({"b": INTEGER, "a": STRING})),
    (prop({"type": ["string", "integer"]}), prop({"anyOf": [INTEGER, STRING]})),
    (prop({"type": "array"}), prop({"type": "array", "items": True})),
]


@pytest.mark.parametrize(("before", "after"), SAME, ids=[json.dumps(after) for _, after in SAME])
def test_the_same_said_in_other_words_is_no_difference(before: Json, after: Json) -> None:
    old, new = tool(before, before), tool(after, after)
    assert diff((old,), (new,)) == diff((new,), (old,)) == ()


def test_what_is_allowed_but_not_demanded_is_marked() -> None:
    old = tool(closed({"a": STRING, "b": STRING, "c": STRING}))
    wider: Json = {"type": ["string", "integer"]}
    new = tool(closed({"a": wider, "b": INTEGER, "c": STRING, "d": STRING}, ("a", "b")))
    assert [(each.words, each.may) for each in diff((old,), (new,))] == [
        ("a:integer", True),
        ("b:integer", False),
        ("-c", True),
        ('+d="d-1"', True),
    ]


def test_an_alternative_that_the_sample_does_not_show_is_told_and_not_played() -> None:
    old, new = (
        tool(prop({"anyOf": [INTEGER, DATE]})),
        tool(prop({"anyOf": [INTEGER, {"type": "boolean", "default": True}]})),
    )
    (found,) = diff((old,), (new,))
    assert (found.words, found.edit, found.note) == ("p:boolean", None, "no value at hand to play it")


def test_nothing_is_ever_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **_: asked.append(given))
    away = Tool({"name": "t", "inputSchema": OBJECT, "outputSchema": prop({"$ref": "http://127.0.0.1:9/a.json"})})
    assert told(tool(prop(STRING)), away) == ["p:number", 'p: $ref "http://127.0.0.1:9/a.json" is new']
    assert asked == []


def tree(value: Json) -> Json:
    node = closed({"value": value, "left": {"$ref": "#/$defs/node"}}, ("value",))
    return closed({"root": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}})


def test_recursive_schemas_are_compared_as_deep_as_their_sample_goes() -> None:
    old, new = tool(tree(STRING)), tool(tree(INTEGER))
    assert diff((old,), (tool(tree(STRING)),)) == ()
    words = told(old, new)
    assert words[0] == "root/left/left/left/value:integer"
    assert words[-1] == "root/value:integer"
    assert len(words) == 4
    assert len(played(old, new)) == 1
    unrolled = tree(STRING)
    unrolled["$defs"]["node"]["properties"]["left"] = copy.deepcopy(unrolled["$defs"]["node"])
    assert diff((old,), (tool(unrolled),)) == diff((tool(unrolled),), (old,)) == ()


def test_a_reference_that_only_leads_on_to_itself_is_compared_as_it_stands() -> None:
    looped = {"$defs": {"a": {"anyOf": [STRING, {"$ref": "#/$defs/a"}]}}}
    old, new = tool(prop({"$ref": "#/$defs/a"}, **looped)), tool(prop(STRING))
    assert diff((old,), (old,)) == ()
    assert told(old, new)


def test_references_that_multiply_do_not_make_it_endless() -> None:
    def doubling(leaf: Json) -> Json:
        part = {
            f"d{i}": closed({"a": {"$ref": f"#/$defs/d{i + 1}"}, "b": {"$ref": f"#/$defs/d{i + 1}"}}, ())
            for i in range(40)
        }
        return closed({"p": {"$ref": "#/$defs/d0"}}, **{"$defs": {**part, "d40": leaf}})

    old = tool(doubling(STRING))
    assert diff((old,), (tool(doubling(STRING)),)) == ()
    assert 0 < len(diff((old,), (tool(doubling(INTEGER)),))) < 100


def test_nesting_beyond_reason_is_told_and_never_an_exception() -> None:
    def deep(leaf: Json) -> Json:
        for _ in range(100):
            leaf = {"type": "array", "items": leaf}
        return prop(leaf)

    assert told(tool(deep(STRING)), tool(deep(INTEGER))) == [f"p/{'/'.join(['0'] * 100)}:integer"]
    old, new = (Tool({"name": "t", "inputSchema": OBJECT, "outputSchema": prop(STRING)}) for _ in range(2))
    part: Json = STRING
    for _ in range(5_000):
        part = {"allOf": [part]}
    endless = Tool({**new.definition, "outputSchema": prop(part)})
    assert told(old, endless) == ["nested too deeply to be compared"]


# -- renames -----------------------------------------------------------------------------------------------------------


def test_a_gone_and_a_new_property_of_one_schema_are_a_rename_unless_there_is_a_choice() -> None:
    assert told(tool(closed({"ref": DATE, "x": STRING})), tool(closed({"day": DATE, "x": STRING}))) == ["ref>day"]
    choice = told(tool(closed({"ref": DATE})), tool(closed({"day": DATE, "due": DATE})))
    assert choice == ['+day="2026-01-31"', '+due="2026-01-31"', "-ref"]
    assert told(tool(closed({"a": STRING})), tool(closed({"b": INTEGER}))) == ["-a", "+b=40"]
    assert told(tool(closed({"a": STRING}, ())), tool(closed({"b": STRING}))) == ["-a", '+b="b-1"']


def test_two_gone_properties_that_could_both_be_the_new_one_are_gone() -> None:
    assert told(tool(closed({"a": DATE, "b": DATE})), tool(closed({"c": DATE}))) == ["-a", "-b", '+c="2026-01-31"']


def test_the_case_convention_decides_before_the_schema_does() -> None:
    old = tool(closed({"order_id": STRING, "user_id": STRING}))
    assert told(old, tool(closed({"userId": STRING, "orderId": STRING}))) == ["order_id>orderId", "user_id>userId"]
    assert told(old, tool(closed({"orderId": STRING, "OrderID": STRING}))) == [
        '+OrderID="OrderID-1"',
        '+orderId="orderId-1"',
        "-order_id",
        "-user_id",
    ]


def test_a_description_and_a_title_do_not_hide_a_rename() -> None:
    old = tool(closed({"ref": {**DATE, "title": "Ref", "description": "The day."}}))
    assert told(old, tool(closed({"day": {**DATE, "title": "Day"}}))) == [
        "ref>day",
        'day: description "The day." is gone',
    ]


def test_unions_that_multiply_do_not_make_it_endless() -> None:
    def doubling(leaf: Json) -> Json:
        part = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}, {"$ref": f"#/$defs/d{i + 1}"}]} for i in range(40)}
        return prop({"$ref": "#/$defs/d0"}, **{"$defs": {**part, "d40": leaf}})

    def unchecked(leaf: Json) -> Tool:
        return Tool({"name": "t", "inputSchema": OBJECT, "outputSchema": doubling(leaf)})

    old = unchecked(STRING)
    assert diff((old,), (unchecked(STRING),)) == ()
    assert diff((old,), (unchecked(INTEGER),)) != ()
