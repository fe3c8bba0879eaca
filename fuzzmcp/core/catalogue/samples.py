"""One fixed value for a JSON schema: full, valid, and the same every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

Json = Any
_TEXTS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com/1",
    "uuid": "3f2a9c1e-0000-4000-8000-000000000001",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
}
_DEPTH_DEEP = 3
"""References inside references from which on optional parts of a sample are left out: schemas may be recursive."""
_DEPTH_MAX = 8


class UnresolvableRef(ValueError):
    """A local `$ref` that leads nowhere."""


def sample(schema: Json) -> Json:
    """One fixed value for a schema: every property present, one item in each array, taken from `examples`, `default`,
    `const` or `enum` where the schema has them.

    >>> sample({"type": "object", "properties": {"id": {"type": "string"}, "n": {"type": "integer", "minimum": 3}}})
    {'id': 'id-1', 'n': 40}
    """
    return _sample(schema, schema, "value", 0)


def _sample(schema: Json, root: Json, name: str, depth: int) -> Json:
    if schema is True or schema == {}:
        return f"{name}-1"
    if depth > _DEPTH_MAX or not isinstance(schema, Mapping):
        return None
    for key in ("$ref", "$dynamicRef"):
        if key in schema:
            return _sample(resolve(schema[key], root), root, name, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("default") is not None:
        return schema["default"]
    for key in ("examples", "enum"):
        if schema.get(key):
            return schema[key][0]
    if schema.get("allOf"):
        merged: dict[str, Json] = {k: v for k, v in schema.items() if k != "allOf"}
        for part in schema["allOf"]:
            if isinstance(part, Mapping):
                merged = _merge(merged, resolve(part["$ref"], root) if "$ref" in part else part)
        return _sample(merged, root, name, depth)
    for key in ("anyOf", "oneOf"):
        options = [o for o in schema.get(key) or () if o != {"type": "null"}]
        if options:
            chosen = options[0] if isinstance(options[0], Mapping) else {}
            return _sample(_merge({k: v for k, v in schema.items() if k != key}, chosen), root, name, depth)
    return _sample_type(schema, root, name, depth)


def _merge(left: Mapping[str, Json], right: Mapping[str, Json]) -> dict[str, Json]:
    merged = {**left, **right}
    for key in ("properties", "$defs"):
        if key in left or key in right:
            merged[key] = {**left.get(key, {}), **right.get(key, {})}
    merged["required"] = [*left.get("required", []), *right.get("required", [])]
    return merged


def resolve(ref: str, root: Json) -> Json:
    """The schema that a local `$ref` (`#`, `#/$defs/name`, `#anchor`) names.

    Raises:
        UnresolvableRef: Nothing stands there.
    """
    node = root
    pointer = unquote(ref.removeprefix("#"))
    if pointer and not pointer.startswith("/"):
        return _anchored(pointer, root)
    for part in pointer.split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        elif isinstance(node, Mapping) and part in node:
            node = node[part]
        else:
            raise UnresolvableRef(f"$ref '{ref}' leads nowhere")
    return node


def _anchored(anchor: str, root: Json) -> Json:
    for node in _subschemas(root):
        if anchor in (node.get("$anchor"), node.get("$dynamicAnchor")):
            return node
    raise UnresolvableRef(f"$ref '#{anchor}' leads nowhere")


def _subschemas(node: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(node, Mapping):
        yield node
    for child in node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ():
        yield from _subschemas(child)


def _sample_type(schema: Mapping[str, Json], root: Json, name: str, depth: int) -> Json:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    match kind:
        case "object":
            return _sample_object(schema, root, depth)
        case "array":
            item = schema.get("items", True)
            tuple_of = item if isinstance(item, list) else schema.get("prefixItems", ())  # a list until draft 2019-09
            item = schema.get("additionalItems", True) if isinstance(item, list) else item
            first = [_sample(part, root, name, depth) for part in tuple_of]
            least = schema.get("minItems", 0)
            count = max(least, 0 if depth >= _DEPTH_DEEP or not schema.get("maxItems", 1) else 1) - len(first)
            more = [] if item is False else [_sample(item, root, name, depth)] * max(count, 0)
            return first + more
        case "string":
            return _sample_string(schema, name)
        case "integer" | "number":
            return _sample_number(schema, whole=kind == "integer")
        case "boolean":
            return True
        case _:
            return None


def _sample_object(schema: Mapping[str, Json], root: Json, depth: int) -> dict[str, Json]:
    properties = schema.get("properties", {})
    names = [*properties, *(name for name in schema.get("required", ()) if name not in properties)]
    value = {}
    for name in names:
        part = properties.get(name, schema.get("additionalProperties", True))
        deep = depth >= _DEPTH_DEEP and name not in schema.get("required", ())
        if part is not False and not deep:
            value[name] = _sample(part, root, name, depth)
    return value


def _sample_string(schema: Mapping[str, Json], name: str) -> str:
    text = _TEXTS.get(schema.get("format", ""), f"{name}-1")
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    text = text.ljust(least, "x")
    return text if most is None else text[:most]


def _sample_number(schema: Mapping[str, Json], *, whole: bool) -> float | int:
    step = schema.get("multipleOf", 1 if whole else None)
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: float | int = 40 if whole else 40.5
    if step:
        value = round(40 / step) * step
    if (low is not None and value <= low) or (high is not None and value >= high):
        value = low if low is not None else high
        if value in (schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")):
            value += (step or 0.5) if low is not None else -(step or 0.5)
        if step:
            value = -(-value // step) * step
    return int(value) if whole else value


def formats_of(schema: Json, value: Json) -> Iterator[tuple[tuple[str, ...], str]]:
    def walk(part: Json, node: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        if isinstance(part, Mapping) and "$ref" in part:
            part = resolve(part["$ref"], schema)
        if not isinstance(part, Mapping):
            return
        for option in (*part.get("anyOf", ()), *part.get("oneOf", ()), *part.get("allOf", ())):
            yield from walk(option, node, path)
        if isinstance(part.get("format"), str):
            yield path, part["format"]
        if isinstance(node, dict):
            for name, child in node.items():
                yield from walk(part.get("properties", {}).get(name), child, (*path, name))
        elif isinstance(node, list):
            for i, child in enumerate(node):
                yield from walk(part.get("items"), child, (*path, str(i)))

    return walk(schema, value, ())
