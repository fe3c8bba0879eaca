"""The vocabulary: every fault is one row of `FAULTS`, and this table is its reference documentation.

A row says what the client sees, where the fault may stand in a script, what it takes in parentheses, what the checks
may conclude from it, and all else that one must know to draw, play, shrink or tell it (`Fault` explains each column).
What sends it is a function in `fuzzmcp.harness.server`. Rows stand simplest first: that is the order in which findings
shrink.
"""

from __future__ import annotations

from fuzzmcp.core.fault_row import Fault, Http, Parameter, Said, Trait, Way
from fuzzmcp.core.protocol import (
    DEFAULT_TRANSPORT,
    ELICITATION_VERSIONS,
    HANDSHAKE_VERSIONS,
    METHODS,
    STRUCTURED_VERSIONS,
    transports_with,
)

ODD_RESULTS = ("many_blocks", "no_text", "links", "extra", "empty_strings", "big_integers", "unicode")
"""Names that `odd(…)` takes; the first is what a bare `odd` means."""
RPC_CODES = (-32603, -32602, -32601, -32600, -32700, -32000)
"""The codes of `rpc(CODE)` that are worth trying, simplest first."""
LATE = "late"
"""What a script calls `ok@cancel`: no row of its own, but offered, drawn and counted like one."""

_EVERY = tuple(METHODS)
_BYTES = transports_with("bytes")
_PROCESS = transports_with("process")
_TEXTS = ("", "unknown order", "success", "first line\nsecond line", '{"error":"gone"}', "заказ не найден ✗")
_TRACEBACK = """Traceback (most recent call last):
  File "/srv/crm/tools.py", line 88, in handle
    row = cursor.fetchone()["total"]
TypeError: 'NoneType' object is not subscriptable"""


def _traits(*traits: Trait) -> frozenset[Trait]:
    return frozenset(traits)


def _ways(*ways: Way) -> frozenset[Way]:
    return frozenset(ways)


_ANSWERS = (
    Fault(
        "ok",
        "answer",
        "a valid result",
        "The tool's sample output with same-named arguments echoed into it, unique to the request. As `ok@SECONDS` it "
        "comes late; as `late` (that is `ok@cancel`) it comes just after the client's cancellation arrived.",
        methods=_EVERY,
        traits=_traits("valid"),
        ways=_ways("whole"),
        http=Http(),
        example="ok@31,late",
    ),
    Fault(
        "odd",
        "answer",
        "a valid but unusual result",
        "Valid for the protocol and for the tool's outputSchema, yet seldom seen in a demo. NAME is one of "
        "many_blocks (several content blocks; what a bare `odd` means), no_text (structured content without a text "
        "block), links (a resource link beside the text), extra (an additional property, where the schema allows "
        "one), empty_strings, big_integers, unicode.",
        takes=Parameter("odd", ODD_RESULTS[0]),
        traits=_traits("valid"),
        values=ODD_RESULTS,
        swept=ODD_RESULTS[1:],
        simpler=ODD_RESULTS,
    ),
    Fault(
        "error",
        "answer",
        "an execution error: isError true",
        "The tool ran and failed for good: the text says why. The client must not take it for a success, and sending "
        "the same request again cannot help.",
        takes=Parameter("text", "order service: validation failed: unknown customer"),
        styled=True,
        traits=_traits("execution_error"),
        values=_TEXTS,
        swept=("",),
        says=Said("invalid_request_error"),
        http=Http(400, "invalid_request_error"),
    ),
    Fault(
        "429",
        "answer",
        "a rate limit with a retry-after hint",
        "An execution error that says `retry-after: SECONDS` (default 2). Wait that long, then one retry may succeed. "
        "`429(none)` is worded the same without the hint.",
        takes=Parameter("hint", 2.0),
        styled=True,
        traits=_traits("execution_error", "transient"),
        values=(0.0, None, 2.5, 60.0, 3600.0),
        swept=(None, 2.5, 60.0, 3600.0),
        simpler=(None,),
        says=Said("rate_limit_error", "API rate limit exceeded: too many requests"),
        http=Http(429, "rate_limit_error", "too many requests: the rate limit of this account is exceeded"),
    ),
    Fault(
        "429cap",
        "answer",
        "a rate limit by spend cap: retrying cannot help",
        "An execution error about a reached monthly spend cap. It carries no retry-after: no retry succeeds until "
        "somebody restores access.",
        styled=True,
        traits=_traits("execution_error", "capped"),
        says=Said(
            "spend_cap_reached",
            "API rate limit exceeded: monthly spend cap reached; access is restored by an administrator",
        ),
        http=Http(
            429,
            "rate_limit_error",
            "the monthly spend cap of this account is reached; an administrator has to restore access",
        ),
    ),
    Fault(
        "504",
        "answer",
        "timeout_error: transient",
        "An execution error: the backend did not answer in time. Transient; the tool may have run.",
        styled=True,
        traits=_traits("execution_error", "transient"),
        says=Said("timeout_error", "timeout_error: the request to the backend timed out"),
        http=Http(504, "timeout_error", "the request took too long to process"),
    ),
    Fault(
        "529",
        "answer",
        "overloaded_error: transient",
        "An execution error: the backend is overloaded. Transient: wait longer each time.",
        styled=True,
        traits=_traits("execution_error", "transient"),
        says=Said("overloaded_error", "overloaded_error: the backend is overloaded"),
        http=Http(529, "overloaded_error", "the service is overloaded"),
    ),
    Fault(
        "traceback",
        "answer",
        "an execution error whose text is a Python traceback",
        "What a server prints that lets its exceptions through. It is an error like any other, not a transient one.",
        traits=_traits("execution_error"),
        says=Said(text=_TRACEBACK),
    ),
    Fault(
        "rpc",
        "answer",
        "a JSON-RPC error with that code",
        "A protocol error: the request itself was refused. `rpc(-32603)` is an internal error, `rpc(-32602)` invalid "
        "params.",
        takes=Parameter("code", required=True),
        methods=_EVERY,
        traits=_traits("protocol_error"),
        values=RPC_CODES,
        swept=(-32603, -32602, -32601, -32600, -32000),
        simpler=RPC_CODES[:1],
    ),
    Fault(
        "toolgone",
        "answer",
        "the -32602 for an unknown tool",
        "A protocol error: the tool is not there any more.",
        traits=_traits("protocol_error"),
    ),
    Fault(
        "drift",
        "answer",
        "success whose structured content breaks the outputSchema",
        "The contract changed without notice: a renamed field, another type, a missing key. OPS are edits joined by "
        "`;`: `order_id>orderId` rename, `total:string` same value as another type, `-status` drop, `status=null` "
        'replace, `+note="x"` add (`+items/1=null`: the next item), `^data` wrap in an object, `created~"01/02/2000"` '
        "other format; nested paths as `items/0/price:string`. A bare `drift` renames the first required property to "
        "the other case convention and turns the first number into a string.",
        takes=Parameter("drift"),
        versions=STRUCTURED_VERSIONS,
        traits=_traits("drift"),
        ways=_ways("structured"),
    ),
    Fault(
        "unstructured",
        "answer",
        "success without the promised structured content",
        "The tool has an outputSchema, and the result carries text only.",
        versions=STRUCTURED_VERSIONS,
        traits=_traits("drift"),
        ways=_ways("structured"),
    ),
    Fault(
        "mismatch",
        "answer",
        "text block and structured content disagree",
        "Both are valid by themselves, but the text block states other values than the structured content.",
        versions=STRUCTURED_VERSIONS,
        traits=_traits("valid"),
        ways=_ways("structured"),
    ),
    Fault(
        "empty",
        "answer",
        "success with no content at all",
        "`content` is an empty array and there is no structured content.",
        traits=_traits("drift"),
    ),
    Fault(
        "huge",
        "answer",
        "success of about TOKENS tokens",
        "A valid result with a very long text block (default 40,000 tokens, counted as four characters each).",
        takes=Parameter("tokens", 40_000),
        traits=_traits("valid", "refusable"),
        values=(1_000,),
    ),
    Fault(
        "malformed",
        "answer",
        "a result object that breaks the MCP schema",
        "A JSON-RPC response whose result is not what the method promises: `content` is a string, `tools` a number.",
        methods=_EVERY,
        traits=_traits("broken"),
    ),
    Fault(
        "notjson",
        "answer",
        "a line that is no JSON, and no answer",
        "A library printed to the server's stdout, and the answer is lost.",
        methods=_EVERY,
        traits=_traits("broken", "silent", "ambiguous"),
    ),
    Fault(
        "wrongid",
        "answer",
        "an answer to an id never asked",
        "The response carries an id that the client never used. The request itself stays unanswered.",
        methods=_EVERY,
        traits=_traits("broken", "silent", "ambiguous"),
    ),
    Fault(
        "nullid",
        "answer",
        "an error whose id is null",
        "JSON-RPC's answer to a request whose id could not be read. The request itself stays unanswered.",
        methods=_EVERY,
        traits=_traits("broken", "silent", "ambiguous"),
    ),
    Fault(
        "strid",
        "answer",
        "the right id as a string",
        'A valid answer whose id 3 became "3". A client may match it or run into its timeout, but never hang.',
        methods=_EVERY,
        traits=_traits("broken", "silent", "ambiguous"),
        ways=_ways("whole"),
    ),
    Fault(
        "batch",
        "answer",
        "the answer inside a JSON array",
        "JSON-RPC batches left the protocol in 2025-06-18; some servers still send them.",
        methods=_EVERY,
        traits=_traits("broken", "silent", "ambiguous"),
        ways=_ways("whole"),
    ),
    Fault(
        "truncated",
        "answer",
        "half of a valid answer, then nothing",
        "The line ends in the middle of the JSON.",
        methods=_EVERY,
        traits=_traits("broken", "silent", "ambiguous"),
        ways=_ways("whole"),
        http=Http(cut=True),
    ),
    Fault(
        "hang",
        "answer",
        "no answer, ever",
        "The request is read and never answered. Whether the tool ran is unknown.",
        methods=_EVERY,
        traits=_traits("silent", "ambiguous"),
        timing="never",
        http=Http(),
        silence="no answer, ever",
    ),
    Fault(
        "close",
        "answer",
        "the stream closes without an answer",
        "The server dies in the middle of the request. Whether the tool ran is unknown. Over stdio its process closes "
        "its stdout and lives on until its stdin ends.",
        methods=_EVERY,
        traits=_traits("silent", "ambiguous", "closes"),
        http=Http(),
    ),
    Fault(
        "exit",
        "answer",
        "the server's process ends without an answer",
        "It exits in the middle of the request with that status (default 1; below 0 the signal that killed it, such as "
        "-9 where memory ran out): stdout ends, and whatever is written to its stdin is a broken pipe. Whether the "
        "tool ran is unknown.",
        takes=Parameter("status", 1),
        methods=_EVERY,
        transports=_PROCESS,
        traits=_traits("silent", "ambiguous", "closes"),
        values=(0, -9),
    ),
    Fault(
        "pages",
        "answer",
        "the catalogue over several pages",
        "One tool a page, with nextCursor until the last: a client that reads the first page only misses tools.",
        methods=("list",),
        traits=_traits("valid"),
    ),
    Fault(
        "loop",
        "answer",
        "a cursor that repeats for ever",
        "Every page names the same nextCursor.",
        methods=("list",),
    ),
    Fault(
        "fresh_loop",
        "answer",
        "ever-new cursors",
        "Every page names a nextCursor never seen before: no end ever comes.",
        methods=("list",),
    ),
    Fault(
        "badtool",
        "answer",
        "one invalid tool among valid ones",
        "The catalogue has one more entry, whose inputSchema is no object.",
        methods=("list",),
        traits=_traits("broken"),
    ),
)

_EXTRAS = (
    Fault(
        "log",
        "extra",
        "a log notification before the answer",
        "`notifications/message` at level warning.",
        methods=_EVERY,
        ways=_ways("timely"),
    ),
    Fault(
        "progress",
        "extra",
        "N progress notifications",
        "One a second, the first at once (default 1). They carry the request's progressToken; a client that gave none "
        "sees its request id there, which it never registered.",
        takes=Parameter("count", 1),
        methods=("call", "list"),
        ways=_ways("timely"),
        values=(3, 100),
    ),
    Fault(
        "progress_after",
        "extra",
        "a progress notification after the answer",
        "The token belongs to a request that is finished.",
        methods=("call", "list"),
        place="behind",
    ),
    Fault(
        "ping",
        "extra",
        "the server pings the client",
        "A `ping` request, which the client must answer promptly, also while a call is pending.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
        traits=_traits("asks"),
        ways=_ways("timely"),
    ),
    Fault(
        "sampling",
        "extra",
        "the server asks for a completion",
        "`sampling/createMessage`: a client without that capability must answer with an error, not with silence.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
        traits=_traits("asks"),
        ways=_ways("timely"),
    ),
    Fault(
        "elicit",
        "extra",
        "the server asks the user",
        "`elicitation/create`: a client without that capability must answer with an error, not with silence.",
        methods=("list", "call"),
        versions=ELICITATION_VERSIONS,
        traits=_traits("asks"),
        ways=_ways("timely"),
    ),
    Fault(
        "roots",
        "extra",
        "the server asks for the roots",
        "`roots/list`: a client without that capability must answer with an error, not with silence.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
        traits=_traits("asks"),
        ways=_ways("timely"),
    ),
    Fault(
        "noise",
        "extra",
        "a non-JSON line beside the answer",
        "A library printed to the server's stdout; the answer itself arrives.",
        methods=_EVERY,
        traits=_traits("shared"),
    ),
    Fault(
        "badutf8",
        "extra",
        "a line that is no UTF-8 beside the answer",
        "A library printed to the server's stdout in another encoding. The answer itself arrives, on a line of its "
        "own; `hang+badutf8` is the line in place of the answer.",
        methods=_EVERY,
        transports=_BYTES,
        traits=_traits("unreadable", "shared"),
    ),
    Fault(
        "split",
        "extra",
        "the answer in two pieces",
        "A pipe knows no messages: the first read ends within the answer, and where it can within a character of "
        "several bytes (a note in the `_meta` of the answer has one). The rest follows 10 ms later, or at `@`; nothing "
        "comes between. The answer is whole and valid.",
        methods=_EVERY,
        transports=_BYTES,
        traits=_traits("shared"),
        timing="seconds",
        place="within",
    ),
    Fault(
        "orphan",
        "extra",
        "a response to an unknown id",
        "A well-formed response to an id that the client never used, beside the answer.",
        methods=_EVERY,
    ),
    Fault(
        "dup",
        "extra",
        "the answer again",
        "The same response twice, right behind the first unless `@` says when.",
        methods=_EVERY,
        place="behind",
        example="ok+dup@3",
    ),
    Fault(
        "list_changed",
        "extra",
        "the catalogue changed",
        "`notifications/tools/list_changed`; the catalogue really changes when the case has a second one. In the "
        "stateless era it goes to an open `subscriptions/listen` only.",
        methods=("list", "call"),
        traits=_traits("shared"),
        ways=_ways("timely", "changes"),
    ),
    Fault(
        "server_cancel",
        "extra",
        "the server cancels the client's request",
        "`notifications/cancelled` for the request, sent by the server. The answer of the step still follows.",
        methods=("list", "call"),
        versions=HANDSHAKE_VERSIONS,
        ways=_ways("timely"),
    ),
    Fault(
        "block",
        "extra",
        "the server handles nothing at all for SECONDS",
        "From the request on (or from `@` on) nothing is read and nothing is sent: calls behind it queue up.",
        takes=Parameter("seconds", required=True),
        methods=_EVERY,
        traits=_traits("shared"),
        ways=_ways("blocks"),
        timing="seconds",
        values=(1.0, 10.0, 120.0),
        swept=(60.0,),
        http=Http(),
        silence="from here on the server handles nothing for a while",
    ),
    Fault(
        "cancel",
        "extra",
        "the caller cancels the call",
        "Not a fault of the server: whoever awaits the call gives it up, as in `hang+cancel@2`.",
        ways=_ways("caller"),
        timing="seconds",
        example="hang+cancel@2",
    ),
)

FAULTS: tuple[Fault, ...] = _ANSWERS + _EXTRAS
ANSWERS: dict[str, Fault] = {fault.name: fault for fault in _ANSWERS}
EXTRAS: dict[str, Fault] = {fault.name: fault for fault in _EXTRAS}
BY_NAME: dict[str, Fault] = ANSWERS | EXTRAS
WORDS: dict[str, Fault] = BY_NAME | {LATE: BY_NAME["ok"]}
"""Every word for a fault that may stand in a script, with the row that explains it."""
RANK: dict[str, int] = {fault.name: rank for rank, fault in enumerate(FAULTS)}
RANK_OF_LATE = RANK["hang"]
"""An answer that comes too late ranks right behind no answer at all: it is a hang and then something more."""


def why_inapplicable(name: str, method: str, version: str, transport: str = DEFAULT_TRANSPORT) -> str | None:
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
