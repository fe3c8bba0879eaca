"""Answers: what the fake sends back for one request. Pure: one function for each answer of the vocabulary."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.drift import Drift, canonical_json
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
    """What goes out: a frame, a raw line, nothing at all (both None), or the end of the stream (`closes`).

    `remark` tells people more of the end of a stream.
    """

    frame: Frame | None = None
    line: str | None = None
    answer: Answer | None = None
    closes: bool = False
    remark: str = ""


class Result(NamedTuple):
    """What a `tools/call` result holds. `drifted` content has to be held against the outputSchema."""

    blocks: list[Frame]
    structured: Any = None
    is_error: bool = False
    drifted: bool = False


Builder = Callable[[Action, Asked], Reply]
BUILDERS: dict[str, Builder] = {}
"""The function that builds each answer of the vocabulary, by the fault's name."""


def answers(*names: str) -> Callable[[Builder], Builder]:
    """Register the function that builds these answers."""

    def register(builder: Builder) -> Builder:
        BUILDERS.update(dict.fromkeys(names, builder))
        return builder

    return register


def results(
    *names: str,
) -> Callable[[Callable[[Action, Asked, Tool], Result]], Callable[[Action, Asked, Tool], Result]]:
    """Register the function that makes the content of these `tools/call` results; other requests get a plain answer."""

    def register(result: Callable[[Action, Asked, Tool], Result]) -> Callable[[Action, Asked, Tool], Result]:
        @answers(*names)
        def build(action: Action, asked: Asked) -> Reply:
            tool = asked.tool
            return _plain(asked) if tool is None else _reply(result(action, asked, tool), action, asked, tool)

        return result

    return register


def build(action: Action, asked: Asked) -> Reply:
    """The reply that `action` gives to the request."""
    return BUILDERS[action.name](action, asked)


def why_undeliverable(action: Action, asked: Asked) -> str | None:
    """Why this answer cannot be given to this request, or None: the tool at hand may not have what it takes."""
    tool, fault = asked.tool, action.fault
    if fault.methods != ("call",) or "protocol_error" in fault.traits:
        return None
    if tool is None:
        return f"{action}: the request names an unknown tool"
    structured = tool.output_schema is not None and has_structured_content(asked.version)
    if not structured and ("structured" in fault.ways or action.value == "no_text"):
        return f"{action}: {tool.name} promises no structured content"
    if fault.value_kind == "drift":
        before = _value(asked, tool)
        if _same(values.drifted(tool, before, _drift(action)), before):
            return f"{action}: the edits change nothing in the output of {tool.name}"
    if fault.value_kind == "odd" and action.value not in _ODD_BLOCKS:
        before = _value(asked, tool)
        if before is None or _same(values.odd_value(tool, before, str(action.value)), before):
            return f"{action}: the outputSchema of {tool.name} leaves no room for it"
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: to Python `True == 1`."""
    return canonical_json(one) == canonical_json(other)


# -- results of a tool -------------------------------------------------------------------------------------------------


@answers("ok")
def _ok(action: Action, asked: Asked) -> Reply:
    tool = asked.tool
    if tool is None:
        return _plain(asked)
    if asked.ok_result is not None:
        return _of_real_server(asked)
    return _reply(_sample(asked, tool), action, asked, tool)


@results("odd")
def _odd(action: Action, asked: Asked, tool: Tool) -> Result:
    value, name = _value(asked, tool), str(action.value)
    value = values.odd_value(tool, value, name) if value is not None else None
    text = wire.text_block(_text(tool, asked, value))
    blocks = _ODD_BLOCKS.get(name)
    return Result([text] if blocks is None else blocks(text, asked.version), value)


_ODD_BLOCKS: dict[str, Callable[[Frame, str], list[Frame]]] = {
    "many_blocks": lambda text, _: [text, wire.text_block("Source: orders database."), wire.text_block("")],
    "no_text": lambda *_: [],
    "links": lambda text, version: [text, wire.link_block(version)],
}
"""Odd results whose blocks are odd; the others have an odd value."""


@results("error", "429", "429cap", "504", "529", "traceback")
def _error(action: Action, asked: Asked, tool: Tool) -> Result:
    return Result([wire.text_block(error_text(action))], is_error=True)


@results("drift")
def _drifted(action: Action, asked: Asked, tool: Tool) -> Result:
    value = values.drifted(tool, _value(asked, tool), _drift(action))
    return Result([wire.text_block(_text(tool, asked, value))], value, drifted=True)


@results("unstructured")
def _unstructured(action: Action, asked: Asked, tool: Tool) -> Result:
    return Result(_sample(asked, tool).blocks)


@results("mismatch")
def _mismatch(action: Action, asked: Asked, tool: Tool) -> Result:
    other = values.unique_value(tool, {}, asked.serial + 500_000)
    return Result([wire.text_block(_text(tool, asked, other))], _value(asked, tool))


@results("empty")
def _empty(action: Action, asked: Asked, tool: Tool) -> Result:
    return Result([])


@results("huge")
def _huge(action: Action, asked: Asked, tool: Tool) -> Result:
    filler = _WORDS_PER_REPEAT * (int(action.value) * 4 // len(_WORDS_PER_REPEAT) + 1)  # type: ignore[arg-type]
    blocks, structured, _, _ = _sample(asked, tool)
    return Result([*blocks, wire.text_block(filler)], structured)


# -- whatever the method -----------------------------------------------------------------------------------------------


@answers("rpc")
def _rpc(action: Action, asked: Asked) -> Reply:
    return _refused(asked, int(action.value))  # type: ignore[arg-type]


@answers("toolgone")
def _toolgone(action: Action, asked: Asked) -> Reply:
    return _refused(asked, wire.INVALID_PARAMS, f"Unknown tool: {asked.tool.name if asked.tool else '?'}")


@answers("malformed")
def _malformed(action: Action, asked: Asked) -> Reply:
    broken: Frame = {"tools": 7, "protocolVersion": 7, "capabilities": 7}
    if asked.tool is not None:
        broken = {"content": "an order", "isError": False}
    return Reply(wire.response(asked.request_id, wire.complete(broken, asked.version)), answer=Answer("broken"))


@answers("notjson")
def _notjson(action: Action, asked: Asked) -> Reply:
    return Reply(line="Loaded 3 plugins in 0.2 s")


@answers("wrongid")
def _wrongid(action: Action, asked: Asked) -> Reply:
    return foreign(asked)


@answers("nullid")
def _nullid(action: Action, asked: Asked) -> Reply:
    return Reply(wire.error(None, wire.INVALID_REQUEST))


@answers("strid")
def _strid(action: Action, asked: Asked) -> Reply:
    whole, shown = build(OK, asked), asked.request_id
    name = str(shown) if not isinstance(shown, str) else f"{shown} "
    return Reply({**(whole.frame or {}), "id": name}, answer=whole.answer)


@answers("batch")
def _batch(action: Action, asked: Asked) -> Reply:
    whole = build(OK, asked)
    return Reply(line=json.dumps([whole.frame], ensure_ascii=False), answer=whole.answer)


@answers("truncated")
def _truncated(action: Action, asked: Asked) -> Reply:
    text = json.dumps(build(OK, asked).frame, ensure_ascii=False)
    return Reply(line=text[: len(text) // 2])


@answers("hang")
def _hang(action: Action, asked: Asked) -> Reply:
    return Reply()


@answers("close")
def _close(action: Action, asked: Asked) -> Reply:
    return Reply(closes=True)


@answers("exit")
def _exit(action: Action, asked: Asked) -> Reply:
    return Reply(closes=True, remark=f"its process ends with status {action.value}")


@answers("pages", "loop", "fresh_loop", "badtool")
def _listed(action: Action, asked: Asked) -> Reply:
    """The page is made in `pages`: what follows the first one goes by its cursor, whatever the script says by then."""
    return _plain(asked)


def foreign(asked: Asked) -> Reply:
    """A well-formed response to an id that the client never used, with content that belongs to no request."""
    reply = build(OK, asked._replace(serial=asked.serial + _FOREIGN, ok_result=None))
    answer = None if reply.answer is None else replace(reply.answer, foreign=True)
    return Reply({**(reply.frame or {}), "id": WRONG_ID}, answer=answer)


# -- inside ------------------------------------------------------------------------------------------------------------


def _plain(asked: Asked) -> Reply:
    if isinstance(asked.plain, tuple):
        return _refused(asked, *asked.plain)
    return Reply(wire.response(asked.request_id, asked.plain or {}), answer=Answer("success"))


def _refused(asked: Asked, code: int, message: str | None = None, data: Any = None) -> Reply:
    frame = wire.error(asked.request_id, code, message, data)
    return Reply(frame, answer=Answer("protocol_error", text=frame["error"]["message"], code=code))


def _reply(result: Result, action: Action, asked: Asked, tool: Tool) -> Reply:
    blocks, structured, is_error, drifted = result
    knows = has_structured_content(asked.version)
    structured = structured if knows else None
    visible = knows and not is_error and tool.output_schema is not None
    if visible and structured is not None:
        visible = drifted and values.breaks_schema(tool, structured)
    answer = Answer(
        "execution_error" if is_error else "success",
        value_json=None if structured is None else canonical_json(structured),
        text="\n".join([block["text"] for block in blocks if block["type"] == "text"]),
        visible=visible,
        hint=action.hint if is_error else None,
    )
    frame = wire.response(asked.request_id, wire.call_result(blocks, structured, is_error, asked.version))
    return Reply(frame, answer=answer)


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


def _sample(asked: Asked, tool: Tool) -> Result:
    value = _value(asked, tool)
    return Result([wire.text_block(_text(tool, asked, value))], value)


def _value(asked: Asked, tool: Tool) -> Any:
    return values.unique_value(tool, asked.arguments or {}, asked.serial, asked.base)


def _drift(action: Action) -> Drift | None:
    return action.value if isinstance(action.value, tuple) else None


def _text(tool: Tool, asked: Asked, value: Any) -> str:
    if value is not None:
        return _readable(value)
    arguments = _sorted(asked.arguments or {})
    return f"{tool.name} done: {arguments} (answer {asked.serial})"


def error_text(action: Action) -> str:
    """The text of an execution error, as prose or as a JSON envelope.

    >>> error_text(Action("429", 2.0))
    'API rate limit exceeded: too many requests\\nretry-after: 2'
    """
    fault, hint = action.fault, action.hint
    assert fault.says is not None
    message = fault.says.text or str(action.value)
    shown = None if hint is None else int(hint) if hint.is_integer() else hint
    if action.style == "json":
        envelope: Frame = {
            "code": fault.says.code,
            "message": message,
            "retryable": "transient" in fault.traits,
            "details": {} if shown is None else {"retry_after_seconds": shown},
        }
        return json.dumps(envelope, ensure_ascii=False)
    return message if shown is None else f"{message}\nretry-after: {shown}"
