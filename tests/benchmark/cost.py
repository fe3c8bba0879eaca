"""What fuzzmcp costs, as JSON. Each figure is a ratio of pairs measured in turn, in one process.

    make bench

`run_over_floor`    one-call `fuzzmcp.run` over the same SDK session on a hand-written inline fake in virtual time with
                    nothing observed. The script is `ok`, behind which no probe follows.
`fault_over_floor`  the same with the script `error`: call and probe, over a floor that makes two calls.
`search_over_naive` cases a second of a search over those of a plain Hypothesis loop: the server is a task, frames go
                    through two memory streams, nothing is observed and nothing is judged. Both count what was drawn (or
                    swept). The search remembers the cases that it ran: `runs_over_naive` counts real runs only.
`stacks_share`      a run that meets `529` and retries in two layers, 4 over 3, over the same run with nothing captured:
                    what the stacks of its 12 requests cost.
`hour_hang`         virtual seconds over real seconds for a call that hangs for an hour.
`import`            seconds that `import fuzzmcp` and `import mcp` take in fresh processes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import platform
import selectors
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

import fuzzmcp
import fuzzmcp.harness.server
from fuzzmcp.api import case_of, contract_of
from fuzzmcp.examples.sdk_client import connect
from fuzzmcp.harness import sdk, stage
from fuzzmcp.harness.observe.stacks import Stacks
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, Search
from fuzzmcp.search.job import Job
from fuzzmcp.strategies import cases

ECHO = [
    {
        "name": "echo",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": True},
    }
]
CASES = 400


# -- the floor: what a run would cost if nobody watched ----------------------------------------------------------------


class BareSelector(selectors.DefaultSelector):
    """Jumps to the next timer; a timer that never comes ends the wait at once."""

    loop: Any = None

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.loop.offset += timeout
        return ready


class BareLoop(asyncio.SelectorEventLoop):
    """Virtual time and nothing else."""

    def __init__(self) -> None:
        self.offset = 0.0
        selector = BareSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.offset


def bare_run(main: Callable[[], Any]) -> None:
    loop = BareLoop()
    try:
        loop.run_until_complete(main())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def bare_answer(frame: dict[str, Any]) -> dict[str, Any] | None:
    method = frame.get("method")
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bare", "version": "1"},
        }
    elif method == "tools/list":
        result = {"tools": ECHO}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "echo"}], "isError": False}
    else:
        return None
    return {"jsonrpc": "2.0", "id": frame["id"], "result": result}


class InlineWriter:
    """The fake runs inside `send`."""

    def __init__(self, into: Any) -> None:
        self.into = into

    async def send(self, item: Any) -> None:
        answer = bare_answer(sdk.dump(item))
        if answer is not None:
            self.into.send_nowait(sdk.parse_frame(answer))
        await anyio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self.into.close()

    async def __aenter__(self) -> InlineWriter:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()


class Inline:
    """A server for `connect`, as small as it can be."""

    @asynccontextmanager
    async def connect(self) -> Any:
        send, receive = anyio.create_memory_object_stream[Any](100)
        yield receive, InlineWriter(send)


def floor(calls: int) -> Callable[[], None]:
    async def main() -> None:
        async with connect(Inline()) as call_tool:
            for _ in range(calls):
                await call_tool("echo", {"text": "a"})

    return lambda: bare_run(main)


# -- the naive loop: Hypothesis around a server task -------------------------------------------------------------------


class TaskServer:
    """A server as most would write one: a task between two memory streams, and text on the wire."""

    def __init__(self, steps: list[str]) -> None:
        self.steps = steps

    @asynccontextmanager
    async def connect(self) -> Any:
        to_client, from_server = anyio.create_memory_object_stream[Any](100)
        to_server, from_client = anyio.create_memory_object_stream[Any](100)
        async with anyio.create_task_group() as group:
            group.start_soon(self.serve, from_client, to_client)
            yield from_server, to_server
            group.cancel_scope.cancel()

    async def serve(self, requests: Any, answers: Any) -> None:
        case = case_of(",".join(self.steps) or "ok", tools=ECHO)
        fake = fuzzmcp.harness.server.FakeServer(case)
        async for item in requests:
            frame = json.loads(item.message.model_dump_json(by_alias=True, exclude_unset=True))
            for delivery in fake.receive(frame, anyio.current_time()):
                await anyio.sleep(max(delivery.at - anyio.current_time(), 0))
                if delivery.kind == "frame":
                    with contextlib.suppress(anyio.BrokenResourceError):
                        await answers.send(sdk.parse_line(json.dumps(delivery.frame)))


def naive_loop(examples: int) -> int:
    count = 0

    @seed(1)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(case=cases(case_of(tools=ECHO).tools))
    def drive(case: Any) -> None:
        nonlocal count
        count += 1

        async def main() -> None:
            async with connect(TaskServer([str(step) for step in case.script.of("call")])) as call_tool:
                for call in case.calls:
                    try:
                        await call_tool(call.tool, dict(call.arguments))
                    except Exception:
                        return

        bare_run(main)

    drive()
    return count


# -- measuring ---------------------------------------------------------------------------------------------------------


def seconds(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def ratio(one: Callable[[], Any], other: Callable[[], Any], rounds: int, repeats: int) -> dict[str, float]:
    """Seconds of `one` over seconds of `other`, pair by pair: the median, and both medians in milliseconds."""
    pairs = []
    for function in (one, other):
        function()
    for _ in range(rounds):
        pairs.append(
            (
                seconds(lambda: [one() for _ in range(repeats)]),
                seconds(lambda: [other() for _ in range(repeats)]),
            )
        )
    return {
        "ratio": round(statistics.median(a / b for a, b in pairs), 3),
        "milliseconds": round(statistics.median(a for a, _ in pairs) / repeats * 1000, 3),
        "other_milliseconds": round(statistics.median(b for _, b in pairs) / repeats * 1000, 3),
    }


def search_rates() -> tuple[float, float]:
    job = Job(target_of(connect), case_of(tools=ECHO), contract_of(connect))
    search = Search(job, seed=1, budget=Budget(runs=CASES))
    took = seconds(search.run)
    return search.result.cases / took, search.result.runs / took


def naive_rate() -> float:
    began = time.perf_counter()
    count = naive_loop(CASES)
    return count / (time.perf_counter() - began)


def import_seconds(module: str) -> float:
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(5)
    )


@asynccontextmanager
async def patient(server: Any) -> Any:
    """The SDK client with a timeout of an hour."""
    hour: Any = 3600 if sdk.MAJOR >= 2 else __import__("datetime").timedelta(hours=1)
    async with (
        server.connect() as streams,
        connect.__globals__["ClientSession"](*streams, read_timeout_seconds=hour) as session,
    ):
        await session.initialize()
        yield session.call_tool


@asynccontextmanager
async def stacked(server: Any) -> Any:
    """Two retry layers, 4 over 3, on the SDK's session."""

    async def again(times: int, call: Callable[..., Any]) -> Any:
        for _ in range(times):
            result = await call()
            if not result.model_dump(by_alias=True)["isError"]:
                return result
            await anyio.sleep(1)
        return result

    async with connect(server) as call_tool:

        async def inner(*asked: Any) -> Any:
            return await again(3, lambda: call_tool(*asked))

        async def outer(*asked: Any) -> Any:
            return await again(4, lambda: inner(*asked))

        yield outer


class NoStacks(Stacks):
    """Captures nothing."""

    def call_started(self) -> None: ...
    def births(self, *_: Any) -> Any:
        return self.task_started

    def watch_trio(self, *_: Any) -> None: ...
    def task_started(self, *_: Any, **__: Any) -> None: ...
    def take(self, *_: Any, **__: Any) -> Any:
        return None, None


def stacks_share(rounds: int) -> dict[str, float]:
    def captured() -> Any:
        return fuzzmcp.run(stacked, "529*", tools=tools)

    def bare() -> Any:
        stage.Stacks = NoStacks  # type: ignore[misc]
        try:
            return captured()
        finally:
            stage.Stacks = Stacks  # type: ignore[misc]

    seen, unseen = captured().requests_of(0), bare().requests_of(0)
    assert len(seen) == len(unseen) == 12
    assert seen[0].site is not None
    assert unseen[0].site is None
    return ratio(captured, bare, 3 * rounds, 5)


def hour_hang() -> float:
    contract = fuzzmcp.Contract(deadline=4000)
    took = statistics.median(
        seconds(lambda: fuzzmcp.run(patient, "hang", tools=tools, contract=contract)) for _ in range(60)
    )
    return 3600 / took


tools = case_of(tools=ECHO).tools


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds

    def run() -> Any:
        return fuzzmcp.run(connect, "ok", tools=tools)

    def met_a_fault() -> Any:
        return fuzzmcp.run(connect, "error", tools=tools)

    rates = [(*search_rates(), naive_rate()) for _ in range(max(rounds // 5, 1))]
    report = {
        "run_over_floor": ratio(run, floor(1), rounds, 40),
        "fault_over_floor": ratio(met_a_fault, floor(2), rounds, 40),
        "search_over_naive": {
            "ratio": round(statistics.median(cases / naive for cases, _, naive in rates), 3),
            "runs_over_naive": round(statistics.median(runs / naive for _, runs, naive in rates), 3),
            "cases_per_second": round(statistics.median(cases for cases, _, _ in rates)),
            "naive_cases_per_second": round(statistics.median(naive for _, _, naive in rates)),
        },
        "stacks_share": stacks_share(rounds),
        "hour_hang": {"virtual_over_real": round(hour_hang())},
        "import": {"fuzzmcp": round(import_seconds("fuzzmcp"), 3), "mcp": round(import_seconds("mcp"), 3)},
        "machine": {"python": platform.python_version(), "processor": platform.machine(), "mcp": version("mcp")},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
