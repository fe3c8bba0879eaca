"""JSON schemas of any dialect, said again in the words of draft 7: all that hypothesis-jsonschema knows.

Exact where draft 7 has the words; elsewhere the translation accepts a little more or less than the original, and
whoever draws from it validates again. Two things are left out on purpose, for drawing them is slow: an open object with
named properties gets no others (a result with one more is a fault of its own, `odd(extra)`), and a list without an
end stays short.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fuzzmcp.core.catalogue.samples import UnresolvableRef, resolve

Json = Any
_OLD_DIALECT = re.compile(r"draft-0[3-7]/")
_ALWAYS = ("type", "enum", "const", "required", "pattern", "format", "multipleOf", "uniqueItems")
_BOUNDED = ("Length", "Items", "Properties")
_KEPT = frozenset(
    (
        *_ALWAYS,
        *(f"{end}{what}" for end in ("min", "max") for what in (*_BOUNDED, "imum")),
        *("exclusiveMinimum", "exclusiveMaximum"),
    )
)
_ONE = ("contains", "additionalProperties", "propertyNames", "not", "if", "then", "else")
_SAME = ("not", "if", "then", "else")
_SEVERAL = ("allOf", "anyOf", "oneOf")
_BY_NAME = ("properties", "patternProperties")
_IN_PLACE = (*_SEVERAL, "if", "then", "else", "dependencies")
_ITEMS = 3
_SIZE_MAX = 5_000
"""Subschemas after which an inlined schema is given up: references can multiply without end."""


class UntranslatableError(ValueError):
    """Draft 7 without references cannot say it: a recursive `$ref`, a pattern that Python cannot read."""


def translated(schema: Json) -> Json:
    """The schema with every local `$ref` inlined and 2020-12 keywords in their older spelling.

    Raises:
        UntranslatableError: It is recursive, leads nowhere, or has a pattern that Python cannot read.

    >>> translated({"type": "array", "prefixItems": [{"$ref": "#/$defs/n"}], "$defs": {"n": {"type": "number"}}})
    {'type': 'array', 'items': [{'type': 'number'}], 'maxItems': 4}
    """
    try:
        return _Translation(schema).of(schema, ())
    except (UnresolvableRef, RecursionError) as error:
        raise UntranslatableError(str(error) or "nested too deeply") from None


class _Translation:
    def __init__(self, root: Json) -> None:
        self.root, self.size = root, 0
        named = root.get("$schema") if isinstance(root, Mapping) else None
        self.old = isinstance(named, str) and bool(_OLD_DIALECT.search(named))

    def of(self, schema: Json, inside: tuple[str, ...], *, part: bool = False) -> Json:
        """`inside` holds the references that are being inlined: meeting one again is recursion. A `part` describes
        a value together with the schema around it.
        """
        self.size += 1
        if self.size > _SIZE_MAX:
            raise UntranslatableError("too large with its references inlined")
        if not isinstance(schema, Mapping):
            return {} if schema is True else schema
        refs = [schema[key] for key in ("$ref", "$dynamicRef", "$recursiveRef") if key in schema]
        if not refs:
            return self.plain(schema, inside, part)
        rest = {} if self.old else self.plain(schema, inside, True)
        inlined = [self.inlined(ref, inside, part or rest != {}) for ref in refs]
        parts = [part for part in (*inlined, rest) if part != {}]
        return parts[0] if len(parts) == 1 else {"allOf": parts} if parts else {}

    def inlined(self, ref: str, inside: tuple[str, ...], part: bool) -> Json:
        if ref in inside:
            raise UntranslatableError(f"$ref '{ref}' is recursive")
        return self.of(resolve(ref, self.root), (*inside, ref), part=part)

    def plain(self, schema: Mapping[str, Json], inside: tuple[str, ...], part: bool) -> dict[str, Json]:
        for pattern in (schema.get("pattern"), *schema.get("patternProperties", {})):
            _check_pattern(pattern)
        out: dict[str, Json] = {key: schema[key] for key in schema if key in _KEPT}
        out |= {key: self.of(schema[key], inside, part=key in _SAME) for key in _ONE if key in schema}
        out |= {key: [self.of(each, inside, part=True) for each in schema[key]] for key in _SEVERAL if key in schema}
        for key in _BY_NAME:
            if key in schema:
                out[key] = {name: self.of(each, inside) for name, each in schema[key].items()}
        self.arrays(schema, out, inside)
        self.dependencies(schema, out, inside)
        if schema.get("unevaluatedProperties") is False:
            _close(out)
        elif not part and _closable(out):
            out["additionalProperties"] = False
        if not part and "items" in out and "maxItems" not in out:
            first = len(out["items"]) if isinstance(out["items"], list) else 0
            out["maxItems"] = max(first, out.get("minItems", 0), schema.get("minContains", 0)) + _ITEMS
        return out

    def arrays(self, schema: Mapping[str, Json], out: dict[str, Json], inside: tuple[str, ...]) -> None:
        items, first = schema.get("items"), schema.get("prefixItems")
        rest = schema.get("additionalItems")
        if first is None and isinstance(items, list):
            first, items = items, rest
        if first:
            out["items"] = [self.of(part, inside) for part in first]
            if items is None and schema.get("unevaluatedItems") is False:
                items = False
            if items is not None:
                out["additionalItems"] = self.of(items, inside)
        elif items is not None:
            out["items"] = self.of(items, inside)

    def dependencies(self, schema: Mapping[str, Json], out: dict[str, Json], inside: tuple[str, ...]) -> None:
        found: dict[str, Json] = {}
        for key in ("dependencies", "dependentSchemas", "dependentRequired"):
            for name, part in schema.get(key, {}).items():
                part = part if isinstance(part, list) else self.of(part, inside, part=True)
                found[name] = _both(found[name], part) if name in found else part
        if found:
            out["dependencies"] = found


def _both(left: Json, right: Json) -> Json:
    """Two dependencies of one property as one: a list of names is a schema that requires them."""
    parts = [{"required": part} if isinstance(part, list) else part for part in (left, right)]
    return {"allOf": parts}


def _check_pattern(pattern: Json) -> None:
    try:
        re.compile(pattern or "")
    except (re.error, RecursionError, OverflowError) as error:
        raise UntranslatableError(f"pattern {pattern!r}: {error}") from None


def _closable(out: dict[str, Json]) -> bool:
    """Whether there is an object with these properties and no others."""
    names = out.get("properties", {})
    settled = not any(key in out for key in (*_IN_PLACE, "additionalProperties", "patternProperties", "propertyNames"))
    enough = len(names) >= out.get("minProperties", 0) and set(out.get("required", ())) <= set(names)
    return bool(names) and settled and enough


def _close(out: dict[str, Json]) -> None:
    """No property but those that the schema or a part applied in place names: `unevaluatedProperties: false`."""
    if not any(key in out for key in _IN_PLACE):
        out.setdefault("additionalProperties", False)
        return
    names = sorted(set(_names(out)))
    if "propertyNames" not in out and "additionalProperties" not in out:
        out["propertyNames"] = {"enum": names} if names else False


def _names(schema: Json) -> list[str]:
    if not isinstance(schema, Mapping):
        return []
    names = [*schema.get("properties", {}), *schema.get("required", ())]
    for key in _SEVERAL:
        for part in schema.get(key, ()):
            names += _names(part)
    for part in (schema.get("if"), schema.get("then"), schema.get("else"), *schema.get("dependencies", {}).values()):
        names += _names(part)
    return names
