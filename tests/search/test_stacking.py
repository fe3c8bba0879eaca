"""Retry layers: found by their code lines, exactly nested, however the client is built; and the mix that costs most."""

from __future__ import annotations

import asyncio
import gc
import inspect
import weakref
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import stacking_clients as layers
from stacking_clients import Failed, ask, client, looping

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.script import Script, ScriptError
from fuzzmcp.harness.observe.layers import Layer, Stack, attempts_of, stack_of
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of
from fuzzmcp.search.stacking import TRANSIENT, Exploration, endless, explore, seen

FILE = Path(layers.__file__).name


def stack(call: Any, script: str = "529*", backend: str = "asyncio") -> Stack:
    """The layers of the first call of a client."""
    run = fuzzmcp.run(client(call), script, backend=backend)
    return stack_of(attempts_of(run, 0))


def line(function: Any, text: str, file: Any = layers) -> int:
    """The number of the one line with this text in a function."""
    lines, start = inspect.getsourcelines(function)
    (found,) = [start + place for place, one in enumerate(lines) if text in one]
    return found


def told(found: Stack) -> list[tuple[str, int, int | None]]:
    return [(layer.loop.function, layer.loop.line, layer.factor) for layer in found.layers if layer.loop]


LOOP = ("loop", line(looping, "# loop"))


# -- the layers of one call -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_of_4_over_a_loop_of_3_is_12(backend: str) -> None:
    found = stack(looping(4, looping(3, ask, 0.5)), backend=backend)
    assert told(found) == [(*LOOP, 4), (*LOOP, 3)]
    assert (found.requests, found.product) == (12, 12)
    assert [layer.pauses for layer in found.layers] == ["waits 1 s 1 s 1 s", "waits 0.5 s 0.5 s"]
    assert str(found) == f"{FILE}:{LOOP[1]} loop ×4 over {FILE}:{LOOP[1]} loop ×3"


Over = Callable[[int, Any], Any]
WAYS: dict[str, tuple[Over, str, str]] = {
    "gather": (layers.gathering, "gathers", "# gather"),
    "task": (layers.spawning, "spawns", "# spawn"),
    "generator": (layers.generating, "attempts", "# generate"),
    "group": (layers.grouping, "groups", "# group"),
    "thread": (layers.in_a_thread, "sync", "# thread"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("outside", [True, False], ids=["above", "below"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_layer_is_found_across_tasks_groups_generators_and_threads(way: str, outside: bool, backend: str) -> None:
    if backend == "trio" and way != "group":
        pytest.skip("asyncio's own; a trio thread that asks again and again is not yet driven the same way each time")
    over, function, text = WAYS[way]
    found = stack(over(4, looping(3, ask)) if outside else looping(4, over(3, ask)), backend=backend)
    theirs = (function, line(over, text))
    assert told(found) == ([(*theirs, 4), (*LOOP, 3)] if outside else [(*LOOP, 4), (*theirs, 3)])
    assert found.product == 12


LIBRARIES: dict[str, Over] = {
    "tenacity": layers.with_tenacity,
    "stamina": layers.with_stamina,
    "backoff": layers.with_backoff,
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("outside", [True, False], ids=["above", "below"])
def test_a_decorator_is_named_by_the_function_that_it_retries(library: str, outside: bool) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    over = LIBRARIES[library]
    found = stack(over(4, looping(3, ask)) if outside else looping(4, over(3, ask)))
    theirs = ("decorated", line(over, "@"))
    assert told(found) == ([(*theirs, 4), (*LOOP, 3)] if outside else [(*LOOP, 4), (*theirs, 3)])
    assert [layer.loop.library for layer in found.layers if layer.loop] == ([library, ""] if outside else ["", library])
    assert f"{FILE}:{theirs[1]} decorated ({library}) ×" in str(found)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_three_layers_of_2_3_and_4_are_24(backend: str) -> None:
    found = stack(looping(2, looping(3, looping(4, ask))), backend=backend)
    assert [layer.factor for layer in found.layers] == [2, 3, 4]
    assert (found.requests, found.product) == (24, 24)


def test_a_client_that_does_not_stack_has_one_layer_and_one_that_does_not_retry_has_none() -> None:
    assert told(stack(looping(3, ask))) == [(*LOOP, 3)]
    assert stack(ask) == Stack(1)


def test_a_function_that_tries_again_by_calling_itself_is_one_layer() -> None:
    found = stack(looping(2, layers.calling_itself(5, ask)))
    assert told(found) == [(*LOOP, 2), ("recurs", line(layers.calling_itself, "# recursion"), 5)]


def test_a_breaker_is_told_as_it_was_seen_and_not_as_a_product() -> None:
    failures = 0

    async def breaks(*asked: Any) -> Any:
        nonlocal failures
        for _ in range(3):
            try:
                return await ask(*asked)
            except Failed:
                failures += 1
                if failures > 2:
                    raise
                await anyio.sleep(1)
        return None

    found = stack(looping(3, breaks))
    assert [(layer.factor, layer.times) for layer in found.layers] == [(3, "×3"), (None, "seen 3, 1, 1")]
    assert (found.requests, found.product) == (5, None)


def test_siblings_are_no_loop_of_what_waits_for_them() -> None:
    async def joins(tasks: list[Any]) -> None:
        for task in tasks:
            await task

    async def hedges(*asked: Any) -> None:
        await joins([asyncio.create_task(ask(*asked)) for _ in range(3)])

    assert [name for name, _, _ in told(stack(hedges, "ok@1*"))] == ["hedges"]


def test_siblings_of_a_task_group_are_no_loop_of_the_group() -> None:
    async def hedges(*asked: Any) -> Any:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ask, *asked)  # hedge

    async def patient(*asked: Any) -> Any:
        await hedges(*asked)

    for backend in ("asyncio", "trio"):
        found = stack(patient, "ok@1*", backend)
        assert [name for name, _, _ in told(found)] == ["hedges"], backend
        assert found.requests == 3


def test_the_fastmcp_client_hides_no_layer() -> None:
    fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed")
    transports = pytest.importorskip("fastmcp.client.transports")
    from mcp import ClientSession

    class Wire(transports.ClientTransport):  # type: ignore[misc, name-defined]
        def __init__(self, server: Any) -> None:
            self.server = server

        @asynccontextmanager
        async def connect_session(self, **more: Any) -> Any:
            async with self.server.connect() as streams, ClientSession(*streams, **more) as session:
                yield session

    async def asks(client: Any, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            return await client.call_tool(tool, arguments)
        except fastmcp.exceptions.ToolError as error:
            raise Failed from error

    @asynccontextmanager
    async def connect(server: Any) -> Any:
        async with fastmcp.Client(Wire(server)) as session:
            call = looping(4, looping(3, asks))
            yield lambda tool, arguments: call(session, tool, arguments)

    run = fuzzmcp.run(connect, "529*")
    assert told(stack_of(attempts_of(run, 0))) == [(*LOOP, 4), (*LOOP, 3)]


def test_behind_a_queue_it_says_that_what_loops_above_cannot_be_seen() -> None:
    @asynccontextmanager
    async def connect(server: Any) -> Any:
        from mcp import ClientSession

        jobs: asyncio.Queue[Any] = asyncio.Queue()

        async def works(session: Any) -> None:
            while True:
                asked, answer = await jobs.get()
                try:
                    answer.set_result(await ask(session, *asked))
                except Failed as error:
                    answer.set_exception(error)

        async def puts(*asked: Any) -> Any:
            answer = asyncio.get_running_loop().create_future()
            jobs.put_nowait((asked, answer))
            return await answer

        async with server.connect() as streams, ClientSession(*streams) as session:
            await session.initialize()
            worker = asyncio.create_task(works(session))
            yield looping(4, puts)
            worker.cancel()

    found = stack_of(attempts_of(fuzzmcp.run(connect, "529*"), 0))
    assert found.hidden
    assert [name for name, _, _ in told(found)] == ["works"]
    assert not stack(looping(4, ask)).hidden


def test_no_frame_outlives_its_run() -> None:
    class Marker:
        pass

    alive: list[weakref.ref[Marker]] = []

    async def marked(*asked: Any) -> Any:
        mine = Marker()
        alive.append(weakref.ref(mine))
        try:
            return await ask(*asked)
        finally:
            del asked

    for over in (layers.gathering, layers.grouping, layers.in_a_thread, layers.with_tenacity, looping):
        run = fuzzmcp.run(client(over(3, marked)), "529*")
        assert len(stack_of(attempts_of(run, 0)).layers) == 1
    gc.collect()
    assert len(alive) >= 15
    assert not [one for one in alive if one() is not None]


# -- exploring ---------------------------------------------------------------------------------------------------------


def explored(call: Any, faults: tuple[str, ...] = (), runs: int = 0, contract: Contract | None = None) -> Exploration:
    target, promised = target_of(client(call)), contract or Contract()
    scripts = tuple(map(endless, faults))
    return explore(lambda script: seen(drive(case_of(script), target, promised.limits)), scripts, runs=runs)


def test_every_transient_fault_is_kept_up_for_ever() -> None:
    found = explored(looping(4, looping(3, ask)))
    assert [str(one.script) for one in found.singles] == [f"{name}*" for name in TRANSIENT]
    assert [one.requests for one in found.singles] == [12, 12, 12, 1, 1, 1]
    assert (found.worst, found.mix, found.tried) == (found.singles[0], None, 0)


def test_the_worst_mix_of_layers_that_retry_different_faults_is_found_within_100_runs() -> None:
    runs = 0
    different = looping(4, looping(3, ask, only="rate"), only="overloaded")
    target = target_of(client(different))

    def counted(script: Script) -> Any:
        nonlocal runs
        runs += 1
        return seen(drive(case_of(script), target))

    found = explore(counted, tuple(map(endless, ("429", "529", "504"))), runs=90)
    assert [one.requests for one in found.singles][:2] == [3, 4]
    assert found.mix is not None
    assert found.mix.requests == 12
    assert str(found.mix.script) == "429*2,529,429*2,529,429*2,529,429*3"
    assert runs <= 100
    assert drive(case_of(found.mix.script), target) is not None, "the script alone repeats it"
    assert seen(drive(case_of(found.mix.script), target)).requests == 12


def test_a_mix_that_costs_no_more_than_a_single_fault_is_not_told() -> None:
    found = explored(looping(2, looping(2, ask)), ("429", "529"), runs=20)
    assert found.mix is None
    assert found.tried > 10


def test_the_same_seed_tries_the_same_mixes() -> None:
    different = looping(2, looping(2, ask, only="rate"), only="overloaded")
    one, other = (explored(different, ("429", "529"), runs=20) for _ in range(2))
    assert (one.mix, one.tried) == (other.mix, other.tried)


def test_an_endless_retry_costs_more_than_the_frame_budget_lets_through() -> None:
    found = explored(looping(10**6, ask), ("529",), contract=Contract(max_frames=50, deadline=10_000))
    cost = found.worst.worst
    assert cost is not None
    assert cost.cut
    assert cost.said == f"more than {cost.requests} requests"
    assert 40 <= cost.requests <= 50


def test_a_call_that_waits_for_ever_says_so() -> None:
    cost = explored(ask, ("hang",)).worst.worst
    assert cost is not None
    assert (cost.requests, cost.waits_for_ever, cost.cut) == (1, True, False)


def kept(call: Any) -> tuple[Layer, tuple[Layer, ...], bool | None]:
    advice = explored(call, ("429",)).advice
    assert advice is not None
    return advice.keep, advice.off, advice.obeys


def test_of_two_layers_that_wait_as_they_please_the_innermost_is_kept() -> None:
    keep, off, obeys = kept(looping(4, looping(3, ask, 0.5), 1.0))
    assert (keep.factor, [layer.factor for layer in off], obeys) == (3, [4], False)


def told_to_wait(times: int, below: Any) -> Any:
    """A loop that waits as retry-after says."""

    async def obeys(*asked: Any) -> Any:
        for left in reversed(range(times)):
            try:
                return await below(*asked)
            except Failed as error:
                if not left:
                    raise
                await anyio.sleep(float(str(error).partition("retry-after: ")[2].split()[0]))
        return None

    return obeys


def test_the_layer_that_waits_as_it_is_told_is_kept_though_it_is_not_the_innermost() -> None:
    keep, off, obeys = kept(told_to_wait(4, looping(3, ask, 0.5)))
    assert (keep.factor, [layer.factor for layer in off], obeys) == (4, [3], True)


def test_a_layer_that_happens_to_wait_long_enough_for_one_hint_is_found_out_by_another() -> None:
    assert kept(looping(4, looping(3, ask, 2.0)))[2] is False


def test_one_layer_needs_no_advice() -> None:
    assert explored(looping(4, ask)).advice is None


@pytest.mark.parametrize("text", ["429", "429*", "504(style=json)", "rpc(-32603)", "429cap", "ok+dup"])
def test_any_one_fault_of_a_call_can_be_kept_up(text: str) -> None:
    assert endless(text) == Script.parse(text.rstrip("*") + "*")


@pytest.mark.parametrize("text", ["429,529", "list:hang", "ok", "", "hagn"])
def test_what_is_not_one_fault_of_a_call_is_refused(text: str) -> None:
    with pytest.raises(ScriptError):
        endless(text)
