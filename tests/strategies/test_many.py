"""The adapter between hypothesis-jsonschema and Hypothesis, on both sides of the change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis.internal.conjecture import utils
from hypothesis.version import __version_info__
from hypothesis_jsonschema import _from_schema, from_schema

from fuzzmcp.strategies import _many

from .searching import smallest

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "n": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id"],
    "additionalProperties": False,
}


def test_the_adapter_is_needed_exactly_where_hypothesis_has_no_more() -> None:
    # When this fails, the libraries have changed. Is `strategies/_many.py` still needed by any that we support?
    assert _many.needed() == (__version_info__ >= (6, 170, 10))


def test_the_adapter_is_installed_once_for_hypothesis_jsonschema_alone() -> None:
    before = _from_schema.cu
    _many.install()
    assert _from_schema.cu is before
    assert isinstance(before, SimpleNamespace) == _many.needed()
    assert utils.many is _many._many


def test_without_the_adapter_an_object_cannot_be_drawn_where_it_is_needed(monkeypatch: Any) -> None:
    monkeypatch.setattr(_from_schema, "cu", utils)
    failed = False
    try:
        smallest(from_schema(SCHEMA))
    except AttributeError as error:
        failed = "more" in str(error)
    assert failed == _many.needed()


@given(from_schema(SCHEMA))
@settings(max_examples=50)
def test_objects_are_drawn(value: dict[str, Any]) -> None:
    assert isinstance(value["id"], str)


def test_objects_of_every_size_are_drawn_and_shrink_well() -> None:
    objects = from_schema(SCHEMA)
    assert smallest(objects) == {"id": ""}
    assert smallest(objects, lambda value: value.get("n", 0) > 100) == {"id": "", "n": 101}
    assert smallest(objects, lambda value: len(value.get("tags", [])) == 2) == {"id": "", "tags": ["", ""]}
    assert set(smallest(objects, lambda value: len(value) == 3)) == {"id", "n", "tags"}


def test_dependencies_that_reject_an_element_are_drawn() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "additionalProperties": False,
        "dependencies": {"a": {"required": ["b"]}},
    }
    assert smallest(from_schema(schema), lambda value: "a" in value) == {"a": 0, "b": 0}
