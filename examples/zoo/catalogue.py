"""Bugs in the catalogue: how tools are listed page by page, what a failed listing does, and what a change does."""

import json
import math
from contextlib import suppress
from typing import Any

import anyio
import jsonschema

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool, ToolError, validator_of
from fuzzmcp.examples.zoo.session import Closed, Frame, Malformed, Pending, ProtocolError

FAILURES = (Closed, Malformed, ProtocolError, TimeoutError)

# -- pages ------------------------------------------------------------------------------------------------------------


@bug(
    check="survives",
    script="list:pages",
    calls=('find_customer(email="ada@example.com")',),
    seen="Chainlit/chainlit #3042",
)
class ReadsFirstPageOnly(Client):
    """Takes the first page for the whole catalogue: what stands on the others is no tool."""

    def next_cursor(self, page: Frame, before: list[str]) -> str | None:
        return None


@bug(check="traffic", script="list:loop", seen="modelcontextprotocol/csharp-sdk #1072")
class FollowsEveryCursor(Client):
    """Follows `nextCursor` for as long as there is one, wherever it leads."""

    pages = 1_000_000

    def next_cursor(self, page: Frame, before: list[str]) -> str | None:
        return page.get("nextCursor")


@bug(check="traffic", script="list:fresh_loop", seen="common mistake: paging ends only where a cursor repeats")
class HasNoPageLimit(Client):
    """Stops at a cursor that it has seen before, and at nothing else."""

    pages = 1_000_000


# -- listings that fail -----------------------------------------------------------------------------------------------


@bug(check="survives", script="list:badtool", seen="common mistake: all tools validated in one try block")
class LosesAllToOneBadTool(Client):
    """Drops the whole catalogue, for good, where one schema in it is invalid."""

    async def list_tools(self) -> dict[str, Tool]:
        tools = await super().list_tools()
        try:
            for tool in tools.values():
                validator_of(json.dumps(tool.definition["inputSchema"]))
        except jsonschema.SchemaError:
            return {}
        return tools


@bug(check="survives", script="list:rpc(-32603)", seen="common mistake: a failure cached like a result")
class CachesFailedListing(Client):
    """Takes a listing that failed for an empty catalogue, and keeps it."""

    async def list_tools(self) -> dict[str, Tool]:
        try:
            return await super().list_tools()
        except FAILURES:
            return {}


@bug(check="survives", script="list:hang", seen="common mistake: a silent server is written off at start-up")
class WritesOffSilentServer(Client):
    """Takes a server that says nothing at all to `tools/list` for one without tools, and does not ask again."""

    heard = 0

    async def on_line(self, line: str) -> None:
        self.heard += 1
        await super().on_line(line)

    async def list_tools(self) -> dict[str, Tool]:
        heard = self.heard
        try:
            return await super().list_tools()
        except TimeoutError:
            if self.heard > heard:
                raise
            return {}


@bug(check="traffic", script="list:rpc(-32603)*", seen="common mistake: a start-up loop that never gives up")
class RetriesListingForEver(Client):
    """Lists again at once whenever the server refuses to list."""

    async def list_tools(self) -> dict[str, Tool]:
        while True:
            with suppress(ProtocolError):
                return await super().list_tools()


@bug(check="expected_errors", script="list:malformed", seen="common mistake: the length of a field of unknown type")
class CountsToolsUnseen(Client):
    """Counts the tools of a page before it looks whether they are a list."""

    listed_so_far = 0

    async def request(self, method: str, params: Frame | None = None) -> Frame:
        result = await super().request(method, params)
        if method == "tools/list":
            self.listed_so_far += len(result.get("tools", ()))
        return result


# -- listings behind a result -----------------------------------------------------------------------------------------


@bug(check="valid_accepted", script="list:rpc(-32603)", seen="modelcontextprotocol/python-sdk #3513")
class ListsAfterResult(Client):
    """Lists for the first time when it has a result to validate, and lets the list's error replace that result."""

    async def listed(self, name: str) -> Tool:
        return await super().listed(name) if self.seen else Tool(name, {}, None)

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        result = await super().attempt(tool, arguments, number)
        return result if result.get("isError") else self.trusted(await super().listed(tool.name), result)


class RefreshesBehind(Client):
    """The reference, but it lists again behind each result. A listing is bounded as a whole, not page by page."""

    patience = 20.0
    """Seconds for the listing behind a result; every other listing is part of its call."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        result = await super().call_tool(name, arguments)
        with suppress(*FAILURES), anyio.move_on_after(self.patience):
            await self.refresh()
        return result

    async def refresh(self) -> None:
        changes, tools = self.changes, await self.list_tools()
        self.tools, self.seen = tools, changes

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        if method == "tools/list":
            pending.scope.deadline = math.inf
        return pending


@bug(
    check="valid_accepted",
    script="list:ok,list:rpc(-32603)",
    seen="modelcontextprotocol/python-sdk #3513",
    twin=RefreshesBehind,
)
class LosesResultToRefresh(RefreshesBehind):
    """Lets the error of the listing behind a result replace that result."""

    async def refresh(self) -> None:
        try:
            await super().refresh()
        except FAILURES as error:
            raise ToolError("the catalogue could not be refreshed") from error


@bug(
    check="finishes", script="list:ok,list:notjson", seen="modelcontextprotocol/python-sdk #3513", twin=RefreshesBehind
)
class WaitsForRefresh(RefreshesBehind):
    """Holds a result back for as long as the listing behind it takes."""

    patience = math.inf


@bug(check="finishes", script="list:notjson", seen="BerriAI/litellm #36675", twin=RefreshesBehind)
class ShieldsListing(RefreshesBehind):
    """Protects a listing from being left half-way, and so from every deadline."""

    async def list_tools(self) -> dict[str, Tool]:
        tools: dict[str, Tool] = {}
        with anyio.CancelScope(shield=True):
            tools.update(await super().list_tools())
        return tools


# -- changes ----------------------------------------------------------------------------------------------------------


@bug(check="relists", script="list_changed", seen="anthropics/claude-code #13646")
class IgnoresListChanged(Client):
    """Never lists again."""

    def on_list_changed(self) -> None:
        pass


@bug(check="relists", script="429+list_changed*2", seen="common mistake: a flag where a count is needed")
class RelistsOnce(Client):
    """Remembers that the catalogue changed, not how often: a second change goes unnoticed."""

    def on_list_changed(self) -> None:
        self.changes = 2


@bug(check="relists", script="429+list_changed", seen="common mistake: changes debounced, calls not held back")
class DebouncesChanges(Client):
    """Waits for the catalogue to settle before it counts as changed, and calls by the old one meanwhile."""

    def on_list_changed(self) -> None:
        self.tasks.start_soon(self.settled)

    async def settled(self) -> None:
        await anyio.sleep(3)
        super().on_list_changed()


@bug(check="relists", script="list:list_changed", seen="common mistake: the stale mark cleared after the await")
class ForgetsChangeWhileListing(Client):
    """Marks the catalogue as up to date once it is there, whatever changed while it was on its way."""

    async def listed(self, name: str) -> Tool:
        if self.seen < self.changes:
            self.tools = await self.list_tools()
            self.seen = self.changes
        return await super().listed(name)


@bug(check="valid_accepted", script="429+list_changed", seen="modelcontextprotocol/python-sdk #2107")
class KeepsOldSchemas(Client):
    """Lists again, but keeps what it knows of every tool that it knows."""

    def compiled(self, definition: Any) -> Tool | None:
        tool = super().compiled(definition)
        return tool and self.tools.get(tool.name, tool)


@bug(check="traffic", script="list:list_changed*", seen="common mistake: listing again until nothing changes")
class NeverStopsRelisting(Client):
    """Lists again for as long as the catalogue changes meanwhile."""

    listings = 1_000_000


@bug(check="cancels", script="list_changed", seen="common mistake: a request awaited in the receive loop")
class RelistsInReceiveLoop(Client):
    """Lists again right in the notification's handler, which no answer can pass."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if self.seen < self.changes:
            with suppress(*FAILURES):
                self.tools = await self.list_tools()
