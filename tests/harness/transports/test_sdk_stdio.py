"""The seam of the SDK's stdio client: the SDK's own framing over a process that is never started."""

from __future__ import annotations

import inspect
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client import stdio
from mcp.client.stdio import stdio_client
from mcp.os.posix import utilities

import fuzzmcp
from fuzzmcp.core.case import Case
from fuzzmcp.core.script import Script
from fuzzmcp.examples.sdk_client import connect as over_streams
from fuzzmcp.examples.zoo.pipes import StartsItsServer
from fuzzmcp.harness import sdk
from fuzzmcp.harness.stage import Stage
from fuzzmcp.harness.target import target_of
from fuzzmcp.harness.transports.fake_process import FIRST_PID, Stdin
from fuzzmcp.harness.transports.sdk_stdio import SeamError
from fuzzmcp.search import Budget, Search
from fuzzmcp.search.job import Job

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
NOTHING = StdioServerParameters(command="no such command")
PATIENCE: Any = 30.0 if sdk.MAJOR >= 2 else timedelta(seconds=30)
START = "_create_platform_compatible_process"


@asynccontextmanager
async def sdk_client(server: Any) -> AsyncIterator[Any]:
    """A client that starts its server, as the SDK's documentation shows it."""
    with server.process():
        async with (
            stdio_client(NOTHING) as (read, write),
            ClientSession(read, write, read_timeout_seconds=PATIENCE) as session,
        ):
            await session.initialize()
            yield session.call_tool


def stage_of(script: str = "") -> Stage:
    return Stage(Case(script=Script.parse(script)))


# -- the SDK over it --------------------------------------------------------------------------------------------------


@BACKENDS
def test_a_session_of_the_sdk_reaches_the_fake_by_a_command_that_is_never_run(backend: str) -> None:
    run = fuzzmcp.run(sdk_client, "429(5)", backend=backend)
    assert [outcome.status for outcome in (*run.outcomes, run.probe)] == ["returned", "returned"]
    assert [request.method for request in run.requests][:2] == ["initialize", "tools/call"]
    assert run.leaks == ()
    assert run.connect_error is None


@BACKENDS
@pytest.mark.parametrize(
    "script", ["split", "split@20", "list:split", "init:split", "noise", "dup", "odd(unicode)+split"]
)
def test_what_is_harmless_over_a_pipe_harms_the_sdk_not(script: str, backend: str) -> None:
    fuzzmcp.check(sdk_client, script, backend=backend, checks=["finishes", "valid_accepted", "survives", "cleans_up"])


@pytest.mark.parametrize("script", ["hang", "notjson", "truncated"])
def test_an_hour_without_an_answer_costs_the_sdk_its_patience_and_us_no_time(script: str) -> None:
    run = fuzzmcp.run(sdk_client, script)
    assert run.outcomes[0].status == "raised"
    assert run.outcomes[0].ended - run.outcomes[0].started == 30.0


@BACKENDS
def test_the_line_that_is_no_utf_8_ends_the_session_of_the_sdk(backend: str) -> None:
    """Open in 1.30 and 2.3.0 (modelcontextprotocol/python-sdk #2454): once this fails, the SDK has been mended."""
    run = fuzzmcp.run(sdk_client, "badutf8", backend=backend)
    broken = fuzzmcp.violations(run)
    assert {"expected_errors", "survives"} <= set(broken)
    assert broken["expected_errors"].exception == "UnicodeDecodeError"
    assert run.outcomes[0].ended == (30.0 if sdk.MAJOR >= 2 else 0.0)
    assert "cancels" not in broken, "who cannot read may take a request for pending"


@pytest.mark.parametrize("script", ["close", "exit", "exit(-9)"])
def test_the_end_of_the_process_ends_the_call_and_nothing_is_left(script: str) -> None:
    run = fuzzmcp.check(sdk_client, script)
    assert "closed" in str(run.outcomes[0].error).lower()
    assert [str(action) for _, action in run.played] == [script]


def test_a_process_that_does_not_end_by_itself_is_terminated_after_the_grace_of_the_sdk() -> None:
    async def agent(server: Any) -> None:
        with server.process():
            async with stdio_client(NOTHING) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                with anyio.move_on_after(5):
                    await session.call_tool("get_order", {"order_id": "A1"})

    run = fuzzmcp.run(agent, "block(60)")
    ends = [(event.at, event.text) for event in run.events if event.kind == "hang_up"]
    assert ends == [(5.0, ""), (7.0, "SIGTERM")]
    assert run.outcomes[0].ended < 10
    assert run.leaks == ()


def test_leaving_while_a_line_is_unread_breaks_the_sdk_1_only() -> None:
    """Open in 1.30 (modelcontextprotocol/python-sdk #1960): the answer is lost as the reader meets a closed stream."""

    async def agent(server: Any) -> str:
        async with sdk_client(server) as call_tool:
            return str(await call_tool("get_order", {"order_id": "A1"}))

    broken = fuzzmcp.violations(fuzzmcp.run(agent, "list:progress_after"))
    assert list(broken) == ([] if sdk.MAJOR >= 2 else ["valid_accepted"])


def test_each_connection_is_a_process_of_its_own_and_lives_as_long_as_its_stdin() -> None:
    stage, seen = stage_of(), []

    async def main() -> None:
        for _ in range(2):
            async with sdk_client(stage.server) as call_tool:
                await call_tool("get_order", {"order_id": "A1"})
                end = stage.wire.streams[-1][1]
                assert isinstance(end, Stdin)
                assert end.process.returncode is None
            seen.append(end.process)
            assert end.process.returncode == 0

    stage.clock.run(main)
    assert [process.pid - FIRST_PID for process in seen] == [0, 1]


# -- whose request it is ----------------------------------------------------------------------------------------------


def test_calls_at_once_are_told_apart_by_what_they_ask_for() -> None:
    calls = [f'get_order(order_id="A{n}")@0' for n in (1, 2)]
    run = fuzzmcp.check(sdk_client, "ok@2,ok@1", calls=calls)
    asked = [run.requests_of(call)[0].frame["params"]["arguments"]["order_id"] for call in (0, 1)]
    assert asked == ["A1", "A2"]


def test_equal_calls_at_once_have_a_request_each_and_the_probe_has_its_own() -> None:
    run = fuzzmcp.run(sdk_client, "error,error", calls=['get_order(order_id="A1")@0'] * 2)
    assert [len(run.requests_of(call)) for call in (0, 1, -1)] == [1, 1, 1]
    assert "no_pointless_retry" not in fuzzmcp.violations(run)


def test_a_connection_that_one_call_has_opened_does_not_make_every_request_that_call_s() -> None:
    @asynccontextmanager
    async def lazy(server: Any) -> AsyncIterator[Any]:
        async with _Lazily(server) as client:
            yield client.call_tool

    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
    run = fuzzmcp.check(lazy, "ok,odd", calls=calls)
    assert [len(run.requests_of(call)) for call in (0, 1)] == [1, 1]
    assert run.requests_of(0)[0].site is not None
    assert (run.requests_of(1)[0].site, run.requests_of(1)[0].loop) == (None, None)


class _Lazily:
    """Connects within the first call, in a task of its own."""

    def __init__(self, server: Any) -> None:
        self.server, self.session, self.over = server, None, anyio.Event()

    async def __aenter__(self) -> _Lazily:
        self.tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        self.over.set()
        await self.tasks.__aexit__(None, None, None)

    async def call_tool(self, name: str, arguments: Any) -> Any:
        if self.session is None:
            self.session = await self.tasks.start(self.serve)
        return await self.session.call_tool(name, arguments)

    async def serve(self, *, task_status: Any) -> None:
        with self.server.process():
            async with stdio_client(NOTHING) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                task_status.started(session)
                await self.over.wait()


# -- the transport of a case ------------------------------------------------------------------------------------------


def test_a_client_that_starts_its_server_is_over_stdio_whatever_the_case_says() -> None:
    run = fuzzmcp.check(StartsItsServer, "split")
    assert run.case.transport == "stdio"
    assert run.undelivered == ()


def test_over_memory_the_faults_of_bytes_are_reported_and_do_nothing() -> None:
    run = fuzzmcp.run(over_streams, "split,exit,hang+badutf8", calls=['get_order(order_id="A1")'] * 3)
    assert run.case.transport == "memory"
    assert sorted(set(run.undelivered)) == [
        f"{name} needs transport stdio, not memory" for name in ("badutf8", "exit", "split")
    ]
    assert [str(action) for _, action in run.played] == ["hang"]


@BACKENDS
def test_a_case_over_stdio_leads_any_client_of_streams_through_the_stdio_client_of_the_sdk(backend: str) -> None:
    run = fuzzmcp.run(over_streams, "exit(3)", transport="stdio", backend=backend)
    assert (run.case.transport, run.undelivered, run.leaks) == ("stdio", (), ())
    assert [event.text for event in run.events if event.kind == "close"] == ["its process ends with status 3"]


def test_a_search_learns_that_the_client_is_over_stdio_and_tries_what_breaks_bytes() -> None:
    search = Search(Job(target_of(StartsItsServer), fuzzmcp.case_of()), seed=1, budget=Budget(runs=130))
    result = search.run()
    assert result.findings == []
    assert result.transport == "stdio"
    _, faults = result.tally.as_json()
    assert {"badutf8", "split", "exit"} <= set(faults)


# -- the seam itself --------------------------------------------------------------------------------------------------


def test_the_sdk_starts_its_processes_where_the_seam_expects_it() -> None:
    """If this fails, the SDK has changed: `fuzzmcp.harness.transports.sdk_stdio` has to find its new place."""
    assert list(inspect.signature(vars(stdio)[START]).parameters) == ["command", "args", "env", "errlog", "cwd"]
    assert inspect.iscoroutinefunction(vars(stdio)[START])
    assert START in inspect.getsource(stdio_client)
    assert utilities.os is os
    assert "os.killpg" in inspect.getsource(utilities.terminate_posix_process_tree)


def test_an_sdk_that_starts_them_elsewhere_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(stdio, START)
    with pytest.raises(SeamError, match=f"has no mcp.client.stdio.{START}"), stage_of().server.process():
        pass
    assert utilities.os is os


def test_the_sdk_is_as_before_once_the_last_block_is_over() -> None:
    real = vars(stdio)[START]
    first, second = stage_of().server.process(), stage_of().server.process()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert vars(stdio)[START] is not real
    second.__exit__(None, None, None)
    assert vars(stdio)[START] is real
    assert utilities.os is os


def test_a_block_that_a_client_never_leaves_ends_with_its_run() -> None:
    kept = []

    async def agent(server: Any) -> None:
        kept.append(server.process())
        kept[0].__enter__()

    fuzzmcp.run(agent)
    assert utilities.os is os
    kept[0].__exit__(None, None, None)
    assert utilities.os is os


def test_a_connection_over_stdio_that_a_client_never_leaves_ends_with_its_run() -> None:
    kept = []

    async def agent(server: Any) -> None:
        kept.append(server.connect())
        await kept[0].__aenter__()

    fuzzmcp.run(agent, transport="stdio")
    assert utilities.os is os


def test_the_stdio_client_of_another_thread_reaches_the_same_fake() -> None:
    stage, answers = stage_of(), []

    async def session() -> None:
        async with stdio_client(NOTHING) as (read, write), ClientSession(read, write) as inside:
            await inside.initialize()
            answers.append(await inside.call_tool("get_order", {"order_id": "A1"}))

    with stage.server.process():
        thread = threading.Thread(target=lambda: anyio.run(session))
        thread.start()
        thread.join()
    assert len(answers) == 1
    assert [event.method for event in stage.wire.events if event.kind == "request"][:2] == ["initialize", "tools/call"]


def test_a_signal_by_number_reaches_the_fake_process_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    server = stage_of().server

    async def main() -> None:
        process = await server.open_process("anything")
        with server.process():
            assert utilities.os.getpgid(process.pid) == process.pid
            utilities.os.killpg(process.pid, 0)
            assert process.returncode is None
            utilities.os.killpg(process.pid, signal.SIGKILL)
            assert process.returncode == -signal.SIGKILL
            with pytest.raises(ProcessLookupError):
                utilities.os.killpg(process.pid, 0)
            utilities.os.killpg(77, signal.SIGTERM)
        await process.aclose()

    anyio.run(main)
    assert sent == [(77, signal.SIGTERM)]
