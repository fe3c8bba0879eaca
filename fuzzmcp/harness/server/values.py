"""Result values: unique to a request, drifted, or odd. Pure, and computed once for each tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.drift import Drift, apply, canonical_drift, canonical_json

_BIG = 2**53 + 1
_ODD_TEXT = "nai\u0308ve \u2603 \u05d0\u05d1 \U0001f600 \u202e\u200b"


def unique_value(tool: Tool, arguments: dict[str, Any], serial: int, base: Any = None) -> Any:
    """The tool's structured result for one request, or None without an outputSchema.

    The sample output (or `base`) with same-named arguments echoed into it where that stays valid, and `serial` worked
    into the first property that is free to differ, so that every request has another answer.
    """
    if tool.output_schema is None:
        return None
    text, marked = _plan(tool, canonical_json(arguments), None if base is None else canonical_json(base))
    value = json.loads(text)
    if marked is not None:
        value[marked] = _mark(value[marked], serial)
    return value


def _mark(value: Any, serial: int) -> Any:
    return f"{value}-{serial}" if isinstance(value, str) else value + serial


@lru_cache(maxsize=512)
def _plan(tool: Tool, arguments: str, base: str | None) -> tuple[str, str | None]:
    """The echoed sample as JSON text, and the property that carries the serial number."""
    value = tool.sample_output if base is None else json.loads(base)
    if not isinstance(value, dict):
        return canonical_json(value), None
    given = json.loads(arguments)
    for name in [name for name in value if name in given]:
        echoed = {**value, name: given[name]}
        value = echoed if tool.accepts_output(echoed) else value
    for kind in (str, int, float):
        for name, old in value.items():
            if name not in given and type(old) is kind and _free(tool, value, name):
                return canonical_json(value), name
    return canonical_json(value), None


def _free(tool: Tool, value: dict[str, Any], name: str) -> bool:
    if (name,) in tool.formats:
        return False
    return all(tool.accepts_output({**value, name: _mark(value[name], n)}) for n in (1, 99_999))


def drifted(tool: Tool, value: Any, drift: Drift | None) -> Any:
    """The value after the edits; a drift of None is the tool's canonical one."""
    if drift is None:
        required = (tool.output_schema or {}).get("required") or []
        drift = canonical_drift(tool.sample_output, required)
    return apply(drift, value)


def breaks_schema(tool: Tool, value: Any) -> bool:
    """Whether the outputSchema rejects `value`, formats not checked."""
    return _breaks(tool, canonical_json(value))


@lru_cache(maxsize=4096)
def _breaks(tool: Tool, value: str) -> bool:
    return not tool.accepts_output(json.loads(value))


def odd_value(tool: Tool, value: Any, name: str) -> Any:
    """A valid but unusual variant of `value`: every part is replaced for which the result stays valid."""
    return json.loads(_odd(tool, canonical_json(value), name))


@lru_cache(maxsize=512)
def _odd(tool: Tool, text: str, name: str) -> str:
    return canonical_json(_made_odd(tool, json.loads(text), name))


def _made_odd(tool: Tool, value: Any, name: str) -> Any:
    match name:
        case "extra":
            wider = {**value, "x_added": {"by": "a newer backend"}} if isinstance(value, dict) else value
            return wider if tool.accepts_output(wider) else value
        case "empty_strings":
            return _replaced(tool, value, str, lambda _: "")
        case "unicode":
            return _replaced(tool, value, str, lambda old: f"{old} {_ODD_TEXT}")
        case "big_integers":
            return _replaced(tool, value, int, lambda _: _BIG)
        case _:
            return value


def _replaced(tool: Tool, value: Any, kind: type, new: Callable[[Any], Any]) -> Any:
    for path in list(_leaves(value, kind, ())):
        if path in tool.formats:
            continue
        changed = _with(value, path, new)
        value = changed if tool.accepts_output(changed) else value
    return value


def _leaves(node: Any, kind: type, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, child in pairs:
        if type(child) is kind or (kind is int and type(child) is float):
            yield (*path, str(name))
        yield from _leaves(child, kind, (*path, str(name)))


def _with(node: Any, path: tuple[str, ...], new: Callable[[Any], Any]) -> Any:
    if not path:
        return new(node)
    copy = node.copy()
    key: Any = int(path[0]) if isinstance(node, list) else path[0]
    copy[key] = _with(node[key], path[1:], new)
    return copy
