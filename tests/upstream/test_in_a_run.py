"""An agent under `fuzzmcp.run` that also calls HTTP: one clock, and the calls of that run."""

# ruff: noqa: ASYNC251

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import fuzzmcp
from fuzzmcp import upstream
from fuzzmcp.core.trace import Run
from fuzzmcp.examples import sdk_client
from fuzzmcp.harness.observe.layers import stack_of
from fuzzmcp.harness.observe.stacks import Stacks
from fuzzmcp.upstream import Upstream
from fuzzmcp.upstream.sessions import HttpSession

from .network import installed

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
URL = "https://backend.test/v1/orders"
http = installed()


class Held:
    """Something that lives as long as the frame whose local it is."""


async def fetch(client: Any, up: Upstream, retries: int = 3) -> int:
    for _ in range(retries + 1):
        answer = await client.get(URL)
        if answer.status_code == 200:
            break
        await anyio.sleep(float(answer.headers.get("retry-after", 1)))
    return int(answer.status_code)


@BACKENDS
def test_an_agents_http_requests_are_in_the_time_of_its_run(backend: str) -> None:
    up = Upstream("429(5),529")

    async def agent(server: Any) -> int:
        async with sdk_client.connect(server) as call_tool, http.AsyncClient(transport=up.transport(http)) as client:
            await call_tool("get_order", {"order_id": "A1"})
            return await fetch(client, up)

    run = fuzzmcp.run(agent, "ok@2", backend=backend)
    assert (run.outcomes[0].value, run.outcomes[0].ended) == (200, 8)
    assert [exchange.at for exchange in up.requests] == [2, 7, 8]
    assert [exchange.call for exchange in up.requests] == [0, 0, 0]
    assert [exchange.loop.function for exchange in up.requests if exchange.loop] == ["fetch", "fetch"]
    assert run.requests_of(0)[-1].loop is None  # the requests of MCP and of HTTP are counted apart


def test_each_call_of_a_client_has_its_own_http_requests() -> None:
    up = Upstream("529*4")

    @asynccontextmanager
    async def connect(server: Any) -> AsyncIterator[Any]:
        async with sdk_client.connect(server) as inner, http.AsyncClient(transport=up.transport(http)) as client:

            async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
                await fetch(client, up, retries=1)
                return await inner(tool, arguments)

            yield call_tool

    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
    run = fuzzmcp.run(connect, "", calls=calls)
    assert [outcome.status for outcome in run.outcomes] == ["returned", "returned"]
    assert [(exchange.call, exchange.loop is not None) for exchange in up.requests] == [
        (0, False),
        (0, True),
        (1, False),
        (1, True),
    ]


def test_a_blocking_request_in_an_agent_is_time_that_blocked_the_loop() -> None:
    up = Upstream("504@4")

    async def agent(server: Any) -> int:
        async with sdk_client.connect(server):
            with http.Client(transport=up.transport(http)) as client:
                return int(client.get(URL).status_code)

    run: Run = fuzzmcp.run(agent)
    assert run.outcomes[0].value == 504
    assert [(b.seconds, b.where.rpartition(" ")[2]) for b in run.blocked] == [(4, "agent")]


def test_a_function_inside_of_a_run_may_have_a_run_of_its_own() -> None:
    async def agent(server: Any) -> Any:
        async with sdk_client.connect(server) as call_tool:
            await call_tool("get_order", {"order_id": "A1"})
            with upstream.virtual() as now:
                time.sleep(1)
                return now()

    assert fuzzmcp.run(agent, "ok@2").outcomes[0].value == 3


@BACKENDS
def test_layers_above_a_task_are_seen_through_in_an_agents_run(backend: str) -> None:
    up = Upstream("529*")

    async def inner(client: Any) -> None:
        for _ in range(3):
            await client.get(URL)

    async def agent(server: Any) -> None:
        async with sdk_client.connect(server), http.AsyncClient(transport=up.transport(http)) as client:
            for _ in range(4):
                async with anyio.create_task_group() as group:
                    group.start_soon(inner, client)

    fuzzmcp.run(agent, backend=backend)
    stack = stack_of([exchange.attempt for exchange in up.requests])
    layers = [(layer.loop.function if layer.loop else None, layer.factor) for layer in stack.layers]
    assert layers == [("agent", 4), ("inner", 3)]


@BACKENDS
def test_no_frame_outlives_a_run(backend: str) -> None:
    held: list[weakref.ref[Held]] = []

    def sync(up: Upstream) -> None:
        mine = Held()
        held.append(weakref.ref(mine))
        with http.Client(transport=up.transport(http)) as client:
            for _ in range(3):
                client.get(URL)

    async def coroutine(up: Upstream) -> None:
        mine = Held()
        held.append(weakref.ref(mine))
        async with http.AsyncClient(transport=up.transport(http)) as client:
            for _ in range(3):
                await client.get(URL)

    ups = [Upstream("529*"), Upstream("529*"), Upstream("529*")]

    async def agent(server: Any) -> None:
        async with sdk_client.connect(server):
            await coroutine(ups[2])

    upstream.run(sync, ups[0])
    upstream.run(coroutine, ups[1], backend=backend)
    fuzzmcp.run(agent, backend=backend)
    gc.collect()
    assert [one() for one in held] == [None, None, None]
    assert all(up.requests[-1].loop for up in ups)


def test_the_requests_of_http_and_of_mcp_are_compared_apart_on_the_same_stacks() -> None:
    stacks = Stacks()
    session = HttpSession(stacks)

    def loops() -> list[Any]:
        seen: list[Any] = []
        for _ in range(2):
            seen += [session.take(0)[1], stacks.take(0)[1]]
        return seen

    assert [loop is not None for loop in loops()] == [False, False, True, True]


def test_no_thread_outlives_a_block() -> None:
    before = {thread for thread in threading.enumerate() if thread.name == "fuzzmcp virtual time"}
    with upstream.virtual():
        assert any(thread.name == "fuzzmcp virtual time" for thread in threading.enumerate())
    assert {thread for thread in threading.enumerate() if thread.name == "fuzzmcp virtual time"} == before == set()
