"""The bare SDK client with a timeout, and nothing around it.

Run it:

    fuzzmcp run examples/sdk_client.py:connect --runs 1500

What comes out depends on the SDK's version: with mcp 2.x `valid_accepted` (a result that had arrived is lost when the
hidden `tools/list` behind it fails) and `relists`; with mcp 1.x also `cancels` (a timed-out request is never cancelled
on the wire).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from mcp import ClientSession

TIMEOUT = 30 if int(version("mcp").split(".")[0]) >= 2 else timedelta(seconds=30)


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """Connect the SDK's session to the server and hand out its `call_tool`."""
    async with server.connect() as streams, ClientSession(*streams, read_timeout_seconds=TIMEOUT) as session:
        await session.initialize()
        yield session.call_tool
