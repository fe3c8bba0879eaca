"""Answers: what the fake sends back for one request, as one pure function behind one `match`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.drift import Drift, canonical_json
from fuzzmcp.core.faults import ANSWERS
from fuzzmcp.core.protocol import has_structured_content
from fuzzmcp.core.script import OK, Action
from fuzzmcp.core.trace import Answer
from fuzzmcp.harness.server import values, wire
from fuzzmcp.harness.server.wire import Frame

_readable = json.JSONEncoder(ensure_ascii=False).encode
_sorted = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode
WRONG_ID = 987_654
_FOREIGN = 700_000
_WORDS_PER_REPEAT = "lorem ipsum dolor sit amet "
_TRACEBACK = """Traceback (most recent call last):
  File "/srv/crm/tools.py", line 88, in handle
    row = cursor.fetchone()["total"]
TypeError: 'NoneType' object is not subscriptable"""

_PROSE = {
    "429": "API rate limit exceeded: too many requests",
    "429cap": "API rate limit exceeded: monthly spend cap reached; access is restored by an administrator",
    "504": "timeout_error: the request to the backend timed out",
    "529": "overloaded_error: the backend is overloaded",
}
_CODES = {
    "429": "rate_limit_error",
    "429cap": "spend_cap_reached",
    "504": "timeout_error",
    "529": "overloaded_error",
    "error": "invalid_request_error",
}


class Asked(NamedTuple):
    """The request that an answer belongs to, as the fake understood it.

    `ok_result` is the result that a real server behind the fake gave, or None. `plain` is what `ok` sends where the
    method is not `tools/call`: a result, or a JSON-RPC error as `(code, message, data)`.
    """

    request_id: Any
    serial: int
    version: str
    tool: Tool | None = None
    arguments: dict[str, Any] | None = None
    base: Any = None
    ok_result: Frame | None = None
    plain: Frame | tuple[int, str | None, Any] | None = None


class Reply(NamedTuple):
    """What goes out: a frame, a raw line, nothing at all (both None), or the end of the stream (`closes`)."""

    frame: Frame | None = None
    line: str | None = None
    answer: Answer | None = None
    closes: bool = False


def why_undeliverable(action: Action, asked: Asked) -> str | None:
    """Why this answer cannot be given to this request, or None: the tool at hand may not have what it takes."""
    tool = asked.tool
    if ANSWERS[action.name].methods != ("call",) or action.name == "toolgone":
        return None
    if tool is None:
        return f"{action}: the request names an unknown tool"
    structured = tool.output_schema is not None and has_structured_content(asked.version)
    if not structured and (action.name in ("drift", "unstructured", "mismatch") or action.value == "no_text"):
        return f"{action}: {tool.name} promises no structured content"
    if action.name == "drift":
        before = _value(asked)
        if _same(values.drifted(tool, before, _drift(action)), before):
            return f"{action}: the edits change nothing in the output of {tool.name}"
    if action.name == "odd" and action.value not in ("many_blocks", "no_text", "links"):
        before = _value(asked)
        if before is None or _same(values.odd_value(tool, before, str(action.value)), before):
            return f"{action}: the outputSchema of {tool.name} leaves no room for it"
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: to Python `True == 1`."""
    return canonical_json(one) == canonical_json(other)


def build(action: Action, asked: Asked) -> Reply:
    """The reply that `action` gives to the request."""
    match action.name:
        case "rpc" | "toolgone":
            return _protocol_error(action, asked)
        case "malformed":
            return Reply(wire.response(asked.request_id, _malformed(asked)), answer=Answer("broken"))
        case "notjson":
            return Reply(line="Loaded 3 plugins in 0.2 s")
        case "nullid":
            return Reply(wire.error(None, wire.INVALID_REQUEST))
        case "hang":
            return Reply()
        case "close" | "exit":
            return Reply(closes=True)
        case "wrongid":
            return foreign(asked)
        case "strid" | "batch" | "truncated":
            return _mangled(action.name, _success(OK, asked), asked)
        case _:
            return _success(action, asked)


def foreign(asked: Asked) -> Reply:
    """A well-formed response to an id that the client never used, with content that belongs to no request."""
    if asked.tool is None:
        reply = _plain(asked)
    else:
        reply = _success(OK, asked._replace(serial=asked.serial + _FOREIGN, ok_result=None))
    answer = None if reply.answer is None else replace(reply.answer, foreign=True)
    return Reply({**(reply.frame or {}), "id": WRONG_ID}, answer=answer)


def _mangled(name: str, whole: Reply, asked: Asked) -> Reply:
    frame, answer = whole.frame or {}, whole.answer
    match name:
        case "strid":
            shown = asked.request_id
            return Reply({**frame, "id": str(shown) if not isinstance(shown, str) else f"{shown} "}, answer=answer)
        case "batch":
            return Reply(line=json.dumps([frame], ensure_ascii=False), answer=answer)
        case _:
            text = json.dumps(frame, ensure_ascii=False)
            return Reply(line=text[: len(text) // 2])


def _protocol_error(action: Action, asked: Asked) -> Reply:
    if action.name == "toolgone":
        code, message = wire.INVALID_PARAMS, f"Unknown tool: {asked.tool.name if asked.tool else '?'}"
    else:
        code, message = int(action.value), None  # type: ignore[arg-type]
    frame = wire.error(asked.request_id, code, message)
    return Reply(frame, answer=Answer("protocol_error", text=frame["error"]["message"], code=code))


def _malformed(asked: Asked) -> Any:
    if asked.tool is not None:
        return wire.complete({"content": "an order", "isError": False}, asked.version)
    return wire.complete({"tools": 7, "protocolVersion": 7, "capabilities": 7}, asked.version)


def _success(action: Action, asked: Asked) -> Reply:
    if asked.tool is None:
        return _plain(asked)
    if action.name == "ok" and asked.ok_result is not None:
        return _of_real_server(asked)
    kind, content, structured = _content(action, asked)
    structured = structured if has_structured_content(asked.version) else None
    text = "\n".join(block["text"] for block in content if block["type"] == "text")
    result = wire.call_result(content, structured, kind == "execution_error", asked.version)
    promised = asked.tool.output_schema is not None and has_structured_content(asked.version)
    visible = kind == "success" and promised and _visible(action, asked.tool, structured)
    answer = Answer(
        kind,  # type: ignore[arg-type]
        value_json=None if structured is None else canonical_json(structured),
        text=text,
        visible=visible,
        hint=float(action.value) if action.name == "429" and isinstance(action.value, (int, float)) else None,
    )
    return Reply(wire.response(asked.request_id, result), answer=answer)


def _visible(action: Action, tool: Tool, structured: Any) -> bool:
    if structured is None:
        return True
    return action.name == "drift" and values.breaks_schema(tool, structured)


def _plain(asked: Asked) -> Reply:
    if isinstance(asked.plain, tuple):
        code, message, data = asked.plain
        frame = wire.error(asked.request_id, code, message, data)
        return Reply(frame, answer=Answer("protocol_error", text=frame["error"]["message"], code=code))
    return Reply(wire.response(asked.request_id, asked.plain or {}), answer=Answer("success"))


def _of_real_server(asked: Asked) -> Reply:
    result = wire.complete(dict(asked.ok_result or {}), asked.version)
    structured = result.get("structuredContent")
    texts = [block.get("text", "") for block in result.get("content", ()) if block.get("type") == "text"]
    answer = Answer(
        "execution_error" if result.get("isError") else "success",
        value_json=None if structured is None else canonical_json(structured),
        text="\n".join(texts),
        visible=asked.tool is not None and structured is not None and values.breaks_schema(asked.tool, structured),
    )
    return Reply(wire.response(asked.request_id, result), answer=answer)


def _value(asked: Asked) -> Any:
    assert asked.tool is not None
    return values.unique_value(asked.tool, asked.arguments or {}, asked.serial, asked.base)


def _drift(action: Action) -> Drift | None:
    return action.value if isinstance(action.value, tuple) else None


def _content(action: Action, asked: Asked) -> tuple[str, list[Frame], Any]:
    """Kind, content blocks and structured content of a `tools/call` result."""
    tool = asked.tool
    assert tool is not None
    value = _value(asked)
    text = _text(tool, asked, value)
    match action.name:
        case "error" | "429" | "429cap" | "504" | "529" | "traceback":
            return "execution_error", [wire.text_block(error_text(action))], None
        case "drift":
            value = values.drifted(tool, value, _drift(action))
            return "success", [wire.text_block(_text(tool, asked, value))], value
        case "unstructured":
            return "success", [wire.text_block(text)], None
        case "mismatch":
            other = values.unique_value(tool, {}, asked.serial + 500_000)
            return "success", [wire.text_block(_text(tool, asked, other))], value
        case "empty":
            return "success", [], None
        case "huge":
            filler = _WORDS_PER_REPEAT * (int(action.value) * 4 // len(_WORDS_PER_REPEAT) + 1)  # type: ignore[arg-type]
            return "success", [wire.text_block(text), wire.text_block(filler)], value
        case "odd":
            value = values.odd_value(tool, value, str(action.value)) if value is not None else None
            return "success", _odd_blocks(str(action.value), _text(tool, asked, value), asked.version), value
        case _:
            return "success", [wire.text_block(text)], value


def _text(tool: Tool, asked: Asked, value: Any) -> str:
    if value is not None:
        return _readable(value)
    arguments = _sorted(asked.arguments or {})
    return f"{tool.name} done: {arguments} (answer {asked.serial})"


def _odd_blocks(name: str, text: str, version: str) -> list[Frame]:
    match name:
        case "no_text":
            return []
        case "links":
            return [wire.text_block(text), wire.link_block(version)]
        case "many_blocks":
            return [wire.text_block(text), wire.text_block("Source: orders database."), wire.text_block("")]
        case _:
            return [wire.text_block(text)]


def error_text(action: Action) -> str:
    """The text of an execution error, as prose or as a JSON envelope.

    >>> error_text(Action("429", 2.0))
    'API rate limit exceeded: too many requests\\nretry-after: 2'
    """
    name = action.name
    if name == "traceback":
        return _TRACEBACK
    message = str(action.value) if name == "error" else _PROSE[name]
    hint = action.value if name == "429" and isinstance(action.value, (int, float)) else None
    shown = None if hint is None else int(hint) if float(hint).is_integer() else hint
    if action.style == "json":
        envelope: Frame = {
            "code": _CODES[name],
            "message": message,
            "retryable": "transient" in ANSWERS[name].traits,
            "details": {} if shown is None else {"retry_after_seconds": shown},
        }
        return json.dumps(envelope, ensure_ascii=False)
    return message if shown is None else f"{message}\nretry-after: {shown}"
