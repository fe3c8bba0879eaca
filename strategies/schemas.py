"""Values of a JSON schema: hypothesis-jsonschema behind a translation in front of it and a validator behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis_jsonschema import from_schema

from fuzzmcp.core.catalogue.samples import sample
from fuzzmcp.core.catalogue.tools import compiled
from fuzzmcp.strategies import _many
from fuzzmcp.strategies._draft7 import UntranslatableError, translated

__all__ = ["values"]

_many.install()
_TRIES = 3


def values(schema: Any) -> st.SearchStrategy[Any]:
    """Values that are valid for a JSON schema of any dialect (2020-12 when it names none).

    Nothing invalid is ever drawn: what hypothesis-jsonschema makes of the schema is validated again, by the schema's
    own validator (formats not checked), and the fixed sample of the schema stands in after three misses. Where draft
    7 cannot say the schema, as with a recursive `$ref`, every draw is that sample. Nothing is fetched.

    Args:
        schema: The schema as a dict or a bool; references must be local and must have been checked, as those of a
            loaded catalogue are.

    >>> from hypothesis import given
    >>> @given(values({"type": "integer", "minimum": 3}))
    ... def test_at_least_three(value):
    ...     assert value >= 3
    >>> test_at_least_three()
    """
    return _values_of(json.dumps(schema))


@lru_cache(maxsize=256)
def _values_of(text: str) -> st.SearchStrategy[Any]:
    """By the schema's text: hypothesis-jsonschema takes milliseconds for each schema, and searches repeat theirs."""
    schema = json.loads(text)
    fixed = sample(schema)
    try:
        drawn = from_schema(translated(schema))
    except UntranslatableError:
        return st.just(fixed)
    return _valid(drawn, compiled(schema).is_valid, fixed)


@st.composite
def _valid(draw: st.DrawFn, drawn: st.SearchStrategy[Any], is_valid: Callable[[Any], bool], fixed: Any) -> Any:
    for _ in range(_TRIES):
        try:
            value = draw(drawn)
        except UnsatisfiedAssumption:
            raise
        except Exception:  # whatever hypothesis-jsonschema cannot do: it raises all kinds of things, and only now
            return fixed
        if is_valid(value):
            return value
    return fixed
