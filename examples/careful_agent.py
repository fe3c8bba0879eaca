"""The agent that keeps its promises: what to copy from. It passes every check, with mcp 1.x and 2.x.

One retry layer, bounded, that knows what is transient and waits as long as it was told; one deadline around the whole
call; results validated against the schema that was listed last; every request given up on is cancelled on the wire.

    fuzzmcp run examples/careful_agent.py:connect --time 60s

Nothing comes out.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any

import anyio
import jsonschema
from jsonschema.validators import validator_for
from mcp import ClientSession, types

MCP_1 = version("mcp").startswith("1.")
ATTEMPTS, ATTEMPT_SECONDS, CALL_SECONDS, PAGES, LISTINGS = 3, 25.0, 120.0, 50, 5


class ToolError(Exception):
    """The tool cannot be used, or its result cannot be trusted."""


class Agent:
    """Calls tools on one session."""

    def __init__(self, write: Any) -> None:
        self.write = write
        self.session: Any = None
        self.background: Any = None
        self.tools: dict[str, Any] = {}
        self.changes, self.seen = 1, 0

    async def on_message(self, message: Any) -> None:
        """The catalogue changed: list again before the next call. Nothing slow belongs into this handler."""
        notification = getattr(message, "root", message)
        if isinstance(notification, types.ToolListChangedNotification):
            self.changes += 1

    async def call(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        """One tool call, retried where that is safe and can help, within one deadline."""
        deadline = anyio.current_time() + CALL_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            with anyio.fail_after(max(deadline - anyio.current_time(), 0)):
                definition, validator = await self.listed(tool)
                params = types.CallToolRequestParams(name=tool, arguments=arguments)
                request = types.CallToolRequest(method="tools/call", params=params)
                result = await self.ask(request, types.CallToolResult)
            wait = retry_delay(result, attempt, repeatable(definition))
            if wait is None or attempt == ATTEMPTS or anyio.current_time() + wait > deadline:
                break
            await anyio.sleep(wait)
        return trusted(result, validator)

    async def listed(self, tool: str) -> tuple[dict[str, Any], Any]:
        """The tool as the server lists it now, and the validator of its results."""
        for _ in range(LISTINGS):
            if self.seen < self.changes:
                changes, tools = self.changes, await self.list_tools()
                self.tools, self.seen = tools, changes
        if self.seen < self.changes:
            raise ToolError("the catalogue changes faster than it can be listed")
        if tool not in self.tools:
            raise ToolError(f"the server lists no tool {tool}")
        return self.tools[tool]

    async def list_tools(self) -> dict[str, Any]:
        """Every page of the catalogue, up to a repeated cursor or too many pages."""
        found, cursors = [], [None]
        while len(cursors) <= PAGES:
            params = types.PaginatedRequestParams(cursor=cursors[-1])
            page = await self.ask(types.ListToolsRequest(method="tools/list", params=params), types.ListToolsResult)
            dumped = page.model_dump(by_alias=True, mode="json", exclude_none=True)
            found += dumped["tools"]
            if dumped.get("nextCursor") in (None, *cursors):
                break
            cursors.append(dumped["nextCursor"])
        return {definition["name"]: (definition, compiled(definition.get("outputSchema"))) for definition in found}

    async def ask(self, request: Any, result_type: Any) -> Any:
        """One request; whoever stops waiting for it also cancels it on the wire."""
        if not MCP_1:
            with anyio.fail_after(ATTEMPT_SECONDS):
                return await self.session.send_request(request, result_type)
        pending = Pending()
        self.background.start_soon(self.send_request, types.ClientRequest(request), result_type, pending)
        try:
            with anyio.fail_after(ATTEMPT_SECONDS):
                await pending.done.wait()
        except (TimeoutError, anyio.get_cancelled_exc_class()):
            await self.cancel(pending)
            raise
        if pending.error is not None:
            raise pending.error
        return pending.result

    async def send_request(self, request: Any, result_type: Any, pending: "Pending") -> None:
        """A request that is never cancelled inside mcp 1.x: an answer that crosses it there ends the whole session."""
        PENDING.set(pending)
        try:
            pending.result = await self.session.send_request(request, result_type)
        except Exception as error:
            pending.error = error
        pending.done.set()

    async def cancel(self, pending: "Pending") -> None:
        """Tell the server, even while we are being cancelled ourselves: mcp 1.x leaves that to its users."""
        if pending.id is None or pending.done.is_set():
            return
        gone = types.CancelledNotificationParams(requestId=pending.id, reason="gave up")
        notification: Any = types.CancelledNotification(method="notifications/cancelled", params=gone)
        with anyio.CancelScope(shield=True), anyio.move_on_after(1):
            await self.session.send_notification(types.ClientNotification(notification))

    async def send(self, item: Any) -> None:
        """The write stream's `send`, with an eye on the ids: mcp 1.x tells nobody which one it used."""
        pending = PENDING.get()
        if pending is not None and pending.id is None:
            pending.id = getattr(getattr(item.message, "root", item.message), "id", None)
        await self.write.send(item)

    async def aclose(self) -> None:
        """Close the write stream."""
        await self.write.aclose()

    async def __aenter__(self) -> "Agent":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


class Pending:
    """A request that somebody waits for."""

    def __init__(self) -> None:
        self.id: Any = None
        self.result: Any = None
        self.error: Exception | None = None
        self.done = anyio.Event()


PENDING: ContextVar[Pending | None] = ContextVar("pending", default=None)


def compiled(schema: Any) -> Any:
    """The validator of an output schema, or None for a tool without one."""
    return None if schema is None else validator_for(schema, default=jsonschema.Draft202012Validator)(schema)


def repeatable(definition: dict[str, Any]) -> bool:
    """Whether a second call is harmless."""
    marks = definition.get("annotations") or {}
    return bool(marks.get("readOnlyHint") or marks.get("idempotentHint"))


def text_of(result: types.CallToolResult) -> str:
    """All text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def failed(result: types.CallToolResult) -> bool:
    """The error flag, whatever this SDK calls it."""
    return bool(result.isError if MCP_1 else result.is_error)


def retry_delay(result: types.CallToolResult, attempt: int, safe: bool) -> float | None:
    """Seconds to wait before the next attempt, or None when a retry cannot help or may do harm."""
    text = text_of(result)
    if not failed(result):
        return None
    try:
        details = json.loads(text)
        hint = details["details"].get("retry_after_seconds")
    except (ValueError, KeyError, TypeError, AttributeError):
        found = re.search(r"retry-after: (\d+(?:\.\d+)?)", text)
        hint = found and found.group(1)
    if hint is not None:
        return float(hint)
    transient = "timeout_error" in text or "overloaded_error" in text
    return 2.0**attempt if transient and safe else None


def trusted(result: types.CallToolResult, validator: Any) -> types.CallToolResult:
    """The result, if it keeps what the tool promised."""
    structured = result.structuredContent if MCP_1 else result.structured_content
    if not failed(result) and validator is not None:
        problem = "no structured content" if structured is None else next(validator.iter_errors(structured), None)
        if problem is not None:
            raise ToolError(f"the result breaks the tool's outputSchema: {getattr(problem, 'message', problem)}")
    return result


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Connect and hand out `call`."""
    async with server.connect() as (read, write):
        agent = Agent(write)
        async with ClientSession(read, agent, message_handler=agent.on_message) as session:
            with anyio.fail_after(ATTEMPT_SECONDS):
                await session.initialize()
            async with anyio.create_task_group() as agent.background:
                agent.session = session
                yield agent.call
                agent.background.cancel_scope.cancel()
