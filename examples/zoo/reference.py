"""A correct MCP client on raw JSON-RPC, without the SDK: the ground that the bugs of the zoo are planted in.

It passes every check, on asyncio and on trio. Like those of its session, its decisions are small methods, so that a
variant with one bug is a subclass that overrides one or two of them.

    fuzzmcp run fuzzmcp.examples.zoo.reference:Client --time 60s

Nothing comes out.
"""

import itertools
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import anyio
import jsonschema
from jsonschema.validators import validator_for

from fuzzmcp.examples.zoo.session import Frame, Malformed, Session

TRANSIENT = ("rate limit", "timeout error", "overloaded error")


class ToolError(Exception):
    """The tool cannot be used, or its result cannot be trusted."""


@dataclass(frozen=True)
class Tool:
    """A tool as the server listed it, with the validator of its results."""

    name: str
    definition: Frame
    validator: Any

    @property
    def repeatable(self) -> bool:
        """Whether a second call is harmless."""
        marks = self.definition.get("annotations") or {}
        return bool(marks.get("readOnlyHint") or marks.get("idempotentHint"))


@lru_cache(maxsize=256)
def validator_of(schema: str) -> Any:
    """The validator of a schema, given as JSON text: to check a schema costs more than everything else in a call."""
    parsed = json.loads(schema)
    kind = validator_for(parsed, default=jsonschema.Draft202012Validator)
    kind.check_schema(parsed)
    return kind(parsed)


class Client(Session):
    """Calls tools on one session: `async with Client(server) as call_tool`."""

    deadline = 120.0
    """Seconds for one call, with all its attempts, waits and listings."""
    attempts, pages, listings = 3, 50, 5
    """At most so many requests of one call, pages of one listing, and listings in a row before one call."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.tools: dict[str, Tool] = {}
        self.changes, self.seen = 1, 0

    async def __aenter__(self) -> Callable[[str, Frame], Awaitable[Frame]]:
        await self.open()
        return self.call_tool

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        """One call: as many attempts as are safe and can help, within one deadline. An error result is a result."""
        with anyio.move_on_after(self.deadline) as scope:
            for number in itertools.count(1):
                tool = await self.listed(name)
                result = self.trusted(tool, await self.attempt(tool, arguments, number))
                wait = self.retry_delay(tool, result, number)
                if wait is None or anyio.current_time() + wait >= scope.deadline:
                    return result
                await self.pause(wait)
        raise TimeoutError(f"{name} had no result within {self.deadline:g} s")

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        """One `tools/call`, the `number`-th of this call."""
        return await self.request("tools/call", {"name": tool.name, "arguments": arguments})

    # -- the catalogue ---------------------------------------------------------------------------------------------

    async def on_notification(self, frame: Frame) -> None:
        if frame["method"] == "notifications/tools/list_changed":
            self.on_list_changed()

    def on_list_changed(self) -> None:
        """The catalogue is stale: list again before the next call."""
        self.changes += 1

    async def listed(self, name: str) -> Tool:
        """The tool as the server lists it now."""
        for _ in range(self.listings):
            if self.seen >= self.changes:
                break
            changes, tools = self.changes, await self.list_tools()
            self.tools, self.seen = tools, changes
        else:
            raise ToolError("the catalogue changes faster than it can be listed")
        if name not in self.tools:
            raise ToolError(f"the server lists no tool {name}")
        return self.tools[name]

    async def list_tools(self) -> dict[str, Tool]:
        """The catalogue from all its pages."""
        found: dict[str, Tool] = {}
        cursors: list[str] = []
        for _ in range(self.pages):
            page = await self.request("tools/list", {"cursor": cursors[-1]} if cursors else {})
            if not isinstance(page.get("tools"), list):
                raise Malformed("malformed answer to tools/list")
            found |= {tool.name: tool for tool in map(self.compiled, page["tools"]) if tool}
            cursor = self.next_cursor(page, cursors)
            if cursor is None:
                break
            cursors.append(cursor)
        return found

    def next_cursor(self, page: Frame, before: list[str]) -> str | None:
        """Where the listing goes on: nowhere behind the last page, nor where it was before."""
        cursor = page.get("nextCursor")
        return cursor if isinstance(cursor, str) and cursor not in before else None

    def compiled(self, definition: Any) -> Tool | None:
        """A tool ready for use; None for one that cannot be used, which is no reason to lose the others."""
        try:
            schema = definition.get("outputSchema")
            return Tool(definition["name"], definition, None if schema is None else validator_of(json.dumps(schema)))
        except (AttributeError, KeyError, TypeError, jsonschema.SchemaError):
            return None

    # -- what a result is worth ------------------------------------------------------------------------------------

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        """The result, if it is well formed and keeps what the tool promised."""
        blocks = result.get("content")
        if not isinstance(blocks, list) or not all(isinstance(b, dict) and "type" in b for b in blocks):
            raise Malformed(f"malformed result of {tool.name}")
        if not result.get("isError") and tool.validator is not None:
            if result.get("structuredContent") is None:
                raise ToolError(f"{tool.name} promised structured content, and sent none")
            flaw = next(iter(self.flaws(tool, result["structuredContent"])), None)
            if flaw is not None:
                raise ToolError(f"the result of {tool.name} breaks its outputSchema: {flaw.message}")
        return result

    def flaws(self, tool: Tool, value: Any) -> Iterable[jsonschema.ValidationError]:
        """Where structured content breaks the tool's outputSchema."""
        return tool.validator.iter_errors(value)  # type: ignore[no-any-return]

    # -- again, or not ---------------------------------------------------------------------------------------------

    def retry_delay(self, tool: Tool, result: Frame, number: int) -> float | None:
        """Seconds until the next attempt; None where that cannot help, may do harm, or would be one too many."""
        code, hint = self.error_of(result)
        if number >= self.attempts or code not in TRANSIENT:
            return None
        if hint is not None:
            return hint
        if code == "timeout error" and not tool.repeatable:  # it may have run
            return None
        return self.backoff(number)

    def error_of(self, result: Frame) -> tuple[str, float | None]:
        """What an error result means, and its hint: from the JSON envelope in its text, or from its prose."""
        text = "\n".join(str(block.get("text", "")) for block in result["content"]) if result.get("isError") else ""
        try:
            envelope = json.loads(text)
            code, said = str(envelope["code"]), envelope["details"].get("retry_after_seconds")
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            found = re.search(r"retry-after: (\S+)", text)
            code, said = text, found and found.group(1)
        return self.code_of(code), None if said is None else self.hint_of(str(said))

    def code_of(self, words: str) -> str:
        """The kind of error that words stand for. Spend caps are worded as rate limits, and come first."""
        plain = words.lower().replace("_", " ")
        return next((code for code in ("spend cap", *TRANSIENT) if code in plain), "")

    def hint_of(self, said: str) -> float | None:
        """The seconds of a retry-after; they may be decimal."""
        return float(said) if re.fullmatch(r"\d+(\.\d+)?", said) else None

    def backoff(self, number: int) -> float:
        """The wait after the `number`-th attempt where the server named none."""
        return 2.0 ** (number - 1)

    async def pause(self, seconds: float) -> None:
        """Wait, and let everything else go on."""
        await anyio.sleep(seconds)
