"""Drift: what a backend does to its results when it changes them without notice.

A drift is a short list of edits on one full, valid value. Edits are pure and total: one whose path is gone does
nothing. Edits rather than values of a mutated schema, because they shrink to one readable smallest drift.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fuzzmcp.core.cursor import Cursor
from fuzzmcp.core.errors import FuzzmcpError

Op = Literal["rename", "retype", "drop", "replace", "reformat", "add", "wrap"]
TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_ORDER: dict[str, int] = {
    op: i for i, op in enumerate(("rename", "retype", "drop", "replace", "reformat", "add", "wrap"))
}
_BARE = re.compile(r"[A-Za-z0-9_$.][A-Za-z0-9_$.-]*")
_OTHER_FORMATS = {"date": "01/02/2000", "date-time": "01/02/2000 03:04", "email": "nobody", "uri": "not a uri"}


class DriftError(FuzzmcpError, ValueError):
    """A drift text that cannot be read; `position` counts characters from its start."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True)
class Edit:
    """One edit of a value: `op` at `path`, with the new key, type name or canonical JSON text in `argument`.

    >>> str(Edit("rename", ("order_id",), "orderId"))
    'order_id>orderId'
    """

    op: Op
    path: tuple[str, ...]
    argument: str = ""

    def __str__(self) -> str:
        path = "/".join(map(_segment, self.path))
        match self.op:
            case "rename":
                return f"{path}>{_segment(self.argument)}"
            case "retype":
                return f"{path}:{self.argument}"
            case "drop":
                return f"-{path}"
            case "replace":
                return f"{path}={self.argument}"
            case "reformat":
                return f"{path}~{self.argument}"
            case "add":
                return f"+{path}={self.argument}"
            case "wrap":
                return f"^{path}"

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: path first, then the simplest edit. Candidates stand in this order, so it is how edits shrink."""
        return (len(self.path), self.path, _ORDER[self.op], self.argument)


Drift = tuple[Edit, ...]


def text_of(drift: Drift) -> str:
    """The shortest spelling of a drift: `parse_drift` reads it back.

    >>> text_of((Edit("drop", ("status",)), Edit("retype", ("total",), "string")))
    '-status;total:string'
    """
    return ";".join(map(str, drift))


def parse_drift(text: str) -> Drift:
    """Read edits joined by `;`.

    Raises:
        DriftError: The text is no drift; the error has the position.

    >>> parse_drift("order_id>orderId;items/0/price:string")[1].path
    ('items', '0', 'price')
    """
    return tuple(_Reader(text).edits())


class _Reader(Cursor):
    def edits(self) -> Iterator[Edit]:
        yield self.edit()
        while not self.ended:
            self.expect(";")
            yield self.edit()

    def expect(self, mark: str) -> None:
        if not self.eat(mark):
            raise DriftError(f"expected '{mark}', found {self.found()}", self.at)

    def edit(self) -> Edit:
        match self.peek():
            case "-":
                self.at += 1
                return Edit("drop", self.path())
            case "^":
                self.at += 1
                return Edit("wrap", self.path())
            case "+":
                self.at += 1
                path = self.path()
                self.expect("=")
                return Edit("add", path, self.literal())
        path, start = self.path(), self.at
        match self.peek():
            case ">":
                self.at += 1
                return Edit("rename", path, self.segment())
            case ":":
                self.at += 1
                word = self.segment()
                if word not in TYPES:
                    raise DriftError(f"unknown type '{word}': one of {', '.join(TYPES)}", start + 1)
                return Edit("retype", path, word)
            case "=":
                self.at += 1
                return Edit("replace", path, self.literal())
            case "~":
                self.at += 1
                literal = self.literal()
                if not literal.startswith('"'):
                    raise DriftError("expected a JSON string behind '~'", start + 1)
                return Edit("reformat", path, literal)
        raise DriftError("expected one of > : = ~ behind the path", self.at)

    def path(self) -> tuple[str, ...]:
        segments = [self.segment()]
        while self.eat("/"):
            segments.append(self.segment())
        return tuple(segments)

    def segment(self) -> str:
        if self.peek() == '"':
            start, value = self.at, json.loads(self.literal())
            if not isinstance(value, str):  # pragma: no cover - a literal that starts with a quote is a string
                raise DriftError("expected a quoted name", start)
            return value
        bare = self.take(_BARE)
        if bare is None:
            raise DriftError("expected a property name or an index", self.at)
        return bare

    def literal(self) -> str:
        try:
            return self.json(_DECODER, canonical_json)[1]
        except (ValueError, RecursionError) as error:
            raise DriftError(f"expected a JSON value ({_first_line(error)})", self.at) from None


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is out of range")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical_json(value: Any) -> str:
    """JSON text with no spaces; raises ValueError for what UTF-8 cannot carry (lone surrogates).

    >>> canonical_json({"a": [1, "é"]})
    '{"a":[1,"é"]}'
    """
    text = _compact(value)
    text.encode()
    return text


def _segment(name: str) -> str:
    return name if _BARE.fullmatch(name) else canonical_json(name)


def apply(drift: Drift, value: Any) -> Any:
    """The value with every edit made, in order; the given value is left as it was.

    >>> apply(parse_drift("id>ID;-x"), {"id": 1, "x": 2})
    {'ID': 1}
    """
    for edit in drift:
        value = _apply(edit, value)
    return value


def _apply(edit: Edit, value: Any) -> Any:
    def at(node: Any, path: tuple[str, ...]) -> Any:
        if len(path) == 1:
            return _edit_here(edit, node, path[0])
        key = _key(node, path[0])
        if key is None:
            return node
        copy = node.copy()
        copy[key] = at(node[key], path[1:])
        return copy

    return at(value, edit.path)


def _key(node: Any, name: str) -> Any:
    """The key of `name` in a container, or None when it is not there."""
    if isinstance(node, dict):
        return name if name in node else None
    if isinstance(node, list) and name.isascii() and name.isdigit() and int(name) < len(node):
        return int(name)
    return None


def _edit_here(edit: Edit, node: Any, name: str) -> Any:
    if edit.op == "wrap":
        return {name: node}
    if edit.op == "add":
        return _added(node, name, json.loads(edit.argument))
    key = _key(node, name)
    if key is None:
        return node
    if edit.op == "rename":
        if not isinstance(node, dict) or edit.argument in node:
            return node
        return {(edit.argument if k == key else k): v for k, v in node.items()}
    copy = node.copy()
    match edit.op:
        case "drop":
            del copy[key]
        case "retype":
            copy[key] = retyped(node[key], edit.argument)
        case "replace":
            copy[key] = json.loads(edit.argument)
        case "reformat":
            copy[key] = json.loads(edit.argument) if isinstance(node[key], str) else node[key]
    return copy


def _added(node: Any, name: str, value: Any) -> Any:
    """A new key in an object, or the next item of an array, which its index names."""
    if isinstance(node, dict) and name not in node:
        return {**node, name: value}
    return [*node, value] if isinstance(node, list) and name == str(len(node)) else node


def retyped(value: Any, type_name: str) -> Any:
    """The same value as another JSON type, as a sloppy backend would write it.

    >>> retyped(12.5, "string"), retyped("7", "integer"), retyped("x", "array")
    ('12.5', 7, ['x'])
    """
    match type_name:
        case "string":
            return value if isinstance(value, str) else _as_text(value)
        case "number" | "integer":
            try:
                number = float(value)
                number = number if abs(number) < 1e15 else 0.0
            except (TypeError, ValueError, OverflowError):
                number = 0.0
            return int(number) if type_name == "integer" or number == int(number) else number
        case "boolean":
            return bool(value)
        case "array":
            return value if isinstance(value, list) else [value]
        case "object":
            return value if isinstance(value, dict) else {"value": value}
        case _:
            return None


def _as_text(value: Any) -> str:
    try:
        return canonical_json(value)
    except ValueError:  # lone surrogates: only escaped can they be sent
        return json.dumps(value, separators=(",", ":"))


def other_case(name: str) -> str:
    """The name in the other case convention: snake_case and camelCase swap, a single word is capitalised.

    >>> other_case("order_id"), other_case("orderId"), other_case("total")
    ('orderId', 'order_id', 'Total')
    """
    if "_" in name.strip("_"):
        head, *rest = [part for part in name.split("_") if part]
        return head + "".join(part[:1].upper() + part[1:] for part in rest)
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m.group(1).lower(), name)
    if snake != name:
        return snake
    return name[:1].upper() + name[1:] if name[:1].islower() else name.lower() if name[:1].isupper() else name + "_"


def candidates(value: Any, formats: dict[tuple[str, ...], str] | None = None) -> list[Edit]:
    """Every edit worth trying on `value`, path first, then simplest edit.

    Args:
        value: The full valid value that will be edited.
        formats: The `format` keyword of the schema at a path, where it has one.

    >>> [str(e) for e in candidates({"n": 1})]
    ['+extra="x"', 'n>N', 'n:string', '-n', 'n=null', '^data']
    """
    found = list(_candidates(value, (), formats or {}))
    if isinstance(value, dict):
        found.append(Edit("add", (_unused("extra", value),), '"x"'))
    return [*sorted(found, key=lambda edit: edit.order), Edit("wrap", ("data",))]


def _unused(name: str, value: dict[str, Any]) -> str:
    while name in value:
        name += "_"
    return name


def _candidates(node: Any, path: tuple[str, ...], formats: dict[tuple[str, ...], str]) -> Iterator[Edit]:
    items: Any = ()
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, list):
        items = ((str(i), item) for i, item in enumerate(node))
    for name, child in items:
        here = (*path, name)
        if isinstance(node, dict) and (new := other_case(name)) not in node:
            yield Edit("rename", here, new)
        yield Edit("retype", here, "number" if isinstance(child, str) else "string")
        if isinstance(node, dict):
            yield Edit("drop", here)
        if child is not None:
            yield Edit("replace", here, "null")
        if isinstance(child, str) and (other := _OTHER_FORMATS.get(formats.get(here, ""))):
            yield Edit("reformat", here, canonical_json(other))
        yield from _candidates(child, here, formats)
    if isinstance(node, list) and node:
        yield Edit("add", (*path, str(len(node))), "null")  # who looks at the first item only?


def canonical_drift(value: Any, required: list[str]) -> Drift:
    """What a bare `drift` means: rename the first required property, turn the first number into a string.

    >>> text_of(canonical_drift({"order_id": "A1", "total": 3}, ["order_id"]))
    'order_id>orderId;total:string'
    """
    edits: list[Edit] = []
    if isinstance(value, dict) and value:
        first = next((name for name in required if name in value), next(iter(value)))
        edits.append(Edit("rename", (first,), other_case(first)))
        number = _first_number(value, ())
        if number is not None and number[0] != first:
            edits.append(Edit("retype", number, "string"))
    else:
        edits.append(Edit("wrap", ("data",)))
    return tuple(edits)


def _first_number(node: Any, path: tuple[str, ...]) -> tuple[str, ...] | None:
    if isinstance(node, (int, float)) and not isinstance(node, bool):
        return path or None
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, child in pairs:
        found = _first_number(child, (*path, str(name)))
        if found is not None:
            return found
    return None
