"""Two catalogues compared: told in the words of drift, and whatever is played is what the new schema accepts."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from catalogues import DATE, INTEGER, NUMBER, STRING, Json, closed, played, prop, told, tool, unchecked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.diff import Difference, checks_of, diff, plays, scripts_of
from fuzzmcp.core.catalogue.tools import Tool, crm, evolved
from fuzzmcp.core.drift import apply, other_case
from fuzzmcp.core.script import Script

# -- tools, annotations, arguments -------------------------------------------------------------------------------------


def test_tools_that_are_gone_new_or_in_another_order() -> None:
    a, b, c = tool(name="a_b"), tool(name="b"), tool(name="aB")
    assert diff((a, b), (b, a)) == ()
    found = diff((a, b), (c, b))
    assert list(map(str, found)) == ["a_b: the tool is gone", "aB: the tool is new"]
    assert found[0].note == "perhaps it is aB now"
    assert scripts_of(found) == (("a_b", Script.parse("toolgone")),)
    assert checks_of(a, scripts_of(found)[0][1]) == ("error_channels", "no_pointless_retry")
    assert list(map(str, diff((b,), ()))) == ["b: the tool is gone"]
    assert list(map(str, diff((b,), (b, tool(name="b", title="B"))))) == ["b: the server lists two tools of this name"]


def test_an_output_schema_that_comes_or_goes() -> None:
    with_schema, without = tool(prop(STRING)), tool()
    (gone,) = diff((with_schema,), (without,))
    assert (gone.words, gone.fault) == ("the outputSchema is gone", "unstructured")
    assert scripts_of((gone,)) == (("t", Script.parse("unstructured")),)
    assert plays(Script.parse("unstructured"), gone)
    assert not plays(Script.parse("drift(-p)"), gone)
    (new,) = diff((without,), (with_schema,))
    assert (new.words, new.fault) == ("an outputSchema is new", "")
    assert scripts_of((new,)) == ()


def test_annotations_say_what_they_mean_for_retries() -> None:
    def noted(before: Json, after: Json) -> list[tuple[str, str]]:
        return [(each.words, each.note) for each in diff((tool(annotations=before),), (tool(annotations=after),))]

    again = "a client must not send it again by itself any more"
    assert noted({"readOnlyHint": True}, {"readOnlyHint": False}) == [("readOnlyHint true is now false", again)]
    assert noted({"idempotentHint": True}, {}) == [("idempotentHint true is now false", again)]
    assert noted({}, {"idempotentHint": True})[0][1] == "safe to send again now"
    assert noted({"destructiveHint": False}, {})[0][1] == "sending it again by itself can do more harm than before"
    assert noted({}, {"destructiveHint": True, "readOnlyHint": None}) == []
    assert noted({"title": "A"}, {"title": "B"}) == [('title "A" is now "B"', "")]
    assert told(tool(annotations={"readOnlyHint": True}), tool(annotations=None)) == ["readOnlyHint true is now false"]


def test_descriptions_and_whatever_else_a_definition_says() -> None:
    assert told(tool(description="a"), tool(description="b")) == ['another description: "b"']
    assert told(tool(description="a"), tool()) == ['description "a" is gone']
    assert told(tool(title="a"), tool(title="b", icons=[])) == ["icons [] is new", 'title "a" is now "b"']


def test_arguments_are_told_in_the_same_words_but_cannot_be_played() -> None:
    old = tool(arguments=closed({"order_id": STRING, "limit": INTEGER, "day": DATE}, ("order_id",)))
    new = tool(
        arguments=closed({"orderId": STRING, "limit": STRING, "region": {"enum": ["eu"]}}, ("orderId", "region"))
    )
    found = diff((old,), (new,))
    assert [(str(each), each.note) for each in found] == [
        ("t: arguments: -day", "a client that sends the old name breaks"),
        ("t: arguments: limit:string", "a client that sends the old values may break"),
        ("t: arguments: order_id>orderId", "a client that sends the old name breaks"),
        ('t: arguments: +region="eu"', "required now: a client that does not send it breaks"),
    ]
    assert {each.part for each in found} == {"arguments"}
    assert scripts_of(found) == ()


def test_arguments_that_break_nobody_do_not_say_that_they_do() -> None:
    old = tool(arguments={"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a"]})
    new = tool(arguments={"type": "object", "properties": {"a": {"type": ["string", "integer"]}, "c": INTEGER}})
    assert [(each.words, each.note) for each in diff((old,), (new,))] == [
        ("a: no longer required", ""),
        ("a:integer", "as well as before"),
        ("-b", "no longer read"),
        ("+c=40", "not required"),
    ]


# -- scripts -----------------------------------------------------------------------------------------------------------


def test_alternatives_at_one_place_are_played_by_scripts_of_their_own() -> None:
    old = tool(closed({"status": {"enum": ["a"]}, "order_id": STRING}))
    new = tool(closed({"status": {"enum": ["a", "b", None]}, "orderId": STRING}, ("orderId",)))
    assert played(old, new) == [
        "drift(order_id>orderId;-status)",
        "drift(order_id>orderId;status=null)",
        'drift(order_id>orderId;status="b")',
    ]


def test_what_must_be_is_played_before_what_may_be() -> None:
    old = tool(closed({"p": closed({"a": STRING})}))
    new = tool(closed({"p": closed({"a": INTEGER})}, ()))
    assert played(old, new) == ["drift(p/a:integer)", "drift(-p)"]


def test_a_drift_that_the_old_schema_allows_is_for_another_check() -> None:
    old = tool({"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a"]})
    (allowed,) = scripts_of(diff((old,), (tool({"type": "object", "properties": {"a": STRING}, "required": ["a"]}),)))
    assert (str(allowed[1]), checks_of(old, allowed[1])) == ("drift(-b)", ("valid_accepted",))
    ((_, refused),) = scripts_of(diff((crm()[0],), (evolved(crm())[0],)))
    assert (str(refused), checks_of(crm()[0], refused)) == ("drift(order_id>orderId)", ("drift_caught",))


def test_demands_that_no_single_difference_explains_are_told_beside_the_script() -> None:
    old = tool({"type": "object", "properties": {"a": STRING, "b": STRING}, "required": ["a", "b"], "minProperties": 2})
    new = tool(
        {
            "type": "object",
            "properties": {"a": STRING},
            "required": ["a"],
            "minProperties": 2,
            "default": {"a": "", "z": 1},
        }
    )
    assert "default" in " ".join(told(old, new))
    again = tool({**old.output_schema, "required": []})  # type: ignore[dict-item]
    found = diff((old,), (again,))
    assert [each.words for each in found] == ["-a", "-b", "played, this is not all that the outputSchema demands now"]
    assert "does not have enough properties" in found[-1].note


def test_names_that_no_script_can_spell_are_told_all_the_same() -> None:
    old, new = tool(closed({"a\ud800": STRING})), tool(closed({"b": INTEGER}))
    found = diff((old,), (new,))
    assert [each.words for each in found] == ['-"a\\\\ud800"', "+b=40"]
    assert [each.edit is None for each in found] == [True, False]


def test_more_edits_than_a_script_can_hold_are_told_and_not_played() -> None:
    names = [f"{'n' * 1_000}_{i}" for i in range(110)]
    old, new = (tool(closed({name: {"const": ending} for name in names})) for ending in ("a" * 40, "b" * 40))
    found = [each for each in diff((old,), (new,)) if '="b' in each.words]
    assert len(found) == 110
    assert {(each.edit, each.fault, each.note) for each in found} == {(None, "", "a new value")}
    assert scripts_of(found) == ()


# -- whatever is drawn -------------------------------------------------------------------------------------------------

NAMES = ("order_id", "total", "line_item", "customer", "a/b", "état")
LEAVES: list[Json] = [
    STRING,
    INTEGER,
    NUMBER,
    {"type": "boolean"},
    DATE,
    {"enum": ["open", "paid"]},
    {"type": ["integer", "null"]},
]


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Json]) -> Json:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    schema: Json = {"type": "object", "properties": {name: draw(inner) for name in names}}
    schema["required"] = [name for name in names if draw(st.booleans())]
    return {**schema, "additionalProperties": False} if draw(st.booleans()) else schema


SCHEMAS = objects(
    st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: st.one_of(objects(inner), st.builds(lambda item: {"type": "array", "items": item}, inner)),
        max_leaves=6,
    )
)


def spots(schema: Json) -> list[Json]:
    """Every object schema inside of a schema, the schema itself first."""
    found = [schema] if "properties" in schema else []
    for part in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        found += spots(part)
    return found


def rename(spot: Json, name: str, new: str) -> None:
    if new not in spot["properties"]:
        spot["properties"] = {(new if key == name else key): part for key, part in spot["properties"].items()}
        spot["required"] = [new if key == name else key for key in spot["required"]]


def retype(spot: Json, name: str, _: str) -> None:
    spot["properties"][name] = INTEGER if spot["properties"][name].get("type") == "string" else STRING


def drop(spot: Json, name: str, _: str) -> None:
    del spot["properties"][name]
    spot["required"] = [each for each in spot["required"] if each != name]


def allow_null(spot: Json, name: str, _: str) -> None:
    spot["properties"][name] = {"anyOf": [spot["properties"][name], {"type": "null"}]}


def leave_out(spot: Json, name: str, _: str) -> None:
    spot["required"] = [each for each in spot["required"] if each != name]


def add(spot: Json, _: str, new: str) -> None:
    spot["properties"].setdefault(new, {"type": "boolean"})
    spot["required"] = list(dict.fromkeys([*spot["required"], new]))


def wrap(spot: Json, name: str, new: str) -> None:
    part = spot["properties"][name]
    inside = {"type": "object", "properties": {new: part}, "required": [new]}
    spot["properties"][name] = inside | {key: False for key in ("additionalProperties",) if key in part}


def widen(spot: Json, name: str, _: str) -> None:
    part = spot["properties"][name]
    spot["properties"][name] = {"enum": [*part["enum"], "lost"]} if "enum" in part else part


def refer(spot: Json, name: str, _: str) -> None:
    """No difference at all: the same schema, by reference."""
    spot["properties"][name] = {"allOf": [spot["properties"][name]]}


CHANGES: list[Callable[[Json, str, str], None]] = [
    *(rename, retype, drop, allow_null, leave_out, add, wrap, widen, refer),
    lambda spot, name, _: rename(spot, name, other_case(name)),
]


@st.composite
def changed(draw: st.DrawFn) -> tuple[Json, Json]:
    """A schema, and the same after some changes that drift has words for."""
    old = draw(SCHEMAS)
    new = copy.deepcopy(old)
    for _ in range(draw(st.integers(1, 3))):
        spot = draw(st.sampled_from(spots(new)))
        if spot["properties"]:
            name = draw(st.sampled_from(sorted(spot["properties"])))
            draw(st.sampled_from(CHANGES))(spot, name, draw(st.sampled_from(["fresh", "other_name"])))
    return old, new


def results(old: Tool, found: tuple[Difference, ...]) -> list[Json]:
    """The old sample output after each script."""
    drifts = [script.steps[0].answer.value for _, script in scripts_of(found)]
    return [apply(drift, old.sample_output) for drift in drifts if isinstance(drift, tuple)]


@given(changed())
@settings(max_examples=60)
def test_changes_that_drift_has_words_for_are_played_as_values_of_the_new_schema(pair: tuple[Json, Json]) -> None:
    old, new = unchecked(pair[0]), unchecked(pair[1])
    found = diff((old,), (new,))
    for value in results(old, found):
        assert json.dumps(value) != json.dumps(old.sample_output)
        assert new.accepts_output(value), [each.words for each in found]
    assert new.accepts_output(old.sample_output) or results(old, found)
    # What another type or another object brings with it.
    sentences = {"no longer null", "additionalProperties false is new", "additionalProperties false is gone"}
    assert {each.words.rpartition(": ")[2] for each in found if not each.edit} <= sentences
    assert all(any(plays(script, each) for _, script in scripts_of(found)) for each in found if each.edit)


KEYWORDS: list[Json] = [
    *LEAVES,
    True,
    {},
    {"type": "null"},
    {"type": "array"},
    {"type": "number", "minimum": 3},
    {"type": "string", "pattern": "^p", "examples": ["p-1"]},
    {"$ref": "#/$defs/line"},
    {"$ref": "#/$defs/tree"},
    {"allOf": [{"$ref": "#/$defs/line"}, {"required": ["price"]}]},
    {"anyOf": [{"$ref": "#/$defs/line"}, STRING]},
    {"oneOf": [STRING, {"type": "array", "items": INTEGER}]},
    {"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
    {"type": "array", "items": {"$ref": "#/$defs/line"}, "minItems": 2},
    {"type": "object", "additionalProperties": NUMBER, "examples": [{"EUR": 1.5}]},
    {"const": {"order_id": 3}},
    {"type": "string", "minLength": 20},
]
DEFINITIONS = {
    "line": {"type": "object", "properties": {"price": NUMBER}},
    "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "n": INTEGER}},
}
WILD = objects(st.one_of(st.sampled_from(KEYWORDS), objects(st.sampled_from(KEYWORDS)), SCHEMAS))


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    output = draw(st.one_of(st.none(), WILD, WILD))
    return unchecked(
        None if output is None else {**output, "$defs": DEFINITIONS},
        {**draw(WILD), "$defs": DEFINITIONS},
        draw(st.sampled_from(["get_order", "getOrder", "t"])),
        **draw(st.sampled_from([{}, {"annotations": {"readOnlyHint": True}}, {"description": "x"}])),
    )


CATALOGUES = st.lists(tools(), min_size=1, max_size=2, unique_by=lambda each: each.name).map(tuple)


def in_order(found: tuple[Difference, ...], old: Any, new: Any) -> bool:
    """Whether differences stand in the order of the tools, then of the parts, then of the paths."""
    tools = list(dict.fromkeys([*(each.name for each in old), *(each.name for each in new)]))
    parts = ["tool", "description", "annotations", "arguments", "output"]
    said = [each for each in found if not each.words.startswith("played, ")]
    places = [(tools.index(each.tool), parts.index(each.part), each.path) for each in said]
    return places == sorted(places)


def shuffled(catalogue: Any) -> Any:
    """The same catalogue, its tools and all their keys in another order."""
    text = json.dumps([dict(each.definition) for each in reversed(catalogue)], sort_keys=True)
    return tuple(map(Tool, json.loads(text)))


@given(CATALOGUES, CATALOGUES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_two_catalogues_are_compared_and_nothing_is_silently_dropped(old: Any, new: Any) -> None:
    found = diff(old, new)
    assert diff(old, old) == diff(old, shuffled(old)) == ()
    assert in_order(found, old, new)
    assert (found == ()) == (diff(new, old) == ())
    assert all(each.words and "\n" not in each.words for each in found)
    for name, script in scripts_of(found):
        assert Script.parse(str(script)) == script
        assert checks_of(next(each for each in old if each.name == name), script)
    for before in old:
        after = next((each for each in new if each.name == before.name), None)
        if before.output_schema is None or after is None or after.output_schema is None:
            continue
        own = tuple(each for each in found if each.tool == before.name and each.part == "output")
        untold = all(each.edit for each in own)
        for value in results(before, own) or [before.sample_output]:
            assert after.accepts_output(value) or not untold, [each.words for each in own]
        if not own:
            assert before.accepts_output(after.sample_output)
