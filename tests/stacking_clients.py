"""Clients whose layers retry in every way there is, for the tests: each layer is a function of the one below it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import tenacity
from mcp import ClientSession

Ask = Callable[..., Awaitable[Any]]


class Failed(Exception):
    """An execution error, with its text."""


async def ask(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    """One request; an execution error is raised."""
    result = await session.call_tool(tool, arguments)
    if result.model_dump(by_alias=True)["isError"]:
        raise Failed(result.model_dump()["content"][0]["text"])
    return result


def client(call: Ask) -> Any:
    """A client on the SDK's session."""

    @asynccontextmanager
    async def connect(server: Any) -> Any:
        async with server.connect() as streams, ClientSession(*streams) as session:
            await session.initialize()

            async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
                return await call(session, tool, arguments)

            yield call_tool

    return connect


def looping(times: int, below: Ask, wait: float = 1.0, only: str = "") -> Ask:
    """A plain loop; `only` is a word of the errors that it retries."""

    async def loop(*asked: Any) -> Any:
        for left in reversed(range(times)):
            try:
                return await below(*asked)  # loop
            except Failed as error:
                if not left or only not in str(error):
                    raise
                await anyio.sleep(wait)
        return None

    return loop


def with_tenacity(times: int, below: Ask) -> Ask:
    @tenacity.retry(stop=tenacity.stop_after_attempt(times), wait=tenacity.wait_fixed(1), reraise=True)
    async def decorated(*asked: Any) -> Any:
        return await below(*asked)

    return decorated


def with_stamina(times: int, below: Ask) -> Ask:
    import stamina

    @stamina.retry(on=Failed, attempts=times, wait_jitter=0, timeout=None)
    async def decorated(*asked: Any) -> Any:
        return await below(*asked)

    return decorated


def with_backoff(times: int, below: Ask) -> Ask:
    import backoff

    @backoff.on_exception(backoff.constant, Failed, max_tries=times, jitter=None, interval=1)
    async def decorated(*asked: Any) -> Any:
        return await below(*asked)

    return decorated


def gathering(times: int, below: Ask) -> Ask:
    async def gathers(*asked: Any) -> Any:
        for _ in range(times):
            (result,) = await asyncio.gather(below(*asked), return_exceptions=True)  # gather
            if not isinstance(result, Exception):
                return result
        raise Failed

    return gathers


def spawning(times: int, below: Ask) -> Ask:
    """A task of its own for each attempt, made by a helper that is gone when the task runs."""

    async def spawns(*asked: Any) -> Any:
        for _ in range(times):
            try:
                return await (await start(below(*asked)))  # spawn
            except Failed:
                await asyncio.sleep(1)
        raise Failed

    async def start(coroutine: Any) -> Any:
        await asyncio.sleep(0)
        return asyncio.create_task(coroutine)

    return spawns


def grouping(times: int, below: Ask) -> Ask:
    """A task group, or a nursery, around each attempt."""

    async def groups(*asked: Any) -> Any:
        for left in reversed(range(times)):
            try:
                async with anyio.create_task_group() as group:  # group
                    group.start_soon(below, *asked)
                return None
            except Exception as error:
                if not left:
                    raise Failed from error
                await anyio.sleep(1)
        return None

    return groups


def generating(times: int, below: Ask) -> Ask:
    """The attempts are made by an async generator, in tasks of their own."""

    async def generates(*asked: Any) -> Any:
        async def attempts() -> Any:
            for _ in range(times):
                try:
                    yield await asyncio.create_task(below(*asked))  # generate
                except Failed:
                    await asyncio.sleep(1)

        async for result in attempts():
            return result
        raise Failed

    return generates


def in_a_thread(times: int, below: Ask) -> Ask:
    """The loop is plain sync code in a worker thread."""

    async def hands_over(*asked: Any) -> Any:
        def sync() -> Any:
            for left in reversed(range(times)):
                try:
                    return anyio.from_thread.run(below, *asked)  # thread
                except Failed:
                    if not left:
                        raise
            return None

        return await anyio.to_thread.run_sync(sync)

    return hands_over


def calling_itself(times: int, below: Ask) -> Ask:
    async def recurs(*asked: Any, left: int = times) -> Any:
        try:
            return await below(*asked)
        except Failed:
            if left == 1:
                raise
            return await recurs(*asked, left=left - 1)  # recursion

    return recurs
