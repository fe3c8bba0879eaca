"""The HTTP backend below a run: one tree over the loops of a client, of its SDK, and of a server in this process."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import pytest

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.script import Script
from fuzzmcp.examples import sdk_client
from fuzzmcp.harness import sdk
from fuzzmcp.harness.backing_server import BackingServer, catalogue_of
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of
from fuzzmcp.search.stacking import CallCost, Seen, seen, seen_below
from fuzzmcp.upstream import Upstream
from fuzzmcp.upstream.in_run import Below, below_of, beside

from .network import installed

http = installed()
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
URL = "https://backend.test/orders/"


class Refused(Exception):
    """The backend did not answer 200."""


async def fetch(client: Any, path: str = "A1") -> dict[str, Any]:
    for _ in range(3):
        answer = await client.get(URL + path)  # inner
        if answer.status_code == 200:
            return {"path": path}
        await anyio.sleep(0.5)
    raise Refused


def fetch_sync(client: Any, path: str = "A1") -> dict[str, Any]:
    for _ in range(3):
        if client.get(URL + path).status_code == 200:
            return {"path": path}
        time.sleep(0.5)
    raise Refused


def shop(upstream: Upstream) -> Any:
    """A server in this process whose tools call the backend."""
    if sdk.MAJOR >= 2:
        from mcp.server import MCPServer as Server
    else:
        from mcp.server.fastmcp import FastMCP as Server
    return with_tools(Server("shop"), upstream)


def with_tools(server: Any, upstream: Upstream) -> Any:
    @server.tool()
    async def order(order_id: str) -> dict[str, Any]:
        """An order."""
        async with http.AsyncClient(transport=upstream.transport(http)) as client:
            return await fetch(client, order_id)

    @server.tool()
    def order_sync(order_id: str) -> dict[str, Any]:
        """The same, blocking."""
        with http.Client(transport=upstream.transport(http)) as client:
            return fetch_sync(client, order_id)

    return server


@asynccontextmanager
async def retrying(server: Any) -> AsyncIterator[Any]:
    async with sdk_client.connect(server) as inner:

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            for attempt in range(4):
                result = await inner(tool, arguments)
                if not result.model_dump(by_alias=True)["isError"]:
                    return result
                await anyio.sleep(2**attempt)
            raise Refused

        yield call_tool


def below(
    client: Any,
    script: str,
    *,
    server: Any = None,
    calls: list[str] | None = None,
    backend: str = "asyncio",
    contract: Contract | None = None,
) -> Seen:
    """What a client costs its backend, which plays the script."""
    parsed, target = Script.parse(script), target_of(client)
    case = case_of(calls=calls, tools=None if server is None else catalogue_of(server), backend=backend)
    mine = Below(parsed, beside(client), 0)
    limits = replace((contract or Contract()).limits, stall=60)  # some servers import much with their first call
    run = drive(case, target, limits, backing=None if server is None else BackingServer(server), below=mine)
    return seen_below(run, parsed, mine.exchanges)


def told(cost: CallCost) -> list[tuple[str, int | None]]:
    return [(layer.loop.function if layer.loop else "", layer.factor) for layer in cost.stack.layers]


TREE = [("call_tool", 4), ("fetch", 3)]


@BACKENDS
def test_a_tool_that_retries_lies_below_the_client_that_retries_it(backend: str) -> None:
    server = shop(Upstream())
    (cost,) = below(retrying, "529*", server=server, calls=['order(order_id="A1")'], backend=backend).costs
    assert told(cost) == TREE
    assert (cost.requests, cost.stack.product, cost.stack.hidden) == (12, 12, False)
    assert (cost.title, cost.tool) == ('order(order_id="A1") · GET /orders/A1', "order")


def test_a_blocking_tool_lies_below_the_client_too() -> None:
    (cost,) = below(retrying, "529*", server=shop(Upstream()), calls=['order_sync(order_id="A1")']).costs
    assert told(cost) == [("call_tool", 4), ("fetch_sync", 3)]
    assert cost.stack.product == 12


@pytest.mark.parametrize("call", ["order", "order_sync"])
def test_a_server_with_tasks_of_its_own_is_seen_through(call: str) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    assert fastmcp.Client, "to import it takes long, so not within a run"
    server = with_tools(fastmcp.FastMCP("shop"), Upstream())
    logging.disable()  # it would draw each traceback in a box, which takes its time
    try:
        (cost,) = below(retrying, "529*", server=server, calls=[f'{call}(order_id="A1")']).costs
    finally:
        logging.disable(logging.NOTSET)
    assert [factor for _, factor in told(cost)] == [4, 3]
    assert (cost.stack.product, cost.stack.hidden) == (12, False)


@pytest.mark.skipif(sdk.MAJOR < 2, reason="the server of mcp 1.x does not work in the context of what asks it")
def test_calls_at_once_keep_their_requests_apart() -> None:
    calls = ['order(order_id="A1")', 'order(order_id="A2")@0']
    found = below(retrying, "529*", server=shop(Upstream()), calls=calls)
    assert [(cost.call, cost.title.rpartition(" ")[2], told(cost)) for cost in found.costs] == [
        (0, "/orders/A1", TREE),
        (1, "/orders/A2", TREE),
    ]


async def asks_its_backend(server: Any, model: Upstream) -> str:
    async with sdk_client.connect(server) as call_tool:
        async with http.AsyncClient(transport=model.transport(http)) as client:
            for turn in range(2):
                try:
                    await fetch(client, f"turn-{turn}")
                except Refused:
                    continue
        return str(await call_tool("get_order", {"order_id": "A1"}))


@BACKENDS
def test_an_agent_gets_the_backend_that_its_parameter_asks_for(backend: str) -> None:
    found = below(asks_its_backend, "529*", backend=backend)
    assert [cost.title for cost in found.costs] == ["GET /orders/turn-0", "GET /orders/turn-1"]
    assert [told(cost) for cost in found.costs] == [[("fetch", 3)]] * 2, "another request is not the same one again"


def test_where_the_server_plays_the_script_what_was_asked_over_http_is_told_beside_it() -> None:
    mine = Below(None, Upstream(), 0)
    run = drive(case_of("529"), target_of(asks_its_backend), below=mine)
    found = seen(run, mine.exchanges)
    assert [(cost.title, cost.requests) for cost in found.costs] == [("get_order", 1)]
    assert [(cost.title, cost.requests) for cost in found.below] == [
        ("GET /orders/turn-0", 1),
        ("GET /orders/turn-1", 1),
    ]


def test_each_run_plays_its_script_from_the_start_to_an_upstream_that_outlives_it() -> None:
    server = shop(Upstream())
    calls = ['order(order_id="A1")']
    costs = [below(retrying, "529*2", server=server, calls=calls).requests for _ in range(2)]
    assert costs == [3, 3]


def test_an_upstream_with_a_script_of_its_own_plays_that() -> None:
    (cost,) = below(retrying, "529*", server=shop(Upstream("504")), calls=['order(order_id="A1")']).costs
    assert cost.requests == 2


@pytest.mark.parametrize("blocking", [False, True])
def test_an_endless_loop_over_http_is_cut_short(blocking: bool) -> None:
    async def endless(server: Any, model: Upstream) -> None:
        async with sdk_client.connect(server):
            while True:
                if blocking:
                    with http.Client(transport=model.transport(http)) as client:
                        client.get(URL)
                else:
                    async with http.AsyncClient(transport=model.transport(http)) as client:
                        await client.get(URL)

    (cost,) = below(endless, "529*", contract=Contract(max_frames=50)).costs
    assert cost.cut
    assert cost.requests == 51


def test_a_client_that_asks_for_a_backend_gets_one_with_nothing_wrong_in_a_plain_run() -> None:
    assert fuzzmcp.run(asks_its_backend).outcomes[0].status == "returned"


def test_an_endless_loop_over_http_is_cut_short_in_a_plain_run_too() -> None:
    async def endless(server: Any, model: Upstream) -> None:
        async with http.AsyncClient(transport=model.transport(http)) as client:
            while True:
                await client.get(URL)

    assert "budget" in fuzzmcp.run(endless, contract=Contract(max_frames=50)).stopped


def test_a_run_of_a_client_that_asks_for_a_backend_needs_one_handed_in() -> None:
    with pytest.raises(TypeError, match="asks_its_backend takes an HTTP backend as 'model'"):
        drive(case_of(), target_of(asks_its_backend))


def test_a_client_that_asks_for_no_backend_is_handed_none() -> None:
    assert below_of(target_of(sdk_client.connect)) is None


backend = Upstream(ok={"from": "beside"}, hints="decimal")


async def answered(server: Any, model: Upstream) -> Any:
    async with http.AsyncClient(transport=model.transport(http)) as client:
        return (await client.get(URL)).json()


def test_the_backend_beside_a_client_says_how_it_answers() -> None:
    assert fuzzmcp.run(answered).outcomes[0].value == {"from": "beside"}
    assert backend.requests == (), "each run has one of its own"
