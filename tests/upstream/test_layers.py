"""The layers of a stack over HTTP: 12 = 4 × 3, whatever the layers are made of."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from typing import Any

import anyio
import pytest

from fuzzmcp import upstream
from fuzzmcp.upstream import Happened, Upstream

from .network import installed, library

http = installed()
URL = "https://backend.test/v1/orders"


class Refused(Exception):
    """The backend did not answer 200."""


def send(client: Any) -> str:
    answer = client.get(URL)
    if answer.status_code != 200:
        raise Refused
    return str(answer.text)


async def send_async(client: Any) -> str:
    answer = await client.get(URL)
    if answer.status_code != 200:
        raise Refused
    return str(answer.text)


def inner(client: Any) -> str:
    for _ in range(2):
        try:
            return send(client)
        except Refused:
            time.sleep(0.5)
    return send(client)


async def inner_async(client: Any) -> str:
    for _ in range(2):
        try:
            return await send_async(client)
        except Refused:
            await anyio.sleep(0.5)
    return await send_async(client)


def outer(sending: Any) -> str:
    for attempt in range(3):
        try:
            return str(sending())
        except Refused:
            time.sleep(2**attempt)
    return str(sending())


async def outer_async(sending: Any) -> str:
    for attempt in range(3):
        try:
            return str(await sending())
        except Refused:
            await anyio.sleep(2**attempt)
    return str(await sending())


def sync(up: Upstream) -> Any:
    return http.Client(transport=up.transport(http))


def coroutine(up: Upstream) -> Any:
    return http.AsyncClient(transport=up.transport(http))


def layers(happened: Happened) -> list[tuple[str, int | None, str]]:
    stack = happened.stack_of()
    assert stack.product == stack.requests == len(happened.requests)
    return [(layer.loop.function, layer.factor, layer.pauses) for layer in stack.layers if layer.loop]


def test_loops_of_a_sync_caller() -> None:
    happened = upstream.run(lambda up: outer(lambda: inner(sync(up))), "529*")
    assert layers(happened) == [("outer", 4, "waits 1 s 2 s 4 s"), ("inner", 3, "waits 0.5 s 0.5 s")]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_loops_of_coroutines(backend: str) -> None:
    async def agent(up: Upstream) -> str:
        async with coroutine(up) as client:
            return await outer_async(lambda: inner_async(client))

    happened = upstream.run(agent, "529*", backend=backend)
    assert layers(happened) == [("outer_async", 4, "waits 1 s 2 s 4 s"), ("inner_async", 3, "waits 0.5 s 0.5 s")]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_over_tasks_that_loop(backend: str) -> None:
    async def agent(up: Upstream) -> str:
        async with coroutine(up) as client:

            async def spawned() -> str:
                seen: list[str | None] = []

                async def child() -> None:
                    try:
                        seen.append(await inner_async(client))
                    except Refused:
                        seen.append(None)

                async with anyio.create_task_group() as group:
                    group.start_soon(child)
                if seen[0] is None:
                    raise Refused
                return seen[0]

            return await outer_async(spawned)

    happened = upstream.run(agent, "529*", backend=backend)
    assert [(name, factor) for name, factor, _ in layers(happened)] == [("outer_async", 4), ("inner_async", 3)]


def test_a_loop_of_coroutines_over_a_loop_in_a_thread() -> None:
    async def agent(up: Upstream) -> str:
        client = sync(up)
        return await outer_async(lambda: asyncio.to_thread(inner, client))

    happened = upstream.run(agent, "529*")
    assert [(name, factor) for name, factor, _ in layers(happened)] == [("outer_async", 4), ("inner", 3)]


def test_loops_in_the_thread_of_a_pool() -> None:
    def agent(up: Upstream) -> str:
        client = sync(up)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return pool.submit(outer, lambda: inner(client)).result()

    happened = upstream.run(agent, "529*")
    assert len(happened.requests) == 12
    assert [layer.loop.function for layer in happened.stack_of().layers if layer.loop] == ["outer", "inner"]


@pytest.mark.parametrize("name", ["tenacity", "stamina"])
def test_a_decorated_function_is_named_with_the_library_that_retries_it(name: str) -> None:
    retries = library(name)
    if name == "tenacity":
        decorate = retries.retry(stop=retries.stop_after_attempt(3), wait=retries.wait_fixed(1), reraise=True)
    else:
        decorate = retries.retry(on=Refused, attempts=3, wait_initial=1, wait_jitter=0)

    def agent(up: Upstream) -> str:
        decorated = decorate(send)
        client = sync(up)
        return outer(lambda: decorated(client))

    happened = upstream.run(agent, "529*")
    assert [(function, factor) for function, factor, _ in layers(happened)] == [("outer", 4), ("send", 3)]
    loop = happened.stack_of().layers[1].loop
    assert loop is not None
    assert loop.library == name


def test_a_caller_that_does_not_stack_has_one_layer() -> None:
    happened = upstream.run(lambda up: outer(lambda: send(sync(up))), "529*")
    assert layers(happened) == [("outer", 4, "waits 1 s 2 s 4 s")]
    assert upstream.run(lambda up: send(sync(up)), "").stack_of().layers == ()
