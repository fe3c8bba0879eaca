"""The stack of a request beyond its task: across tasks, threads, and into the request that a server here works on."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from fuzzmcp.core.trace import Loop
from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.observe.stacks import CALL, Stacks
from fuzzmcp.harness.own_faults import Ours

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def played(main: Callable[[Stacks], Any], backend: str) -> None:
    """Runs `main` on a loop that reports its tasks."""
    stacks = Stacks()

    async def watched() -> None:
        if backend == "trio":
            stacks.watch_trio(Ours(clock.fail, "no case"))
        await main(stacks)

    clock = VirtualClock(backend, on_task=stacks.task_started)
    clock.run(watched)
    stacks.clear()


def take(stacks: Stacks) -> Loop | None:
    """What the HTTP backend of a run does."""
    call = CALL.get()
    return stacks.take(stacks.call_served() if call is None else call, context_known=call is not None)[1]


class Server:
    """Takes requests from a queue, as one that was started before all of them and knows no call."""

    def __init__(self, stacks: Stacks, tool: Callable[[], Any], *, workers: bool = False) -> None:
        self.stacks, self._tool, self._workers = stacks, tool, workers
        self._send, self._requests = anyio.create_memory_object_stream[Any](math.inf)

    async def serve(self) -> None:
        async with anyio.create_task_group() as group, self._requests:
            async for done in self._requests:
                if self._workers:
                    await self._work(done)
                else:
                    group.start_soon(self._work, done)

    async def _work(self, done: anyio.Event) -> None:
        await self._tool()
        done.set()

    async def ask(self, call: int) -> None:
        done = anyio.Event()
        with self.stacks.serving(call):
            await self._send.send(done)
            await done.wait()

    async def close(self) -> None:
        await self._send.aclose()


def asked(tool: Callable[[Stacks], Any], backend: str, *, calls: int = 1, workers: bool = False) -> list[Loop | None]:
    """The loops that are seen when each of so many calls, all at once, asks a server twice, whose tool sends twice."""
    seen: list[Loop | None] = []

    async def main(stacks: Stacks) -> None:
        async def tried() -> None:
            seen.extend(await tool(stacks))

        async def turn(call: int) -> None:
            CALL.set(call)
            stacks.call_started()
            for _ in range(2):
                await server.ask(call)

        async def in_a_task_more(asks: Any, call: int) -> None:
            async with anyio.create_task_group() as deeper:
                deeper.start_soon(asks, call)

        server = Server(stacks, tried, workers=workers)
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve)
            await anyio.sleep(1)
            async with anyio.create_task_group() as agents:
                for call in range(calls):
                    agents.start_soon(in_a_task_more, turn, call)
            await server.close()

    played(main, backend)
    return seen


async def tool(stacks: Stacks) -> list[Loop | None]:
    found = []
    for _ in range(2):
        found.append(take(stacks))
        await anyio.sleep(1)
    return found


async def blocking_tool(stacks: Stacks) -> list[Loop | None]:
    def works() -> list[Loop | None]:
        return [take(stacks) for _ in range(2)]

    return await anyio.to_thread.run_sync(works)


def functions(loops: list[Loop | None]) -> list[str]:
    return [loop.function if loop is not None else "" for loop in loops]


# -- servers in this process ------------------------------------------------------------------------------------------


@both
def test_a_tool_lies_below_the_turn_of_the_agent_that_asked_for_it(backend: str) -> None:
    first, inner, outer, again = asked(tool, backend)
    assert first is None
    assert functions([inner, outer, again]) == ["tool", "turn", "tool"]
    assert inner is not None
    assert outer is not None
    assert inner.depth is not None
    assert outer.depth is not None
    assert inner.depth[0] == outer.depth[0] + 1
    assert again == inner


def test_so_does_a_tool_that_blocks_a_thread() -> None:
    first, inner, outer, again = asked(blocking_tool, "asyncio")
    assert first is None
    assert functions([outer]) == ["turn"]
    assert outer is not None
    assert inner is not None
    assert outer.depth is not None
    assert inner.depth is not None
    assert outer.depth < inner.depth
    assert again == inner


@both
def test_what_a_worker_of_the_server_does_that_serves_all_requests_has_no_depth(backend: str) -> None:
    _, inner, between, again = asked(tool, backend, workers=True)
    assert functions([inner, between, again]) == ["tool", "serve", "tool"]
    assert {loop.depth for loop in (inner, between, again) if loop is not None} == {None}


@both
def test_a_tool_is_below_no_agent_while_two_of_them_wait(backend: str) -> None:
    """Which of the two requests it works on cannot be known, so its requests count for no call."""
    assert asked(tool, backend, calls=2) == [None] * 8


# -- tasks and threads ------------------------------------------------------------------------------------------------


@both
def test_a_stack_goes_on_from_task_to_task_however_many_there_are(backend: str) -> None:
    seen: list[Loop | None] = []

    async def main(stacks: Stacks) -> None:
        CALL.set(0)
        stacks.call_started()

        async def inner() -> None:
            seen.append(take(stacks))

        async def middle() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(inner)

        for _ in range(2):
            async with anyio.create_task_group() as group:
                group.start_soon(middle)

    played(main, backend)
    assert functions(seen) == ["", "main"]
    assert seen[1] is not None
    assert seen[1].depth is not None
    assert seen[1].depth[0] == 0


@both
def test_a_parent_that_went_deeper_since_lends_only_the_frames_that_it_had(backend: str) -> None:
    """While both children send, their parent waits in `later`, where it has started neither of them."""
    seen: list[Loop | None] = []

    async def main(stacks: Stacks) -> None:
        CALL.set(0)
        stacks.call_started()

        async def child(seconds: float) -> None:
            await anyio.sleep(seconds)
            seen.append(take(stacks))

        async def later() -> None:
            await anyio.sleep(5)

        async with anyio.create_task_group() as group:
            for seconds in range(2):
                group.start_soon(child, seconds)
            await later()

    played(main, backend)
    assert functions(seen) == ["", "main"]


@both
def test_what_an_agent_sends_while_it_waits_for_a_server_is_not_below_that_server(backend: str) -> None:
    seen: list[Loop | None] = []

    async def main(stacks: Stacks) -> None:
        CALL.set(0)
        stacks.call_started()

        async def waits() -> None:
            with stacks.serving(0):
                await anyio.sleep(9)

        async def sends() -> None:
            await anyio.sleep(1)
            for _ in range(2):
                seen.append(take(stacks))

        for _ in range(2):
            async with anyio.create_task_group() as group:
                group.start_soon(waits)
                await anyio.sleep(1)
                group.start_soon(sends)

    played(main, backend)
    assert functions(seen) == ["", "sends", "main", "sends"]
    assert [loop.depth[0] for loop in seen if loop is not None and loop.depth is not None] == [1, 0, 1]


def test_a_thread_and_the_tasks_that_it_asks_for_lie_below_the_task_of_its_call() -> None:
    seen: list[Loop | None] = []

    async def main(stacks: Stacks) -> None:
        CALL.set(0)
        stacks.call_started()
        loop = asyncio.get_running_loop()

        async def asked_for() -> None:
            seen.append(take(stacks))

        def works() -> None:
            for _ in range(2):
                asyncio.run_coroutine_threadsafe(asked_for(), loop).result()

        for _ in range(2):
            await anyio.to_thread.run_sync(works)

    played(main, "asyncio")
    assert functions(seen) == ["", "works", "main", "works"]
    depths = [loop.depth for loop in seen if loop is not None]
    assert [depth[0] for depth in depths if depth is not None] == [1, 0, 1]
