"""The vocabulary: every fault is one row of `FAULTS`, and this table is its reference documentation.

A row says what the client sees, where the fault may stand in a script, what it takes in parentheses, and what the
checks may conclude from it (`traits`). Rows stand simplest first: that is the order in which findings shrink.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fuzzmcp.core.protocol import (
    ELICITATION_VERSIONS,
    HANDSHAKE_VERSIONS,
    METHODS,
    STRUCTURED_VERSIONS,
    TRANSPORTS,
    VERSIONS,
)

Role = Literal["answer", "extra"]

ODD_RESULTS = ("many_blocks", "no_text", "links", "extra", "empty_strings", "big_integers", "unicode")
"""Names that `odd(…)` takes; the first is what a bare `odd` means."""


@dataclass(frozen=True)
class Parameter:
    """What a fault takes in parentheses.

    `kind` is the grammar of the value: `seconds`, `hint` (seconds or `none`), `text` (a JSON string), `code` and
    `status` (integers: of JSON-RPC, of a process), `count`, `tokens`, `odd` (one of `ODD_RESULTS`) or `drift` (edits).
    `default` is what the bare name means; `required` faults have no bare form.
    """

    kind: Literal["seconds", "hint", "text", "code", "status", "count", "tokens", "odd", "drift"]
    default: float | int | str | None = None
    required: bool = False


@dataclass(frozen=True)
class Fault:
    """One kind of server misbehaviour, as `fuzzmcp faults NAME` explains it.

    `methods` names the script methods whose requests it can answer, `versions` the protocol versions that can carry
    it, `transports` the ways of joining client and server that can. `traits` is what checks read: `valid`,
    `execution_error`, `protocol_error`, `transient`, `silent` (nothing that settles the request ever comes),
    `ambiguous` (the tool may have run), `broken` (the frame itself is invalid), `closes`.
    """

    name: str
    role: Role
    summary: str
    detail: str
    takes: Parameter | None = None
    styled: bool = False
    methods: tuple[str, ...] = ("call",)
    versions: tuple[str, ...] = VERSIONS
    transports: tuple[str, ...] = TRANSPORTS
    traits: frozenset[str] = field(default_factory=frozenset)


_EVERY = tuple(METHODS)
_BYTES = ("stdio",)


def _answer(name: str, summary: str, detail: str, traits: str = "", **more: object) -> Fault:
    return Fault(name, "answer", summary, detail, traits=frozenset(traits.split()), **more)  # type: ignore[arg-type]


def _extra(name: str, summary: str, detail: str, **more: object) -> Fault:
    return Fault(name, "extra", summary, detail, **more)  # type: ignore[arg-type]


_ANSWERS = (
    _answer(
        "ok",
        "a valid result",
        "The tool's sample output with same-named arguments echoed into it, unique to the request. As `ok@SECONDS` it "
        "comes late; as `late` (that is `ok@cancel`) it comes just after the client's cancellation arrived.",
        "valid",
        methods=_EVERY,
    ),
    _answer(
        "odd",
        "a valid but unusual result",
        "Valid for the protocol and for the tool's outputSchema, yet seldom seen in a demo. NAME is one of "
        "many_blocks (several content blocks; what a bare `odd` means), no_text (structured content without a text "
        "block), links (a resource link beside the text), extra (an additional property, where the schema allows "
        "one), empty_strings, big_integers, unicode.",
        "valid",
        takes=Parameter("odd", ODD_RESULTS[0]),
    ),
    _answer(
        "error",
        "an execution error: isError true",
        "The tool ran and failed for good: the text says why. The client must not take it for a success, and sending "
        "the same request again cannot help.",
        "execution_error",
        takes=Parameter("text", "order service: validation failed: unknown customer"),
        styled=True,
    ),
    _answer(
        "429",
        "a rate limit with a retry-after hint",
        "An execution error that says `retry-after: SECONDS` (default 2). Wait that long, then one retry may succeed. "
        "`429(none)` is worded the same without the hint.",
        "execution_error transient",
        takes=Parameter("hint", 2.0),
        styled=True,
    ),
    _answer(
        "429cap",
        "a rate limit by spend cap: retrying cannot help",
        "An execution error about a reached monthly spend cap. It carries no retry-after: no retry succeeds until "
        "somebody restores access.",
        "execution_error",
        styled=True,
    ),
    _answer(
        "504",
        "timeout_error: transient",
        "An execution error: the backend did not answer in time. Transient; the tool may have run.",
        "execution_error transient",
        styled=True,
    ),
    _answer(
        "529",
        "overloaded_error: transient",
        "An execution error: the backend is overloaded. Transient: wait longer each time.",
        "execution_error transient",
        styled=True,
    ),
    _answer(
        "traceback",
        "an execution error whose text is a Python traceback",
        "What a server prints that lets its exceptions through. It is an error like any other, not a transient one.",
        "execution_error",
    ),
    _answer(
        "rpc",
        "a JSON-RPC error with that code",
        "A protocol error: the request itself was refused. `rpc(-32603)` is an internal error, `rpc(-32602)` invalid "
        "params.",
        "protocol_error",
        takes=Parameter("code", required=True),
        methods=_EVERY,
    ),
    _answer(
        "toolgone",
        "the -32602 for an unknown tool",
        "A protocol error: the tool is not there any more.",
        "protocol_error",
    ),
    _answer(
        "drift",
        "success whose structured content breaks the outputSchema",
        "The contract changed without notice: a renamed field, another type, a missing key. OPS are edits joined by "
        "`;`: `order_id>orderId` rename, `total:string` same value as another type, `-status` drop, `status=null` "
        'replace, `+note="x"` add (`+items/1=null`: the next item), `^data` wrap in an object, `created~"01/02/2000"` '
        "other format; nested paths as `items/0/price:string`. A bare `drift` renames the first required property to "
        "the other case convention and turns the first number into a string.",
        "drift",
        takes=Parameter("drift"),
        versions=STRUCTURED_VERSIONS,
    ),
    _answer(
        "unstructured",
        "success without the promised structured content",
        "The tool has an outputSchema, and the result carries text only.",
        "drift",
        versions=STRUCTURED_VERSIONS,
    ),
    _answer(
        "mismatch",
        "text block and structured content disagree",
        "Both are valid by themselves, but the text block states other values than the structured content.",
        "valid",
        versions=STRUCTURED_VERSIONS,
    ),
    _answer(
        "empty",
        "success with no content at all",
        "`content` is an empty array and there is no structured content.",
        "drift",
    ),
    _answer(
        "huge",
        "success of about TOKENS tokens",
        "A valid result with a very long text block (default 40,000 tokens, counted as four characters each).",
        "valid",
        takes=Parameter("tokens", 40_000),
    ),
    _answer(
        "malformed",
        "a result object that breaks the MCP schema",
        "A JSON-RPC response whose result is not what the method promises: `content` is a string, `tools` a number.",
        "broken",
        methods=_EVERY,
    ),
    _answer(
        "notjson",
        "a line that is no JSON, and no answer",
        "A library printed to the server's stdout, and the answer is lost.",
        "broken silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "wrongid",
        "an answer to an id never asked",
        "The response carries an id that the client never used. The request itself stays unanswered.",
        "broken silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "nullid",
        "an error whose id is null",
        "JSON-RPC's answer to a request whose id could not be read. The request itself stays unanswered.",
        "broken silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "strid",
        "the right id as a string",
        'A valid answer whose id 3 became "3". A client may match it or run into its timeout, but never hang.',
        "broken silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "batch",
        "the answer inside a JSON array",
        "JSON-RPC batches left the protocol in 2025-06-18; some servers still send them.",
        "broken silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "truncated",
        "half of a valid answer, then nothing",
        "The line ends in the middle of the JSON.",
        "broken silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "hang",
        "no answer, ever",
        "The request is read and never answered. Whether the tool ran is unknown.",
        "silent ambiguous",
        methods=_EVERY,
    ),
    _answer(
        "close",
        "the stream closes without an answer",
        "The server dies in the middle of the request. Whether the tool ran is unknown. Over stdio its process closes "
        "its stdout and lives on until its stdin ends.",
        "silent ambiguous closes",
        methods=_EVERY,
    ),
    _answer(
        "exit",
        "the server's process ends without an answer",
        "It exits in the middle of the request with that status (default 1; below 0 the signal that killed it, such as "
        "-9 where memory ran out): stdout ends, and whatever is written to its stdin is a broken pipe. Whether the "
        "tool ran is unknown.",
        "silent ambiguous closes",
        takes=Parameter("status", 1),
        methods=_EVERY,
        transports=_BYTES,
    ),
    _answer(
        "pages",
        "the catalogue over several pages",
        "One tool a page, with nextCursor until the last: a client that reads the first page only misses tools.",
        "valid",
        methods=("list",),
    ),
    _answer(
        "loop",
        "a cursor that repeats for ever",
        "Every page names the same nextCursor.",
        "",
        methods=("list",),
    ),
    _answer(
        "fresh_loop",
        "ever-new cursors",
        "Every page names a nextCursor never seen before: no end ever comes.",
        "",
        methods=("list",),
    ),
    _answer(
        "badtool",
        "one invalid tool among valid ones",
        "The catalogue has one more entry, whose inputSchema is no object.",
        "broken",
        methods=("list",),
    ),
)

_EXTRAS = (
    _extra(
        "log",
        "a log notification before the answer",
        "`notifications/message` at level warning.",
        methods=_EVERY,
    ),
    _extra(
        "progress",
        "N progress notifications",
        "One a second, the first at once (default 1). They carry the request's progressToken; a client that gave none "
        "sees its request id there, which it never registered.",
        takes=Parameter("count", 1),
        methods=("call", "list"),
    ),
    _extra(
        "progress_after",
        "a progress notification after the answer",
        "The token belongs to a request that is finished.",
        methods=("call", "list"),
    ),
    _extra(
        "ping",
        "the server pings the client",
        "A `ping` request, which the client must answer promptly, also while a call is pending.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
    ),
    _extra(
        "sampling",
        "the server asks for a completion",
        "`sampling/createMessage`: a client without that capability must answer with an error, not with silence.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
    ),
    _extra(
        "elicit",
        "the server asks the user",
        "`elicitation/create`: a client without that capability must answer with an error, not with silence.",
        methods=("list", "call"),
        versions=ELICITATION_VERSIONS,
    ),
    _extra(
        "roots",
        "the server asks for the roots",
        "`roots/list`: a client without that capability must answer with an error, not with silence.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
    ),
    _extra(
        "noise",
        "a non-JSON line beside the answer",
        "A library printed to the server's stdout; the answer itself arrives.",
        methods=_EVERY,
    ),
    _extra(
        "badutf8",
        "a line that is no UTF-8 beside the answer",
        "A library printed to the server's stdout in another encoding. The answer itself arrives, on a line of its "
        "own; `hang+badutf8` is the line in place of the answer.",
        methods=_EVERY,
        transports=_BYTES,
    ),
    _extra(
        "split",
        "the answer in two pieces",
        "A pipe knows no messages: the first read ends within the answer, and where it can within a character of "
        "several bytes (a note in the `_meta` of the answer has one). The rest follows 10 ms later, or at `@`; nothing "
        "comes between. The answer is whole and valid.",
        methods=_EVERY,
        transports=_BYTES,
    ),
    _extra(
        "orphan",
        "a response to an unknown id",
        "A well-formed response to an id that the client never used, beside the answer.",
        methods=_EVERY,
    ),
    _extra(
        "dup",
        "the answer again",
        "The same response twice, right behind the first unless `@` says when.",
        methods=_EVERY,
    ),
    _extra(
        "list_changed",
        "the catalogue changed",
        "`notifications/tools/list_changed`; the catalogue really changes when the case has a second one. In the "
        "stateless era it goes to an open `subscriptions/listen` only.",
        methods=("list", "call"),
    ),
    _extra(
        "server_cancel",
        "the server cancels the client's request",
        "`notifications/cancelled` for the request, sent by the server. The answer of the step still follows.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
    ),
    _extra(
        "block",
        "the server handles nothing at all for SECONDS",
        "From the request on (or from `@` on) nothing is read and nothing is sent: calls behind it queue up.",
        takes=Parameter("seconds", required=True),
        methods=_EVERY,
    ),
    _extra(
        "cancel",
        "the caller cancels the call",
        "Not a fault of the server: whoever awaits the call gives it up, as in `hang+cancel@2`.",
    ),
)

IN_SECONDS = ("cancel", "block", "split")
"""Extras whose `@` takes seconds only."""
RPC_CODES = (-32603, -32602, -32601, -32600, -32700, -32000)
"""The codes of `rpc(CODE)` that are worth trying, simplest first."""
FAULTS: tuple[Fault, ...] = _ANSWERS + _EXTRAS
ANSWERS: dict[str, Fault] = {fault.name: fault for fault in _ANSWERS}
EXTRAS: dict[str, Fault] = {fault.name: fault for fault in _EXTRAS}
BY_NAME: dict[str, Fault] = ANSWERS | EXTRAS
RANK: dict[str, int] = {fault.name: rank for rank, fault in enumerate(FAULTS)}


def why_inapplicable(name: str, method: str, version: str, transport: str = "memory") -> str | None:
    """Why fault `name` cannot stand in a step of script method `method`, or None when it can.

    Args:
        name: The fault.
        method: The script method of the step.
        version: The protocol version that the server speaks.
        transport: How the client is joined to it.

    >>> why_inapplicable("ping", "call", "2026-07-28")
    'ping needs protocol 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, not 2026-07-28'
    >>> why_inapplicable("split", "call", "2025-11-25")
    'split needs transport stdio, not memory'
    >>> why_inapplicable("hang", "list", "2025-11-25")
    """
    fault = BY_NAME[name]
    if method not in fault.methods:
        return f"{name} cannot answer {method}: it applies to {', '.join(fault.methods)}"
    if version not in fault.versions:
        return f"{name} needs protocol {', '.join(fault.versions)}, not {version}"
    if transport not in fault.transports:
        return f"{name} needs transport {', '.join(fault.transports)}, not {transport}"
    return None
