"""The SDK's own session, in the ways that its bugs need: any version of `mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from mcp import ClientSession

TIMEOUT = 30 if int(version("mcp").split(".")[0]) >= 2 else timedelta(seconds=30)


@asynccontextmanager
async def _session(server: Any, **options: Any) -> AsyncIterator[Any]:
    async with server.connect() as streams, ClientSession(*streams, **options) as session:
        await session.initialize()
        yield session.call_tool


@asynccontextmanager
async def patient(server: Any) -> AsyncIterator[Any]:
    """No timeout at all: whoever calls gives up by cancelling."""
    async with _session(server) as call_tool:
        yield call_tool


@asynccontextmanager
async def connect(server: Any) -> AsyncIterator[Any]:
    """A timeout of 30 seconds for each request."""
    async with _session(server, read_timeout_seconds=TIMEOUT) as call_tool:
        yield call_tool


@asynccontextmanager
async def strict_handler(server: Any) -> AsyncIterator[Any]:
    """A message handler that raises what the session hands it, as its users wrote who wanted to hear of errors."""

    async def handler(message: Any) -> None:
        if isinstance(message, Exception):
            raise message

    async with _session(server, read_timeout_seconds=TIMEOUT, message_handler=handler) as call_tool:
        yield call_tool


@asynccontextmanager
async def broken_sampling(server: Any) -> AsyncIterator[Any]:
    """A sampling callback with a bug in it."""

    async def sample(*_: Any) -> Any:
        raise ValueError("no model is configured")

    async with _session(server, sampling_callback=sample) as call_tool:
        yield call_tool


@asynccontextmanager
async def slow_sampling(server: Any) -> AsyncIterator[Any]:
    """A sampling callback that asks a person first, which takes 100 seconds."""

    async def sample(*_: Any) -> Any:
        await asyncio.sleep(100)
        raise ValueError("the person said no")

    async with _session(server, read_timeout_seconds=TIMEOUT, sampling_callback=sample) as call_tool:
        yield call_tool
