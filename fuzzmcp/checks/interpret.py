"""Reads whatever a client returned: error flag, structured value, text.

Results of both SDK majors and of fastmcp, dicts as on the wire, strings, tuples of (content, structured), content
blocks alone or in a list, and what frameworks make of them for a model: known by shape, no framework is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fuzzmcp.core.trace import Answer, Reading

_BLOCKS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "image": ("data", "base64", "url", "image_url"),
    "audio": ("data", "base64", "url"),
    "file": ("data", "base64", "url", "file_id"),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
"""Content blocks by their type, with a key that each has: those of MCP, and those that frameworks make of them."""


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
            return _of_blocks(value) if value and all(map(_is_block, value)) else Reading(None, value, _text(value))
        case Mapping():
            return _of_blocks([value]) if _is_block(value) else _of_mapping(value)
    flag = _flag(value)
    content = getattr(value, "content", None)
    if flag is None and content is None:
        return Reading(structured=_dumped(value), text=str(getattr(value, "text", "")))
    text = _text(content) if isinstance(content, (list, tuple)) else str(content or "")
    structured = _beside(value)
    return Reading(flag, _parsed(text) if flag is None and structured is None else structured, text)


def _flag(value: Any) -> bool | None:
    """The error flag of a result: its own, or the status of a message that answers a tool call."""
    flag = _first(value, "is_error", "isError")
    if flag is None and hasattr(value, "tool_call_id") and getattr(value, "status", None) in ("success", "error"):
        return bool(value.status == "error")
    return None if flag is None else bool(flag)


def _beside(value: Any) -> Any:
    """The structured content of a result: its own, or what a framework keeps beside the words for the model."""
    own = _first(value, "structured_content", "structuredContent")
    if own is not None:
        return own
    kept = [getattr(value, name, None) for name in ("artifact", "metadata")]
    return next((k["structured_content"] for k in kept if isinstance(k, Mapping) and "structured_content" in k), None)


def _is_block(item: Any) -> bool:
    """Whether this is a content block, or the text of one."""
    kind = item.get("type") if isinstance(item, Mapping) else getattr(item, "type", None)
    if not isinstance(kind, str) or kind not in _BLOCKS:
        return isinstance(item, str)
    return not isinstance(item, Mapping) or any(key in item for key in _BLOCKS[kind])


def _of_blocks(blocks: Sequence[Any]) -> Reading:
    """Content without anything beside it: the data is what a text block holds as JSON."""
    found = (_parsed(text) for text in map(_text_of, blocks) if text is not None)
    structured = next((value for value in found if value is not None), None)
    if structured is None and all(isinstance(block, str) for block in blocks):
        structured = blocks
    return Reading(None, structured, _text(blocks))


def _of_mapping(value: Mapping[str, Any]) -> Reading:
    flag = next((value[key] for key in ("isError", "is_error") if key in value), None)
    if flag is None and "toolUseId" in value and "status" in value:  # a tool result of Amazon Bedrock's form
        flag = value["status"] == "error"
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
    return "\n".join(text for text in map(_text_of, blocks) if text is not None)


def _text_of(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", block)
    return text if isinstance(text, str) else None


def shows(reading: Reading, answer: Answer) -> bool:
    """Whether the returned value carries the content of that answer.

    >>> shows(interpret('{"a": 1}'), Answer("success", value_json='{"a":1}'))
    True
    """
    if answer.value_json is not None and reading.structured is not None and reading.structured == answer.value:
        return True
    return bool(answer.text) and answer.text in reading.text
