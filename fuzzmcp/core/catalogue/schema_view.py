"""JSON schemas as a comparison sees them: local references followed, `allOf` joined, every way to say `null` made one.

A view is for comparing and never for judging: whether a value is valid is asked of the schema's own validator.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from referencing import Registry

from fuzzmcp.core.catalogue.samples import UnresolvableRef, resolve
from fuzzmcp.core.catalogue.tools import compiled

Json = Any
UNIONS = ("anyOf", "oneOf")
REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_UNSEEN = (
    *("title", "examples", "$comment", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"),
    *("$defs", "definitions"),
)
"""Keywords that no difference is made of. Titles follow the names of properties and classes; `examples` are what a
user adds to a saved catalogue by hand; definitions count where something refers to them."""
_NULL = "\0null"
"""Stands in a joined schema for "or null"; no keyword can have this name by accident."""
_NOTHING_ELSE: Registry[Any] = Registry()
"""The documents beside the one at hand: none, so that a reference elsewhere is an error and never a download."""
_FOLLOWED_MAX = 300
"""References that are followed for one view: they can multiply without end."""
_PLAIN = ("description", "$schema")
_BY_NAME = ("patternProperties", "dependentSchemas")
_LISTS = ("allOf", *UNIONS)
_ONE = (
    *("additionalProperties", "propertyNames", "not", "if", "then", "else", "contains"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


def text_of(value: Json) -> str:
    """JSON text that is equal for equal JSON values: the order of keys apart, `1`, `1.0` and `true` kept apart.

    >>> text_of({"b": 1, "a": True})
    '{"a": true, "b": 1}'
    """
    return json.dumps(value, sort_keys=True)


def type_of(value: Json) -> str:
    """The name of a value's JSON type, `integer` for whole numbers.

    >>> type_of(2.0), type_of(None), type_of([])
    ('integer', 'null', 'array')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


@dataclass(frozen=True)
class View:
    """What one schema says, in the parts that a comparison asks for.

    `types` are the types but null (None: any), `null` whether null is allowed, `enum` the members but null.
    `properties` includes what is required without being described. `prefix` are the first items of an array, `rest`
    all others. `words` holds every other keyword as it stands.
    """

    types: tuple[str, ...] | None
    null: bool
    enum: tuple[Json, ...] | None
    properties: Mapping[str, Json]
    required: tuple[str, ...]
    prefix: tuple[Json, ...]
    rest: Json
    words: Mapping[str, Json]

    @property
    def closed(self) -> bool:
        """Whether an object may have no properties but those described."""
        return self.words.get("additionalProperties") is False or self.words.get("unevaluatedProperties") is False

    def allows(self, kind: str) -> bool:
        """Whether values of a JSON type can be valid."""
        return self.types is None or covers(self.types, kind)

    def item(self, place: int) -> Json:
        """The schema of the item at a place of an array."""
        return self.prefix[place] if place < len(self.prefix) else self.rest


_ANYTHING = View(None, True, None, {}, (), (), True, {})


def covers(types: Iterable[str], kind: str) -> bool:
    """Whether one of the types has the values of `kind`: a whole number is a number too."""
    return kind in types or (kind == "integer" and "number" in types)


class Document:
    """A whole schema, in which the references of its parts are looked up. Nothing is ever fetched."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self._views: dict[str, View] = {}
        self._followed = 0
        self._validator = type(compiled(root))(root, registry=_NOTHING_ELSE)

    def accepts(self, schema: Json, value: Json) -> bool:
        """Whether `value` is valid for a part of this document (formats not checked; false where nobody can say)."""
        try:
            return self._validator.evolve(schema=schema).is_valid(value)
        except Exception:  # a pattern that Python cannot read, a reference that leads nowhere, endless recursion
            return False

    def why_not(self, value: Json) -> str:
        """What the whole schema has against `value`, or the empty string."""
        try:
            error = next(self._validator.iter_errors(value), None)
        except Exception as broken:
            return f"{type(broken).__name__}: {broken}"
        return "" if error is None else error.message

    def view(self, schema: Json) -> View:
        """The view of a part of this document."""
        key = text_of(schema)
        if key not in self._views:
            self._views[key] = _ANYTHING  # for a union that is met again inside of itself
            self._followed = 0
            self._views[key] = self._seen(self._joined(schema, ()))
        return self._views[key]

    def _joined(self, schema: Json, following: tuple[str, ...]) -> dict[str, Json]:
        """The keywords of a schema and of all that it refers to. What cannot be joined stays behind in `allOf`."""
        if not isinstance(schema, Mapping):
            return {"not": {}} if schema is False else {}
        own = {key: part for key, part in schema.items() if key not in (*_UNSEEN, *REFS, "allOf")}
        for key in UNIONS:
            if key in own:
                own = self._united(own, key, following)
        parts = [(part, self._joined(part, following)) for part in schema.get("allOf", ())]
        for key in REFS:
            if isinstance(schema.get(key), str):
                referred = self._referred(schema[key], following)
                parts.append(({key: schema[key]}, {key: schema[key]} if referred is None else referred))
        left: list[Json] = []
        for part, joined in parts:
            merged = _merged(own, joined)
            own, left = (merged, left) if merged is not None else (own, [*left, part])
        return {**own, "allOf": left} if left else own

    def _referred(self, ref: str, following: tuple[str, ...]) -> dict[str, Json] | None:
        """What a reference names; None where it leads nowhere, to itself, or to more than can be joined."""
        self._followed += 1
        if self._followed > _FOLLOWED_MAX or ref in following:
            return None
        try:
            return self._joined(resolve(ref, self.root), (*following, ref))
        except UnresolvableRef:
            return None

    def _united(self, own: dict[str, Json], key: str, following: tuple[str, ...]) -> dict[str, Json]:
        """A union without its null, and no union at all where one alternative is left or all are mere types."""
        options = [(option, self._joined(option, following)) for option in own[key]]
        rest = [(option, joined) for option, joined in options if _essence(joined) != {"type": "null"}]
        around = {name: part for name, part in own.items() if name != key}
        if len(rest) < len(options):
            around[_NULL] = True
        if "type" not in own and rest and all(set(_essence(joined)) <= {"type", _NULL} for _, joined in rest):
            kinds = [joined.get("type") for _, joined in rest]
            if None not in kinds:
                listed = [kind for one in kinds for kind in (one if isinstance(one, list) else [one])]
                null = any(_NULL in joined for _, joined in rest)
                return around | {"type": list(dict.fromkeys(listed))} | ({_NULL: True} if null else {})
        if len(rest) == 1 and (merged := _merged(around, rest[0][1])) is not None:
            return merged
        return around | {key: [option for option, _ in rest]}

    def _seen(self, joined: dict[str, Json]) -> View:
        words = dict(joined)
        null = bool(words.pop(_NULL, False))
        given = words.pop("type", None)
        types = None if given is None else (given,) if isinstance(given, str) else tuple(given)
        members = words.pop("enum", None)
        if "const" in words:
            members = [words.pop("const")]
        allowed = types is None or "null" in types
        null = null or (allowed if members is None else allowed and None in members)
        if types is None and members is not None:
            types = tuple(dict.fromkeys(map(type_of, members)))
        if types is None:
            types = self._types_of_unions(words)
        properties = dict(words.pop("properties", {}))
        required = tuple(words.pop("required", ()))
        for name in required:
            properties.setdefault(name, words.get("additionalProperties", True))
        first, rest = words.pop("prefixItems", ()), words.pop("items", True)
        if isinstance(rest, list):  # a tuple, as it was said until draft 2019-09
            first, rest = rest, words.pop("additionalItems", True)
        return View(
            types=None if types is None else tuple(kind for kind in types if kind != "null"),
            null=null,
            enum=None if members is None else tuple(member for member in members if member is not None),
            properties=properties,
            required=required,
            prefix=tuple(first),
            rest=rest,
            words=words,
        )

    def _types_of_unions(self, words: Mapping[str, Json]) -> tuple[str, ...] | None:
        kinds = [self.view(option).types for key in UNIONS for option in words.get(key, ())]
        if not kinds or None in kinds:
            return None
        return tuple(dict.fromkeys(kind for one in kinds for kind in one or ()))


def _essence(joined: Mapping[str, Json]) -> dict[str, Json]:
    return {key: part for key, part in joined.items() if key not in _PLAIN}


def _merged(left: Mapping[str, Json], right: Mapping[str, Json]) -> dict[str, Json] | None:
    """Both sets of keywords as one, or None where they speak of the same thing in two ways."""
    out = dict(left)
    for key, part in right.items():
        if key not in out:
            out[key] = part
        elif key == "properties":
            if any(name in out[key] and text_of(out[key][name]) != text_of(part[name]) for name in part):
                return None
            out[key] = {**out[key], **part}
        elif key == "required":
            out[key] = [*out[key], *(name for name in part if name not in out[key])]
        elif key not in ("description", "default") and text_of(out[key]) != text_of(part):
            return None
    return out


class Sameness:
    """Whether a part of one document says the same as a part of another, references followed on both sides."""

    def __init__(self, old: Document, new: Document) -> None:
        self._old, self._new = old, new
        self._known: dict[tuple[str, str, bool], bool] = {}
        self._assumed: set[tuple[str, str, bool]] = set()

    def __call__(self, old: Json, new: Json, *, bare: bool = False) -> bool:
        """Compare two schemas; `bare` takes no account of descriptions. Schemas may be recursive: two places that
        are met again while they are being compared count as the same, unless a difference is found elsewhere.
        """
        self._assumed = set()
        found = self._same(old, new, bare)
        if found:
            self._known |= dict.fromkeys(self._assumed, True)
        return found

    def _same(self, old: Json, new: Json, bare: bool) -> bool:
        key = (text_of(old), text_of(new), bare)
        if key[0] == key[1] and '"$' not in key[0]:
            return True
        if key in self._known or key in self._assumed:
            return self._known.get(key, True)
        self._assumed.add(key)
        if not self._alike(self._old.view(old), self._new.view(new), bare):
            self._known[key] = False
            return False
        return True

    def _alike(self, a: View, b: View, bare: bool) -> bool:
        if a.null != b.null or set(a.required) != set(b.required) or len(a.prefix) != len(b.prefix):
            return False
        if (a.types is None) != (b.types is None) or set(a.types or ()) != set(b.types or ()):
            return False
        if (a.enum is None) != (b.enum is None) or set(map(text_of, a.enum or ())) != set(map(text_of, b.enum or ())):
            return False
        ignored = _PLAIN if bare else ()
        keys = [key for key in sorted({*a.words, *b.words}) if key not in ignored]
        return (
            self._by_name(a.properties, b.properties, bare)
            and all(self._same(a.item(i), b.item(i), bare) for i in range(len(a.prefix) + 1))
            and all(self._keyword(key, a.words, b.words, bare) for key in keys)
        )

    def _by_name(self, old: Mapping[str, Json], new: Mapping[str, Json], bare: bool) -> bool:
        return set(old) == set(new) and all(self._same(old[name], new[name], bare) for name in old)

    def _keyword(self, key: str, old: Mapping[str, Json], new: Mapping[str, Json], bare: bool) -> bool:
        if key not in old or key not in new:
            return False
        left, right = old[key], new[key]
        if key in REFS:  # one that was not followed, for it leads to itself or too far
            return self._same({key: left}, {key: right}, bare)
        if key in _BY_NAME:
            return self._by_name(left, right, bare)
        if key in _LISTS:
            return len(left) == len(right) and all(map(self._same, left, right, [bare] * len(left)))
        return self._same(left, right, bare) if key in _ONE else text_of(left) == text_of(right)

    def keyword(self, key: str, old: Mapping[str, Json], new: Mapping[str, Json]) -> bool:
        """Whether one keyword of two views says the same."""
        self._assumed = set()
        return self._keyword(key, old, new, bare=False)


def renames(a: View, b: View, same: Sameness) -> dict[str, str]:
    """Which property of an object has another name now: first those of one name in two case conventions, then those
    of one schema, each only where there is no choice. All others are gone, or new.
    """
    gone = [name for name in a.properties if name not in b.properties]
    fresh = [name for name in b.properties if name not in a.properties]
    found = _only(gone, fresh, lambda old, new: case_free(old) == case_free(new))
    gone = [name for name in gone if name not in found]
    fresh = [name for name in fresh if name not in found.values()]

    def alike(old: str, new: str) -> bool:
        return (old in a.required) == (new in b.required) and same(a.properties[old], b.properties[new], bare=True)

    return found | _only(gone, fresh, alike)


def _only(gone: Sequence[str], fresh: Sequence[str], fits: Callable[[str, str], bool]) -> dict[str, str]:
    """The pairs of names of which neither fits anything else."""
    fitting = {old: [new for new in fresh if fits(old, new)] for old in gone}
    taken = [new for news in fitting.values() for new in news]
    return {old: news[0] for old, news in fitting.items() if len(news) == 1 and taken.count(news[0]) == 1}


def case_free(name: str) -> str:
    """What is left of a name when its case convention is taken away.

    >>> case_free("order_id") == case_free("orderId") == case_free("Order-ID")
    True
    """
    return "".join(char for char in name if char not in "_- .").casefold() or name
