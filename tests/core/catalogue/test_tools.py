"""The catalogue: whatever cannot be used says so at once, with tool and path; whatever can has a valid sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.samples import UnresolvableRef, resolve, sample
from fuzzmcp.core.catalogue.tools import Tool, ToolsError, compiled, crm, evolved, load, load_text
from fuzzmcp.core.drift import apply, canonical_drift

OBJECT = {"type": "object"}


def tool(**schema: Any) -> dict[str, Any]:
    """A definition whose outputSchema has the given keywords."""
    return {"name": "t", "inputSchema": OBJECT, "outputSchema": {"type": "object", **schema}}


def prop(part: Any, **more: Any) -> dict[str, Any]:
    """A definition whose outputSchema has the one property `p`, required."""
    return tool(properties={"p": part}, required=["p"], **more)


def deep(levels: int) -> Any:
    part: Any = {"type": "string"}
    for _ in range(levels):
        part = {"type": "array", "items": part}
    return part


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('[{"name": "t", "inputSchema": {"type": "object", "minProperties": NaN}}]', "not JSON"),
        ("null", "no catalogue"),
        ("3", "no catalogue"),
        ('"tools"', "no catalogue"),
        ("[]", "no catalogue"),
        ("{}", "no catalogue"),
        ('{"tools": {}}', "no catalogue"),
        ("[3]", "tools/0: a tool is an object with a 'name'"),
        ("[null]", "tools/0: a tool is an object"),
        ("[{}]", "tools/0: a tool is an object with a 'name'"),
        ('[{"name": ""}]', "tools/0: a tool is an object"),
        ('[{"name": 3}]', "tools/0: a tool is an object"),
        ('[{"name": "t"}]', "tools/0 (t): inputSchema: expected a JSON schema"),
        ('[{"name": "t", "inputSchema": true}]', "(t): inputSchema: expected a JSON schema"),
        ('[{"name": "t", "inputSchema": {"type": "array"}}]', "(t): inputSchema: expected a JSON schema"),
    ],
)
def test_a_file_that_is_no_catalogue_says_where(text: str, words: str) -> None:
    with pytest.raises(ToolsError) as caught:
        load_text(text, "mine.json")
    assert str(caught.value).startswith("mine.json: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (tool(type="array"), "outputSchema: expected a JSON schema"),
        ({**tool(), "outputSchema": 3}, "outputSchema: expected a JSON schema"),
        ({**tool(), "annotations": [1]}, "annotations: expected an object"),
        (tool(properties=[]), "outputSchema/properties: invalid schema"),
        (prop({"type": "strng"}), "outputSchema/properties/p/type: invalid schema"),
        (prop(3), "outputSchema/properties/p: invalid schema"),
        (prop({"type": "string", "pattern": "("}), "outputSchema"),
        (prop({"$ref": "other.json"}), "outputSchema/properties/p/$ref: external $ref 'other.json'"),
        (prop({"$ref": "http://127.0.0.1:9/x"}), "outputSchema/properties/p/$ref: external $ref"),
        (tool(properties={"default": {"$ref": "http://127.0.0.1:9/x"}}), "properties/default/$ref: external $ref"),
        (tool(**{"$defs": {"enum": {"$dynamicRef": "x.json"}}}), "$defs/enum/$dynamicRef: external $ref"),
        (prop({"$ref": "#/$defs/no"}), "outputSchema: $ref '#/$defs/no' leads nowhere"),
        (prop({"$ref": "#no"}), "outputSchema: $ref '#no' leads nowhere"),
        (prop({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}}), "a $ref that leads to itself"),
        (prop({"$ref": "#"}), "outputSchema"),
        (prop(deep(1_000)), "outputSchema: nested too deeply"),
        (prop({"type": "string", "pattern": "^[0-9]{4}$"}), "outputSchema/properties/p/pattern: no sample value found"),
        (prop(False), "outputSchema"),
        (prop({"not": {}}), "outputSchema/properties/p/not: no sample value found"),
        (prop({"enum": ["a"], "default": "b"}), "properties/p/enum: no sample value found"),
    ],
)
def test_a_bad_tool_is_an_error_that_names_the_tool_and_the_path(definition: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolsError) as caught:
        load([{"name": "good", "inputSchema": OBJECT}, definition])
    assert "tools/1 (t): " in str(caught.value)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1_000


def test_two_tools_of_one_name_are_an_error() -> None:
    with pytest.raises(ToolsError, match="two tools are named 't'"):
        load([tool(), tool()])


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolsError, match="cannot be read"):
        load(tmp_path / "nobody.json")
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ToolsError, match="cannot be read"):
        load(tmp_path / "latin.json")


def test_a_catalogue_comes_from_a_path_a_string_definitions_or_the_bundle(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [dict(each.definition) for each in crm()]}), "utf-8")
    assert load(path) == load(str(path)) == load([dict(each.definition) for each in crm()]) == load(None) == crm()
    assert load(crm()) is crm()


SCHEMAS: list[Any] = [
    {"const": {"a": 1}},
    {"enum": ["a", "b"]},
    {"type": "string", "minLength": 12},
    {"type": "string", "maxLength": 1},
    {"type": "string", "format": "date-time"},
    {"type": ["null", "string"]},
    {"type": "null"},
    {"type": "boolean"},
    {"type": "integer", "minimum": 3},
    {"type": "integer", "exclusiveMinimum": 40},
    {"type": "integer", "maximum": -3},
    {"type": "number", "exclusiveMaximum": 0},
    {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "integer", "multipleOf": 7},
    {"type": "number", "multipleOf": 0.5},
    {"type": "array"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3},
    {"type": "array", "maxItems": 0},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    {"type": "array", "items": {"$ref": "#/$defs/named"}},
    {"$ref": "#/$defs/named"},
    {"$ref": "#/$defs/a~1b%20c"},
    {"$ref": "#anchored"},
    {"$dynamicRef": "#anchored"},
    {"$ref": "#/$defs/tree"},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, True]},
    {"allOf": [{"$ref": "#/$defs/named"}, {"type": "object", "required": ["b"]}]},
    {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    {"anyOf": [True, {"type": "integer"}]},
    {"type": "object", "required": ["x"], "additionalProperties": {"type": "integer"}},
    {"type": "object", "properties": {"enum": {"type": "integer"}, "$ref": {"type": "string"}}},
    {"type": "object", "properties": {"x": {"type": "integer"}}, "unevaluatedProperties": False},
    {},
    True,
]
DEFS = {
    "named": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "a/b c": {"type": "integer"},
    "here": {"$anchor": "anchored", "$dynamicAnchor": "anchored", "type": "boolean"},
    "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "n": {"type": "integer"}}},
}


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_the_sample_is_valid(schema: Any) -> None:
    catalogue = load([prop(schema, **{"$defs": DEFS})])
    assert catalogue[0].accepts_output(catalogue[0].sample_output)
    assert "p" in catalogue[0].sample_output


def test_the_sample_of_a_draft_7_tuple_is_valid() -> None:
    schema = {"type": "array", "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": False}
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
    assert load([prop(schema, **draft7)])[0].sample_output == {"p": [40, "p-1"]}


@given(st.lists(st.sampled_from(range(len(SCHEMAS))), min_size=1, max_size=4, unique=True))
@settings(max_examples=30)
def test_the_sample_of_an_object_is_full_and_valid(places: list[int]) -> None:
    properties = {f"p{place}": SCHEMAS[place] for place in places}
    loaded = load([tool(properties=properties, **{"$defs": DEFS})])[0]
    assert list(loaded.sample_output) == list(properties)
    assert compiled(loaded.output_schema).is_valid(loaded.sample_output)


def test_the_sample_of_a_recursive_schema_ends() -> None:
    text = json.dumps(sample({"type": "object", "properties": {"p": {"$ref": "#/$defs/tree"}}, "$defs": DEFS}))
    assert 1 < text.count("left") < 20


def test_the_samples_of_the_bundle_are_full_and_fixed() -> None:
    assert crm()[0].sample_output == {
        "order_id": "A1",
        "status": "open",
        "total": 120.5,
        "created": "2026-10-05",
        "note": "leave at the door",
    }
    for each in crm():
        assert each.input_validator.is_valid(each.sample_arguments)
        assert each.accepts_output(each.sample_output)
        assert list(each.sample_output) == list(each.output_schema["properties"])  # type: ignore[index]


def test_formats_are_found_inside_of_arrays_and_references() -> None:
    by_name = {each.name: each.formats for each in crm()}
    assert by_name["list_open_invoices"] == {("invoices", "0", "due"): "date"}
    assert by_name["get_order"] == {("created",): "date"}
    assert load([{"name": "t", "inputSchema": OBJECT}])[0].formats == {}


def test_a_tool_is_repeatable_when_it_says_so() -> None:
    assert [each.repeatable for each in crm()] == [True, False, True, True]
    assert Tool({"name": "t", "inputSchema": OBJECT, "annotations": {"idempotentHint": True}}).repeatable
    assert not Tool({"name": "t", "inputSchema": OBJECT, "annotations": None}).repeatable


def test_without_an_output_schema_every_output_is_accepted_and_none_is_sampled() -> None:
    loaded = load([{"name": "t", "inputSchema": OBJECT}])[0]
    assert loaded.sample_output is None
    assert loaded.accepts_output({"any": "thing"})


def test_references_are_resolved_by_pointer_and_anchor() -> None:
    root = {"$defs": DEFS, "list": [1, 2]}
    assert resolve("#", root) is root
    assert resolve("#/list/1", root) == 2
    assert resolve("#/$defs/a~1b%20c", root) == {"type": "integer"}
    assert resolve("#anchored", root) is DEFS["here"]
    for nowhere in ("#/list/2", "#/list/x", "#/nobody", "#nobody"):
        with pytest.raises(UnresolvableRef, match="leads nowhere"):
            resolve(nowhere, root)


def test_an_evolved_catalogue_is_valid_and_refuses_the_old_results() -> None:
    for old, new in zip(crm(), evolved(crm()), strict=True):
        assert new.name == old.name
        assert new != old
        assert new.accepts_output(new.sample_output)
        assert not new.accepts_output(old.sample_output)
        assert load([dict(new.definition)]) == (new,)
    plain = load([{"name": "t", "inputSchema": OBJECT}])
    assert evolved(plain)[0].definition["description"] == "(changed)"


def test_the_canonical_drift_of_every_bundled_tool_is_visible() -> None:
    for each in crm():
        drift = canonical_drift(each.sample_output, each.output_schema["required"])  # type: ignore[index]
        assert not each.accepts_output(apply(drift, each.sample_output))
