"""Values of schemas: valid in every dialect, fixed where nothing better can be done, and never from the network."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.samples import sample
from fuzzmcp.core.catalogue.tools import compiled
from fuzzmcp.strategies import values
from fuzzmcp.strategies._draft7 import UntranslatableError, translated

from .searching import smallest

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
DEFS = {
    "n": INTEGER,
    "pair": {"type": "array", "prefixItems": [INTEGER, STRING], "items": False, "minItems": 2},
    "here": {"$anchor": "spot", "type": "boolean"},
    "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "n": INTEGER}, "required": ["n"]},
    "loose": {"type": "object", "properties": {"a": INTEGER}},
}
SCHEMAS: dict[str, Any] = {
    "anything": True,
    "draft 4 bound": {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "integer",
        "minimum": 3,
        "exclusiveMinimum": True,
    },
    "draft 7 tuple": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [INTEGER, STRING],
        "additionalItems": False,
    },
    "draft 7 reference": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"n": INTEGER},
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/n", "type": "string"}},
        "required": ["a"],
    },
    "prefixItems": {"$ref": "#/$defs/pair"},
    "prefixItems, then others": {"type": "array", "prefixItems": [INTEGER], "items": STRING},
    "reference beside keywords": {"$ref": "#/$defs/n", "minimum": 7},
    "anchor": {"$ref": "#spot"},
    "dependentRequired": {
        "type": "object",
        "properties": {"a": INTEGER, "b": INTEGER},
        "dependentRequired": {"a": ["b"]},
    },
    "dependentSchemas": {
        "type": "object",
        "properties": {"a": INTEGER},
        "dependentSchemas": {"a": {"required": ["b"], "properties": {"b": STRING}}},
    },
    "both dependencies": {
        "type": "object",
        "properties": {"a": INTEGER},
        "dependentRequired": {"a": ["c"]},
        "dependentSchemas": {"a": {"required": ["b"]}},
    },
    "unevaluatedProperties": {"type": "object", "properties": {"a": INTEGER}, "unevaluatedProperties": False},
    "unevaluatedProperties of parts": {
        "type": "object",
        "allOf": [{"$ref": "#/$defs/loose"}, {"properties": {"b": STRING}}],
        "properties": {"c": INTEGER},
        "required": ["c"],
        "unevaluatedProperties": False,
    },
    "unevaluatedItems": {"type": "array", "prefixItems": [INTEGER], "unevaluatedItems": False},
    "contains": {"type": "array", "items": INTEGER, "contains": {"minimum": 5}, "minContains": 2, "minItems": 2},
    "if, then, else": {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "a"}}},
        "then": {"properties": {"x": INTEGER}, "required": ["x"]},
        "else": {"properties": {"y": STRING}, "required": ["y"]},
    },
    "recursive": {"$ref": "#/$defs/tree"},
    "one of": {"oneOf": [INTEGER, {"type": "string", "maxLength": 3}]},
    "nothing but nulls": {"type": "null"},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$", "examples": ["AB1"]},
    "names": {"type": "object", "propertyNames": {"pattern": "^x"}, "patternProperties": {"^x": INTEGER}},
    "format": {"type": "object", "properties": {f: {"type": "string", "format": f} for f in ("date", "uri", "odd")}},
    "property names of keywords": {
        "type": "object",
        "properties": {"$ref": STRING, "items": INTEGER, "properties": STRING, "enum": {"enum": [1]}},
        "required": ["$ref", "items"],
    },
    "unique": {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True},
}


def complete(schema: Any) -> Any:
    return {**schema, "$defs": DEFS} if isinstance(schema, dict) and "$schema" not in schema else schema


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_value_is_valid_for_the_schema_in_its_own_dialect(name: str) -> None:
    schema = complete(SCHEMAS[name])
    before = json.dumps(schema)
    validator = compiled(schema)

    @given(values(schema))
    @settings(max_examples=12)
    def check(value: Any) -> None:
        validator.validate(value)
        json.dumps(value, allow_nan=False).encode()

    if validator.is_valid(sample(schema)):
        check()
    assert json.dumps(schema) == before


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in ("recursive", "nothing but nulls")])
def test_most_schemas_have_values_beside_their_sample(name: str) -> None:
    schema = complete(SCHEMAS[name])
    seen = set()

    @given(values(schema))
    @settings(max_examples=8)
    def look(value: Any) -> None:
        seen.add(json.dumps(value))

    look()
    assert seen - {json.dumps(sample(schema))}


def test_a_recursive_schema_has_its_sample() -> None:
    schema = complete(SCHEMAS["recursive"])
    assert smallest(values(schema)) == sample(schema)
    with pytest.raises(UntranslatableError, match="'#/\\$defs/tree' is recursive"):
        translated(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/nobody"},
        {"type": "string", "pattern": "(?<"},
        {"type": "object", "patternProperties": {"(": True}},
    ],
)
def test_what_draft_7_cannot_say_is_refused(schema: Any) -> None:
    with pytest.raises(UntranslatableError):
        translated(schema)


def test_references_that_multiply_are_given_up() -> None:
    defs = {f"d{i}": {"type": "array", "prefixItems": [{"$ref": f"#/$defs/d{i + 1}"}] * 3} for i in range(12)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**defs, "d12": INTEGER}}
    with pytest.raises(UntranslatableError, match="too large"):
        translated(schema)


def test_values_that_are_always_invalid_are_replaced_by_the_sample() -> None:
    schema = {"type": "array", "items": INTEGER, "contains": {"const": 7}, "minContains": 3, "examples": [[7, 7, 7]]}

    @given(values(schema))
    @settings(max_examples=30)
    def check(value: Any) -> None:
        assert value.count(7) >= 3

    check()


def test_an_error_inside_of_hypothesis_jsonschema_gives_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def explode() -> Any:
        raise AssertionError("inside")

    monkeypatch.setattr("fuzzmcp.strategies.schemas.from_schema", lambda schema: st.builds(explode))
    assert smallest(values(INTEGER)) == sample(INTEGER)


@given(st.sampled_from(sorted(SCHEMAS)))
def test_a_translation_is_a_schema_of_draft_7_without_references(name: str) -> None:
    schema = complete(SCHEMAS[name])
    if name != "recursive":
        result = translated(schema)
        if name != "draft 4 bound":
            jsonschema.Draft7Validator.check_schema(result)
        for word in ('"$defs"', '"prefixItems"', '"dependentRequired"', '"unevaluated', '"$anchor"', '"$schema"'):
            assert word not in json.dumps(result)
