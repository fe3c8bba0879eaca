"""The pairs: a version of a library that had a bug that people reported, and the version in which it was mended."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzmcp.core.protocol import DEFAULT_VERSION

GET_ORDER = 'get_order(order_id="A1")'
REFUND_ORDER = 'refund_order(order_id="A1", amount=20.5, reason="damaged")'


@dataclass(frozen=True)
class Pair:
    """One bug of one library.

    Args:
        name: What the command line calls it.
        package: The library, as PyPI names it.
        affected: The last version, or one of the last, that has the bug.
        fixed: The first that has it no more.
        bug: What it was, in one sentence.
        source: Where it was reported or mended: `owner/repository PR number`, or an issue.
        place: Where the code was wrong in the affected version, and what it did there.
        mended: Where it is right in the fixed one.
        client: The client, in `clients`, as `module:attr`.
        check: The check that sees it.
        script: The smallest script that shows it.
        calls: The calls of the smallest case.
        extra: What to install with the library: its extra, in brackets.
        pins: What has to be held back, for old versions do not live with the newest of what they need.
        protocol: The version that the fake server speaks.
        runs: Of one search.
    """

    name: str
    package: str
    affected: str
    fixed: str
    bug: str
    source: str
    place: str
    mended: str
    client: str
    check: str
    script: str
    calls: tuple[str, ...] = (GET_ORDER,)
    extra: str = ""
    pins: tuple[str, ...] = ()
    protocol: str = DEFAULT_VERSION
    runs: int = 200

    def requirements(self, version: str) -> tuple[str, ...]:
        """What pip is asked for, to have this version of the library.

        >>> PAIRS[0].requirements("1.5.0")
        ('mcp==1.5.0', 'pydantic<2.12')
        """
        return (f"{self.package}{self.extra}=={version}", *self.pins)


_OLD_PYDANTIC = ("pydantic<2.12",)
"""Before 1.20 the SDK uses a private name that pydantic 2.12 has no more."""
_SDK = "modelcontextprotocol/python-sdk"

PAIRS = (
    Pair(
        name="mcp-log-freezes",
        package="mcp",
        affected="1.5.0",
        fixed="1.6.0",
        bug="One log notification froze the session: notifications went into a stream of size zero that nobody read, "
        "and no later answer was delivered.",
        source=f"{_SDK} PR 325",
        place="mcp/shared/session.py:356, the receive loop waits in `_incoming_message_stream_writer.send`",
        mended="mcp/shared/session.py:343, `_handle_incoming` calls a handler instead",
        client="session:connect",
        check="valid_accepted",
        script="log",
        pins=_OLD_PYDANTIC,
        protocol="2024-11-05",
    ),
    Pair(
        name="mcp-close-unnoticed",
        package="mcp",
        affected="1.9.1",
        fixed="1.9.2",
        bug="When the server closed the stream, what was pending was never failed: without a timeout a call waited for "
        "ever, with one until it ended.",
        source=f"{_SDK} PR 333",
        place="mcp/shared/session.py:350, the receive loop ends without a word to `_response_streams`",
        mended="mcp/shared/session.py:427, each gets the error `Connection closed`",
        client="session:connect",
        check="finishes",
        script="close",
        pins=_OLD_PYDANTIC,
    ),
    Pair(
        name="mcp-callback-error",
        package="mcp",
        affected="1.9.3",
        fixed="1.9.4",
        bug="An exception in a sampling callback ended the whole session, not only the request that was asked of it.",
        source=f"{_SDK} PR 822",
        place="mcp/shared/session.py:374, `_received_request` is awaited with no `except` around it",
        mended="mcp/shared/session.py:357, the exception becomes an error answer",
        client="session:broken_sampling",
        check="survives",
        script="sampling",
        pins=_OLD_PYDANTIC,
    ),
    Pair(
        name="mcp-timeout-uncancelled",
        package="mcp",
        affected="1.30.0",
        fixed="2.0.0",
        bug="A request that timed out was not cancelled on the wire: the server worked on for nobody.",
        source=f"{_SDK} issue 2507",
        place="mcp/shared/session.py:293, `TimeoutError` becomes an `McpError`, and nothing is sent",
        mended="mcp/shared/jsonrpc_dispatcher.py:828, `_cancel_outbound`",
        client="session:connect",
        check="cancels",
        script="notjson",
    ),
    Pair(
        name="mcp-cancel-untold",
        package="mcp",
        affected="1.30.0",
        fixed="2.0.0",
        bug="When the caller cancelled a call, the server was not told.",
        source=f"{_SDK} issue 2507",
        place="mcp/shared/session.py:310, the `finally` of `send_request` only forgets the request",
        mended="mcp/shared/jsonrpc_dispatcher.py:426, `_cancel_outbound` when the caller is cancelled",
        client="session:patient",
        check="cancels",
        script="notjson+cancel",
    ),
    Pair(
        name="mcp-cancel-ends-session",
        package="mcp",
        affected="1.30.0",
        fixed="2.0.0",
        bug="A call that was cancelled at the moment of its answer ended the session for all others.",
        source=f"{_SDK} PR 2838",
        place="mcp/shared/session.py:516, `stream.send` to a call that has just closed its stream raises, and the "
        "receive loop ends",
        mended="mcp/shared/jsonrpc_dispatcher.py:661, `_resolve_pending` drops what nobody waits for",
        client="session:patient",
        check="survives",
        script="cancel",
    ),
    Pair(
        name="mcp-handler-ends-session",
        package="mcp",
        affected="1.30.0",
        fixed="2.0.0",
        bug="A message handler that raises at a bad frame, or at an answer to an unknown id, ended the session.",
        source=f"{_SDK} PR 2838",
        place="mcp/shared/session.py:359, the receive loop awaits the handler, and ends with its exception",
        mended="mcp/client/session.py:1458, what the handler raises is logged",
        client="session:strict_handler",
        check="survives",
        script="notjson",
    ),
    Pair(
        name="mcp-callback-blocks",
        package="mcp",
        affected="1.30.0",
        fixed="2.0.0",
        bug="A slow sampling callback stopped the receive loop: the call timed out although its answer had arrived.",
        source=f"{_SDK} PR 2838",
        place="mcp/shared/session.py:376, the receive loop awaits the callback",
        mended="mcp/shared/jsonrpc_dispatcher.py:560, each request of the server has a task of its own",
        client="session:slow_sampling",
        check="valid_accepted",
        script="sampling",
    ),
    Pair(
        name="openai-agents-no-timeout",
        package="openai-agents",
        affected="0.0.12",
        fixed="0.0.13",
        bug="A server that fell silent hung the run for ever: sessions had no read timeout.",
        source="openai/openai-agents-python PR 580",
        place="agents/mcp/server.py:104, `ClientSession(read, write)`",
        mended="agents/mcp/server.py:113, with a timeout of 5 seconds by default",
        client="openai_agents:connect",
        check="finishes",
        script="notjson",
        pins=("mcp==1.6.0", *_OLD_PYDANTIC),
        protocol="2024-11-05",
    ),
    Pair(
        name="openai-agents-error-raised",
        package="openai-agents",
        affected="0.7.0",
        fixed="0.8.0",
        bug="A timeout, or any other error of the server, came out of the function tool and ended the agent's run.",
        source="openai/openai-agents-python PR 2249",
        place="agents/mcp/util.py:159, the tool calls `invoke_mcp_tool`, which raises `AgentsException` (209)",
        mended="agents/mcp/util.py:247, `failure_error_function` turns the exception into the tool's output",
        client="openai_agents_tool:connect",
        check="expected_errors",
        script="rpc(-32603)",
        pins=("mcp==1.26.0", "openai<2.20"),
    ),
    Pair(
        name="openai-agents-first-page",
        package="openai-agents",
        affected="0.19.2",
        fixed="0.19.3",
        bug="Only the first page of the tools was listed: the others did not exist for the agent.",
        source="openai/openai-agents-python PR 4094",
        place="agents/mcp/server.py:1129, one `session.list_tools()`",
        mended="agents/mcp/server.py:1188, `fetch_pages`",
        client="openai_agents:listed",
        check="expected_errors",
        script="list:pages",
        calls=(REFUND_ORDER,),
        runs=600,
        pins=("mcp==1.30.0",),
    ),
    Pair(
        name="pydantic-ai-error-raised",
        package="pydantic-ai-slim",
        affected="0.2.19",
        fixed="0.2.20",
        bug="A JSON-RPC error of the server ended the agent's run; the model never heard of it.",
        source="pydantic/pydantic-ai PR 1999",
        place="pydantic_ai/mcp.py:130, only `isError` becomes a `ModelRetry`",
        mended="pydantic_ai/mcp.py:158, `McpError` does too",
        client="pydantic_ai_agent:connect",
        check="expected_errors",
        script="rpc(-32603)",
        extra="[mcp]",
        pins=("mcp==1.9.4", "opentelemetry-api<1.36", *_OLD_PYDANTIC),
    ),
    Pair(
        name="pydantic-ai-toolset-error",
        package="pydantic-ai-slim",
        affected="2.19.0",
        fixed="2.20.0",
        bug="The same again in the new toolset: a JSON-RPC error of the server ended the agent's run.",
        source="pydantic/pydantic-ai PR 6787",
        place="pydantic_ai/mcp.py:1213, only `ToolError` and groups of exceptions become a `ModelRetry`",
        mended="pydantic_ai/mcp.py:1219, a bare `McpError` does too",
        client="pydantic_ai_toolset:connect",
        check="expected_errors",
        script="rpc(-32603)",
        extra="[mcp]",
        pins=("mcp==1.30.0",),
        runs=100,
    ),
    Pair(
        name="fastmcp-repeated-cursor",
        package="fastmcp",
        affected="3.0.0b2",
        fixed="3.0.0rc1",
        bug="A server that repeats its cursor made the client list tools for ever.",
        source="PrefectHQ/fastmcp PR 3167",
        place="fastmcp/client/mixins/tools.py:77, `while True` until there is no `nextCursor`",
        mended="fastmcp/client/mixins/tools.py:83, a cursor seen before ends the loop",
        client="fastmcp_client:connect",
        check="traffic",
        script="list:loop",
        pins=("mcp==1.26.0",),
        runs=400,
    ),
    Pair(
        name="fastmcp-endless-cursors",
        package="fastmcp",
        affected="3.1.1",
        fixed="3.2.0",
        bug="A server with ever-new cursors made the client list tools for ever.",
        source="PrefectHQ/fastmcp PR 3411",
        place="fastmcp/client/mixins/tools.py:78, `while True` until a cursor is missing or repeats",
        mended="fastmcp/client/mixins/tools.py:86, at most 250 pages",
        client="fastmcp_client:connect",
        check="traffic",
        script="list:fresh_loop",
        pins=("mcp==1.26.0",),
        runs=1_000,
    ),
    Pair(
        name="langchain-first-page",
        package="langchain-mcp-adapters",
        affected="0.1.4",
        fixed="0.1.6",
        bug="Only the first page of the tools was loaded: the others did not exist for the agent.",
        source="langchain-ai/langchain-mcp-adapters PR 153",
        place="langchain_mcp_adapters/tools.py:113, one `session.list_tools()`",
        mended="langchain_mcp_adapters/tools.py:48, `_list_all_tools`",
        client="langchain_tools:connect",
        check="expected_errors",
        script="list:pages",
        calls=(REFUND_ORDER,),
        runs=600,
        pins=("mcp==1.9.4", *_OLD_PYDANTIC),
    ),
    Pair(
        name="agno-structured-only",
        package="agno",
        affected="2.7.2",
        fixed="2.7.3",
        bug="A result with structured content and no text reached the model as an empty string.",
        source="agno-agi/agno PR 8695",
        place="agno/utils/mcp.py:210, only what the content blocks hold is handed on",
        mended="agno/utils/mcp.py:211, the structured content takes the place of empty text",
        client="agno_tools:connect",
        check="valid_accepted",
        script="odd(no_text)",
        pins=("mcp==1.26.0",),
    ),
)
"""Every pair, by library and by age."""
BY_NAME = {pair.name: pair for pair in PAIRS}
