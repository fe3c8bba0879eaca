"""What is seen of a client without its help: the code that sent a request, and the loop that sent it again."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sysconfig
import weakref
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import tenacity
from mcp import ClientSession

import fuzzmcp
from fuzzmcp.core.trace import Run, Site
from fuzzmcp.harness.observe.stacks import CALL, Stacks

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]


def line_of(function: Any, text: str) -> int:
    """The number of the one line of a function that contains this text."""
    lines, start = inspect.getsourcelines(inspect.unwrap(function))
    (found,) = [start + i for i, line in enumerate(lines) if text in line]
    return found


class Failed(Exception):
    pass


async def attempt(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    """One request; an execution error is raised."""
    result = await session.call_tool(tool, arguments)  # the request
    if result.model_dump(by_alias=True)["isError"]:
        raise Failed
    return result


def client(call: Callable[[ClientSession, str, dict[str, Any]], Awaitable[Any]]) -> Any:
    """A client on the SDK's session, whose own code lies in this file."""

    @asynccontextmanager
    async def connect(server: Any) -> Any:
        async with server.connect() as streams, ClientSession(*streams) as session:
            await session.initialize()

            async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
                return await call(session, tool, arguments)

            yield call_tool

    return connect


def sent(run: Run) -> list[tuple[Site | None, Site | None]]:
    """Site and loop of the requests of the first call."""
    return [(event.site, event.loop) for event in run.requests_of(0)]


def where(site: Site | None) -> tuple[str, int]:
    assert site is not None
    assert site.file == __file__
    return site.function, site.line


# -- the code that sent it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_request_names_the_innermost_line_of_the_clients_own_code(backend: str) -> None:
    run = fuzzmcp.run(client(attempt), "", backend=backend)
    ((site, loop),) = sent(run)
    assert where(site) == ("attempt", line_of(attempt, "# the request"))
    assert loop is None, "nothing was sent again"


def test_what_the_client_does_by_itself_has_a_place_too() -> None:
    run = fuzzmcp.run(client(attempt), "")
    (initialize,) = [event for event in run.requests if event.method == "initialize"]
    assert where(initialize.site) == ("connect", line_of(client, "await session.initialize()"))


def test_a_client_that_lies_among_the_installed_packages_is_shown_by_its_outermost_frame() -> None:
    fetch = "async def fetch(stacks):\n    return stacks.take(None)\n"
    source = f"{fetch}async def main(stacks):\n    return await fetch(stacks)\n"
    installed: dict[str, Any] = {}
    exec(compile(source, f"{sysconfig.get_path('purelib')}/some_client.py", "exec"), installed)
    site, _ = asyncio.run(installed["main"](Stacks()))
    assert str(site) == "some_client.py:4 main"
    own, _ = asyncio.run(installed["main"](Stacks((f"{sysconfig.get_path('purelib')}/some_client.py",))))
    assert str(own) == "some_client.py:2 fetch", "unless it is the client under test itself"


def test_a_site_is_short_on_paper() -> None:
    assert str(Site("/home/me/agent.py", 31, "fetch")) == "agent.py:31 fetch"


# -- the loop that sent it again --------------------------------------------------------------------------------------


async def plain_loop(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    for _ in range(3):
        try:
            return await attempt(session, tool, arguments)  # here
        except Failed:
            await anyio.sleep(1)
    return None


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_plain_loop_is_named_from_the_second_request_on(backend: str) -> None:
    first, *others = sent(fuzzmcp.run(client(plain_loop), "529*3", backend=backend))
    assert first[1] is None
    assert [where(loop) for _, loop in others] == [("plain_loop", line_of(plain_loop, "# here"))] * 2
    assert all(where(site)[0] == "attempt" for site, _ in (first, *others))


async def loop_over_tasks(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    for _ in range(3):
        task = asyncio.create_task(attempt(session, tool, arguments))
        try:
            return await task  # here
        except Failed:
            await asyncio.sleep(1)
    return None


def test_a_loop_over_tasks_is_found_through_the_task_that_made_them() -> None:
    first, *others = sent(fuzzmcp.run(client(loop_over_tasks), "529*3"))
    assert [where(loop) for _, loop in others] == [("loop_over_tasks", line_of(loop_over_tasks, "# here"))] * 2
    assert where(first[0])[0] == "attempt"


async def loop_over_gather(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    for _ in range(3):
        (result,) = await asyncio.gather(attempt(session, tool, arguments), return_exceptions=True)  # here
        if not isinstance(result, Exception):
            return result
    return None


def test_a_loop_over_gather_is_found() -> None:
    _, *others = sent(fuzzmcp.run(client(loop_over_gather), "529*3"))
    assert [where(loop) for _, loop in others] == [("loop_over_gather", line_of(loop_over_gather, "# here"))] * 2


async def loop_over_wait_for(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    for _ in range(3):
        try:
            return await asyncio.wait_for(attempt(session, tool, arguments), 5)  # here
        except Failed:
            continue
    return None


def test_a_loop_over_wait_for_is_found_on_every_python() -> None:
    _, *others = sent(fuzzmcp.run(client(loop_over_wait_for), "529*3"))
    assert [where(loop)[0] for _, loop in others] == ["loop_over_wait_for"] * 2


@tenacity.retry(stop=tenacity.stop_after_attempt(3), wait=tenacity.wait_fixed(1), reraise=True)
async def decorated(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    return await attempt(session, tool, arguments)


async def uses_tenacity(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    try:
        return await decorated(session, tool, arguments)
    except Failed:
        return None


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_retrying_decorator_is_named_as_the_loop_and_waits_in_virtual_time(backend: str) -> None:
    run = fuzzmcp.run(client(uses_tenacity), "529*3", backend=backend)
    first, *others = sent(run)
    assert [event.at for event in run.requests_of(0)] == [0.0, 1.0, 2.0]
    assert [where(loop)[0] for _, loop in others] == ["decorated"] * 2
    assert [getattr(loop, "library", "") for _, loop in others] == ["tenacity"] * 2
    assert where(first[0])[0] == "attempt"


async def two_layers(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    for _ in range(2):
        result = await inner(session, tool, arguments)  # outer loop
        if result is not None:
            return result
    return None


async def inner(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
    for _ in range(2):
        try:
            return await attempt(session, tool, arguments)  # inner loop
        except Failed:
            continue
    return None


def test_of_two_stacked_loops_the_one_that_came_back_is_named() -> None:
    _, *others = sent(fuzzmcp.run(client(two_layers), "529*4"))
    assert [where(loop)[0] for _, loop in others] == ["inner", "two_layers", "inner"]


def test_calls_that_run_at_once_are_not_taken_for_a_loop() -> None:
    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0']
    run = fuzzmcp.run(client(attempt), "ok@2,ok@1", calls=calls)
    assert [event.loop for event in run.requests if event.method == "tools/call"][:2] == [None, None]


# -- nothing is kept --------------------------------------------------------------------------------------------------


def test_frames_are_let_go_when_told_to() -> None:
    class Marker:
        pass

    stacks, alive = Stacks(), []

    async def sends() -> None:
        mine = Marker()
        alive.append(weakref.ref(mine))
        stacks.take(0)
        del mine

    asyncio.run(sends())
    stacks.clear()
    gc.collect()
    assert alive[0]() is None


def test_the_context_of_a_call_is_inherited_by_the_tasks_it_starts() -> None:
    async def starts(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Any:
        return await asyncio.create_task(attempt(session, tool, arguments))

    run = fuzzmcp.run(client(starts), "", calls=['get_order(order_id="A1")', 'get_order(order_id="A2")@0'])
    assert [event.call for event in run.requests if event.method == "tools/call"] == [0, 1]
    assert CALL.get() is None
