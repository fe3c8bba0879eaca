"""An adapter for hypothesis-jsonschema: `many.more()`, which Hypothesis no longer has.

hypothesis-jsonschema 0.23.1 draws every object with `many(…)`, a private helper of Hypothesis, and asks it `more()`
before each property. Hypothesis 6.170.10 turned that helper into a context manager with an iterator and removed
`more()`, so that every object schema fails. This module hands hypothesis-jsonschema, and nobody else, a subclass that
enters the new `many` and steps its iterator. Where `more()` exists, nothing is done.

Delete this module when `needed()` is false for every Hypothesis and hypothesis-jsonschema that we support: a test
asks.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis.internal.conjecture import utils
from hypothesis_jsonschema import _from_schema as library

_many: Any = utils.many
_from_schema: Any = library


def needed() -> bool:
    """Whether the installed pair of libraries cannot draw an object by itself."""
    return not hasattr(_many, "more") and "cu" in vars(_from_schema)


class _Stepped(_many):  # type: ignore[misc]
    """The new `many` with the old interface: `more()` is one step of its iterator."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.__enter__()
        self._steps = iter(self)

    def more(self) -> bool:
        for _ in self._steps:
            return True
        self.__exit__(None, None, None)
        return False


def install() -> None:
    """Give hypothesis-jsonschema the adapter, once and only if it is needed."""
    if needed() and not isinstance(_from_schema.cu, SimpleNamespace):
        _from_schema.cu = SimpleNamespace(many=_Stepped)
