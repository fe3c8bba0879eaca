"""The words of a difference: an edit as a script spells it where one can, and short JSON in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fuzzmcp.core.catalogue.schema_view import text_of
from fuzzmcp.core.drift import Edit, canonical_json

Json = Any
MISSING: Any = object()
"""Where a value has nothing: JSON's own null is a value."""
_LITERAL_MAX = 2_000
_SHOWN_MAX = 60
_LISTED_MAX = 5


def literal_of(value: Json) -> str:
    """The JSON text of a value that an edit can carry, or the empty string."""
    if value is MISSING:
        return ""
    try:
        text = canonical_json(value)
    except ValueError:  # lone surrogates, which no script can spell
        return ""
    return text if len(text) <= _LITERAL_MAX else ""


def spelled(edit: Edit) -> tuple[str, bool]:
    """The words of an edit, and whether a drift can be written with them."""
    if not edit.path:
        return f"the whole value: {edit.op} {edit.argument}".rstrip(), False
    try:
        text = str(edit)
        text.encode()
        return text, len(text) <= 2 * _LITERAL_MAX
    except ValueError:
        clean = replace(edit, path=tuple(map(_clean, edit.path)), argument=_clean(edit.argument))
        return str(clean), False


def _clean(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()


def spelled_path(path: tuple[str, ...]) -> str:
    """A path as a drift spells it; the empty string for the whole value."""
    return spelled(Edit("drop", path))[0].removeprefix("-") if path else ""


def come_or_gone(key: str, old: Json, new: Json) -> str:
    """What to say of a keyword that only one of two schemas has; the other's value is `MISSING`."""
    gone = new is MISSING
    return f"{key} {shown(old if gone else new)} is {'gone' if gone else 'new'}"


def shown(value: Json) -> str:
    """Short JSON text of a value."""
    try:
        text = canonical_json(value)
    except ValueError:
        text = text_of(value)
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 1] + "…"


def listed(values: Sequence[Json]) -> str:
    """The first few of several values."""
    first = ", ".join(map(shown, values[:_LISTED_MAX]))
    return first if len(values) <= _LISTED_MAX else f"{first} and {len(values) - _LISTED_MAX} more"


def either(kinds: Sequence[str]) -> str:
    """`string or null` for two types."""
    return " or ".join(kinds)
