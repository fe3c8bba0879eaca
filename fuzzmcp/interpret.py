"""Reads whatever a client returned: error flag, structured value, text.

Results of both SDK majors and of fastmcp, dicts as on the wire, strings, tuples of (content, structured).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fuzzmcp.trace import Answer


@dataclass(frozen=True)
class Reading:
    """What a returned value says. `is_error` is its error flag, None where it has none; `looks_failed` says that plain
    data without a flag reads like an error (`status: error`, or an `error` key)."""

    is_error: bool | None = None
    structured: Any = None
    text: str = ""
    looks_failed: bool = False

    @property
    def says_error(self) -> bool:
        """Whether a caller would take it for an error."""
        return bool(self.is_error) or self.looks_failed


def interpret(value: Any) -> Reading:
    """Read a returned value; never raises.

    >>> interpret({"isError": True, "content": [{"type": "text", "text": "no"}]})
    Reading(is_error=True, structured=None, text='no', looks_failed=False)
    >>> interpret('{"a": 1}').structured
    {'a': 1}
    """
    try:
        return _interpret(value)
    except Exception:
        return Reading()


def _interpret(value: Any) -> Reading:
    match value:
        case None:
            return Reading()
        case str():
            return Reading(structured=_parsed(value), text=value)
        case tuple() if len(value) == 2 and isinstance(value[0], (list, tuple)):
            return Reading(structured=value[1], text=_text(value[0]))
        case list() | tuple():
            return Reading(structured=value, text=_text(value))
        case Mapping():
            return _of_mapping(value)
    flag = _first(value, "is_error", "isError")
    content = getattr(value, "content", None)
    if flag is None and content is None:
        return Reading(structured=_dumped(value), text=str(getattr(value, "text", "")))
    text = _text(content) if isinstance(content, (list, tuple)) else str(content or "")
    structured = _first(value, "structured_content", "structuredContent")
    return Reading(None if flag is None else bool(flag), structured, text)


def _of_mapping(value: Mapping[str, Any]) -> Reading:
    flag = next((value[key] for key in ("isError", "is_error") if key in value), None)
    content = value.get("content")
    if flag is None and not isinstance(content, list) and "structuredContent" not in value:
        failed = value.get("status") == "error" or bool(value.get("error"))
        return Reading(None, value, json.dumps(value, ensure_ascii=False, default=str), failed)
    structured = value.get("structuredContent", value.get("structured_content"))
    return Reading(None if flag is None else bool(flag), structured, _text(content or []))


def _first(value: Any, *names: str) -> Any:
    """The first attribute that the value has: asking for the name of the other major may warn."""
    return next((getattr(value, name) for name in names if hasattr(value, name)), None)


def _dumped(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else vars(value) if hasattr(value, "__dict__") else value


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _text(blocks: Any) -> str:
    parts = []
    for block in blocks:
        text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", block)
        if isinstance(text, str):
            parts.append(text)
    return "\n".join(parts)


def shows(reading: Reading, answer: Answer) -> bool:
    """Whether the returned value carries the content of that answer.

    >>> shows(interpret('{"a": 1}'), Answer("success", value_json='{"a":1}'))
    True
    """
    if answer.value_json is not None and reading.structured is not None and reading.structured == answer.value:
        return True
    return bool(answer.text) and answer.text in reading.text
