"""The agent of a first week: a retry loop around the SDK's session, and good faith in everything that comes back.

It retries whatever looks like a failure, every second; it reads no `retry-after`, knows no spend cap, believes drifted
output and never lists the tools again. Run it:

    fuzzmcp run examples/naive_agent.py:connect --time 30s --seed 1

Out come, among others, `spend_cap` with FAULTS=429cap, `retry_after` with FAULTS=429, `drift_caught` with one edit,
and `request_budget` with as many errors as the budget allows.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import ClientSession, types

ATTEMPTS = 6


class Agent:
    """Calls tools, and tries again."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def fetch(self, tool: str, arguments: dict[str, Any]) -> Any:
        """One tool call: what it returned, as data."""
        error: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                return await self.ask(tool, arguments)
            except Exception as failure:
                error = failure
                await asyncio.sleep(1)
        raise RuntimeError(f"{tool} failed {ATTEMPTS} times") from error

    async def ask(self, tool: str, arguments: dict[str, Any]) -> Any:
        """One attempt. The text is what the model reads, so the text is all that counts."""
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        request: Any = types.CallToolRequest(method="tools/call", params=params)
        if isinstance(types.ClientRequest, type):
            request = types.ClientRequest(request)  # mcp 1.x wraps its requests
        with anyio.fail_after(60):
            result = await self.session.send_request(request, types.CallToolResult)
        text = result.content[0].text
        if result.model_dump(by_alias=True).get("isError"):
            raise RuntimeError(text)
        return json.loads(text)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Connect, look at the tools once, and hand out `fetch`."""
    async with server.connect() as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.list_tools()
        yield Agent(session).fetch
