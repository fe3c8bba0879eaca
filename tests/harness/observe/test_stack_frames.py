"""Whose the frames of a stack are: where the client's part begins, where it ends, and what between is skipped.

The tests ask the frames of real runs. So they fail when a file is moved, of fuzzmcp's or of trio's, that was known.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from types import FrameType
from typing import Any

import anyio.from_thread
import pytest
import trio

import fuzzmcp
from fuzzmcp import upstream
from fuzzmcp.clients import sdk_session
from fuzzmcp.core.package import FOLDER
from fuzzmcp.examples import sdk_client
from fuzzmcp.harness.observe.stack_frames import asked_by_a_thread, asking_thread, coroutines, own_frame, running
from fuzzmcp.harness.observe.stacks import Stacks
from fuzzmcp.upstream import Upstream

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def names(frames: list[FrameType]) -> list[str]:
    return [frame.f_code.co_name for frame in frames]


# -- where the client's part begins -----------------------------------------------------------------------------------

places = pytest.mark.parametrize("file", ["new.py", "harness/run.py", "harness/observe/new.py", "upstream/new.py"])
wraps = pytest.mark.parametrize("wrappers", [1, 2, 9])


def below(wrappers: int, file: str) -> Callable[[Callable[[], Any]], Any]:
    """Calls a function below that many others, which lie in this file of fuzzmcp's."""
    made: dict[str, Any] = {}
    source = "def wrapper(left, asked):\n    return wrapper(left - 1, asked) if left else asked()\n"
    exec(compile(source, FOLDER + file, "exec"), made)
    return partial(made["wrapper"], wrappers - 1)


@places
@wraps
def test_functions_of_ours_between_the_client_and_the_stack_are_skipped(file: str, wrappers: int) -> None:
    stacks, call = Stacks(), below(wrappers, file)

    async def attempt(key: int | None) -> Any:
        return call(partial(stacks.take, key))

    async def again() -> list[Any]:
        found = []
        for key in (None, 0, 0):
            found.append(await attempt(key))
        return found

    (first, none), (second, nothing), (third, loop) = asyncio.run(again())
    assert {first.function, second.function, third.function} == {"attempt"}
    assert (none, nothing) == (None, None)
    assert (loop.function, loop.depth) == ("again", (0, 0))


@places
@wraps
def test_functions_of_ours_between_a_client_and_its_new_task_are_skipped(file: str, wrappers: int) -> None:
    stacks, call = Stacks(), below(wrappers, file)

    async def child() -> Any:
        return stacks.take(0)[1]

    async def loops() -> list[Any]:
        found = []
        for _ in range(2):
            task = asyncio.get_running_loop().create_task(child())
            call(partial(stacks.task_started, task, asyncio.current_task()))
            found.append(await task)
        return found

    first, again = asyncio.run(loops())
    assert first is None
    assert (again.function, again.depth) == ("loops", (0, 0))


# -- where it ends ----------------------------------------------------------------------------------------------------


@both
def test_the_clients_part_ends_where_the_harness_calls_it_also_inside_of_a_coroutine(backend: str) -> None:
    """pytest, this test and `user` lie outside of the client, and they are neither fuzzmcp's nor machinery."""
    seen: dict[str, list[str]] = {}

    def look(where: str) -> None:
        frame = sys._getframe(1)
        seen[where] = names(running(frame))
        assert coroutines(frame) == len(seen[where])
        assert own_frame(frame, ()) is frame

    @asynccontextmanager
    async def connect(server: Any) -> AsyncIterator[Any]:
        look("connecting")

        async def task() -> None:
            look("in a task")

        async def call_tool(*_: Any) -> None:
            look("calling")
            async with anyio.create_task_group() as group:
                group.start_soon(task)

        yield call_tool

    async def user() -> None:
        fuzzmcp.run(connect, "", backend=backend)

    asyncio.run(user())
    assert seen == {"connecting": ["connect"], "calling": ["call_tool"], "in a task": ["task"]}


@both
def test_an_agents_part_ends_where_the_harness_calls_it(backend: str) -> None:
    seen: list[list[str]] = []

    async def agent(server: Any) -> None:
        seen.append(names(running(sys._getframe())))

    async def user() -> None:
        fuzzmcp.run(agent, "", backend=backend)

    asyncio.run(user())
    assert seen == [["agent"]]


def test_a_callback_of_the_clients_has_nothing_outside_of_it_either() -> None:
    seen: list[list[str]] = []

    @asynccontextmanager
    async def connect(server: Any) -> AsyncIterator[Any]:
        def callback() -> None:
            seen.append(names(running(sys._getframe())))

        async def call_tool(*_: Any) -> None:
            asyncio.get_running_loop().call_later(1, callback)
            await asyncio.sleep(2)

        yield call_tool

    async def user() -> None:
        fuzzmcp.run(connect, "")

    asyncio.run(user())
    assert seen == [["callback"]]


@both
def test_code_that_an_upstream_drives_ends_there_too(backend: str) -> None:
    seen: list[list[str]] = []

    async def code(backend: Any) -> None:
        seen.append(names(running(sys._getframe())))

    async def user() -> None:
        upstream.run(code, Upstream(), backend=backend)

    asyncio.run(user())
    assert seen == [["code"]]


# -- which files are whose --------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("module", [sdk_session, sdk_client])
def test_the_clients_and_the_examples_that_ship_are_under_test_as_any_others(module: Any, backend: str) -> None:
    run = fuzzmcp.run(module.connect, "", backend=backend)
    (initialize,) = [event for event in run.requests if event.method == "initialize"]
    assert initialize.site is not None
    assert initialize.site.file == module.__file__


def test_a_thread_of_a_run_that_asks_the_loop_for_something_is_told_from_other_threads() -> None:
    seen: list[list[str]] = []
    stop = threading.Event()

    async def asked() -> None:
        seen.append(names(asking_thread()))

    @contextmanager
    def connect(server: Any) -> Iterator[Any]:
        def call_tool(tool: str, arguments: dict[str, Any]) -> None:
            anyio.from_thread.run(asked)

        yield call_tool

    foreign = threading.Thread(target=stop.wait, daemon=True)
    foreign.start()
    fuzzmcp.run(connect, "")
    stop.set()
    foreign.join()
    assert seen == [["call_tool"]]


@pytest.mark.parametrize("tokens", [False, True], ids=["its own task", "by a token"])
def test_trio_does_what_a_thread_asks_for_in_the_file_of_to_thread_run_sync(tokens: bool) -> None:
    """A private fact of trio, on which `asked_by_a_thread` stands. If this fails, trio has changed."""
    seen: list[list[str]] = []

    async def asked() -> None:
        both_ends = asked_by_a_thread(sys._getframe())
        assert both_ends is not None
        inside, outside = map(names, both_ends)
        assert inside == ["asked"]
        seen.append(outside)

    async def waits() -> None:
        token = trio.lowlevel.current_trio_token() if tokens else None
        await trio.to_thread.run_sync(partial(trio.from_thread.run, asked, trio_token=token))

    trio.run(waits)
    assert [outside[:1] == ["waits"] for outside in seen] == [not tokens], "with a token it is a task of its own"


def test_a_task_of_trios_that_no_thread_has_asked_for_has_one_end() -> None:
    async def main() -> Any:
        return asked_by_a_thread(sys._getframe())

    assert trio.run(main) is None
