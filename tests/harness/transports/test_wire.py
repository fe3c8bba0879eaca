"""Streams of messages: as the SDK's own, with a record of every message."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

import fuzzmcp
from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.script import Script
from fuzzmcp.core.trace import PROBE
from fuzzmcp.harness import sdk
from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.observe.stacks import CALL
from fuzzmcp.harness.stage import Listeners, Stage
from fuzzmcp.harness.transports.server import Server
from fuzzmcp.harness.transports.wire import Wire

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


class Raw:
    """Looks like the SDK's `SessionMessage`."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def message(self) -> Raw:
        return self

    def model_dump(self, **_: Any) -> Any:
        return self.value


def call(name: Any = 1, order: str = "A1", tool: str = "get_order") -> Raw:
    params = {"name": tool, "arguments": {"order_id": order}}
    return Raw({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})


def played(
    main: Callable[[Server, VirtualClock], Awaitable[None]],
    script: str = "",
    backend: str = "asyncio",
    **options: Any,
) -> Wire:
    """Run `main(server, clock)` in virtual time and return the wire."""
    stage = Stage(Case(script=Script.parse(script), backend=backend), **options)

    async def run() -> None:
        await main(stage.server, stage.clock)

    stage.clock.run(run)
    return stage.wire


def ids(items: list[Any]) -> list[Any]:
    return [sdk.dump(item)["id"] for item in items]


# -- streams ----------------------------------------------------------------------------------------------------------


@BACKENDS
def test_what_is_due_now_is_in_the_read_stream_before_send_returns(backend: str) -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            sent = False

            async def reads() -> None:
                seen.append((await read.receive(), sent))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(reads)
                await anyio.lowlevel.checkpoint()
                await write.send(call())
                sent = True
            await write.send(call(2))
            with anyio.fail_after(0):
                seen.append(await read.receive())

    played(main, backend=backend)
    assert ids([seen[0][0], seen[1]]) == [1, 2]


@BACKENDS
def test_what_is_due_later_comes_at_its_moment(backend: str) -> None:
    times: list[float] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            await write.send(call())
            await read.receive()
            times.append(clock.now())

    played(main, "ok@3600", backend)
    assert times == [3600.0]


@BACKENDS
def test_sending_gives_others_a_turn(backend: str) -> None:
    turns: list[str] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async def other() -> None:
            turns.append("other")

        async with server.connect() as (_, write), anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            await write.send(call(1))
            await write.send(call(2))  # trio shuffles what is ready, so the other one may come second
            turns.append("sent")

    played(main, backend=backend)
    assert turns == ["other", "sent"]


@BACKENDS
def test_iteration_ends_where_the_server_closes_and_receive_says_end_of_stream(backend: str) -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            await write.send(call(1))
            await write.send(call(2))
            seen.append([item async for item in read])
            with pytest.raises(anyio.EndOfStream):
                await read.receive()
            with pytest.raises(anyio.BrokenResourceError):
                await write.send(call(3))

    wire = played(main, "ok,close", backend)
    assert ids(seen[0]) == [1]
    assert [e.kind for e in wire.events] == ["open", "request", "deliver", "request", "close", "hang_up"]
    assert wire.closed_by_server


@BACKENDS
def test_closing_a_stream_oneself_makes_it_unusable(backend: str) -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            await write.send(call())
            await write.aclose()
            await write.aclose()
            await read.aclose()
            with pytest.raises(anyio.ClosedResourceError):
                await write.send(call())
            with pytest.raises(anyio.ClosedResourceError):
                await read.receive()

    wire = played(main, backend=backend)
    assert [e.kind for e in wire.events].count("hang_up") == 1


@BACKENDS
def test_closing_the_read_stream_wakes_whoever_reads(backend: str) -> None:
    woken: list[str] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, _), anyio.create_task_group() as tasks:

            async def reads() -> None:
                try:
                    await read.receive()
                except anyio.ClosedResourceError:
                    woken.append("closed")

            tasks.start_soon(reads)
            await anyio.sleep(1)
            await read.aclose()

    played(main, backend=backend)
    assert woken == ["closed"]


def test_streams_are_context_managers_that_close() -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            async with read, write:
                pass
            assert read.closed
            assert write.closed

    played(main)


def test_leaving_the_connection_closes_both_streams_also_after_an_error() -> None:
    kept: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        opened = server.connect()
        kept.extend(await opened.__aenter__())
        error = ValueError("mine")
        assert not await opened.__aexit__(ValueError, error, None)

    played(main)
    assert [stream.closed for stream in kept] == [True, True]


def test_each_message_reaches_one_reader_only() -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write), anyio.create_task_group() as tasks:

            async def reads() -> None:
                seen.append(await read.receive())

            for _ in range(3):
                tasks.start_soon(reads)
            await anyio.sleep(1)
            for name in (1, 2, 3):
                await write.send(call(name))

    played(main)
    assert sorted(ids(seen)) == [1, 2, 3]


def test_a_line_that_is_no_message_arrives_as_the_exception_of_the_sdk() -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            for name in range(4):
                await write.send(call(name))
            seen.extend([await read.receive() for _ in range(4)])

    wire = played(main, "notjson,truncated,batch,ok+noise@9")
    assert [isinstance(item, Exception) for item in seen] == [True, True, True, False]
    assert [e.text != "" for e in wire.events if e.kind == "deliver"][:4] == [True, True, True, False]


# -- lines ------------------------------------------------------------------------------------------------------------


def call_line(name: Any = 1) -> str:
    return json.dumps(call(name).value)


@BACKENDS
def test_lines_carry_each_message_as_one_json_text(backend: str) -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.lines() as (read, write):
            await write.send(call_line(1))
            await write.send(call_line(2))
            seen.extend([line async for line in read])

    wire = played(main, "odd(unicode),close", backend)
    delivered = next(e for e in wire.events if e.kind == "deliver")
    assert [json.loads(line) for line in seen] == [delivered.frame]
    assert not seen[0].isascii(), "what is not ASCII is not escaped"
    assert "\n" not in seen[0]


def test_raw_lines_arrive_as_they_are() -> None:
    seen: list[str] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.lines() as (read, write):
            for name in range(3):
                await write.send(call_line(name))
                seen.append(await read.receive())

    wire = played(main, "notjson,truncated,batch")
    assert seen == [e.text for e in wire.events if e.kind == "deliver"]
    assert [line[0] for line in seen] == ["L", "{", "["]


def test_a_sent_line_is_recorded_for_what_it_says_and_as_junk_where_it_is_no_message() -> None:
    lines = [call_line(), '{"jsonrpc": "2.0", "method": "notifications/initialized"}', "[1]", "", "{", '{"id": NaN}']

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.lines() as (_, write):
            for line in lines:
                await write.send(line)

    events = [e for e in played(main).events if e.kind not in ("open", "deliver", "hang_up")]
    assert [e.kind for e in events] == ["request", "notify", "junk", "junk", "junk", "junk"]
    assert [e.frame for e in events[:2]] == [json.loads(line) for line in lines[:2]]
    assert [e.text for e in events[2:]] == ["[1]", "''", "'{'", "'{\"id\": NaN}'"]


def test_lines_and_messages_reach_the_same_fake() -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (messages, write_message), server.lines() as (lines, write_line):
            await write_line.send(call_line("line"))
            await write_message.send(call("message"))
            seen.extend([await messages.receive(), await lines.receive()])

    wire = played(main, "ok@2,ok@1")
    assert [sdk.dump(seen[0])["id"], json.loads(seen[1])["id"]] == ["message", "line"]
    assert [(e.connection, e.request) for e in wire.events if e.kind == "request"] == [(1, 1), (0, 2)]


# -- connections ------------------------------------------------------------------------------------------------------


def test_several_connections_share_the_script_and_answers_go_where_the_request_came_from() -> None:
    seen: list[Any] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read_1, write_1), server.connect() as (read_2, write_2):
            await write_1.send(call("one"))
            await write_2.send(call("two"))
            seen.append([await read_2.receive(), await read_1.receive()])

    wire = played(main, "ok@5,429@1")
    assert ids(seen[0]) == ["two", "one"]
    assert [(e.kind, e.connection) for e in wire.events[:6]] == [
        ("open", 0),
        ("open", 1),
        ("request", 0),
        ("request", 1),
        ("deliver", 1),
        ("deliver", 0),
    ]


def test_one_closed_connection_leaves_the_other_alone() -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read_1, write_1), server.connect() as (read_2, write_2):
            await write_1.send(call())
            with pytest.raises(anyio.EndOfStream):
                await read_1.receive()
            await write_2.send(call())
            await read_2.receive()

    assert [e.kind for e in played(main, "close").events].count("close") == 1


def test_its_streams_tell_that_they_are_closed_as_those_of_anyio_do() -> None:
    """A private word of anyio's, and google-adk reads it: to go without would hide from it that a session has ended."""

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as ours:
            theirs = anyio.create_memory_object_stream[Any](1)
            for one in (*ours, *theirs):
                assert one._closed is False
                await one.aclose()
                assert one._closed is True

    played(main, "")


def test_nothing_is_delivered_to_a_closed_connection_and_that_is_reported() -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            await write.send(call(1))
            await write.send(call(2))
            with pytest.raises(anyio.EndOfStream):
                await read.receive()
            await anyio.sleep(20)

    wire = played(main, "429@9,close@5")
    assert [e.kind for e in wire.events if e.kind in ("deliver", "close")] == ["close"]
    assert wire.unsent() == ("429@9: the connection or the run had ended before it was due",)


def test_a_block_holds_back_what_was_due_before() -> None:
    times: list[float] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            await write.send(call(1))
            await anyio.sleep(1)
            await write.send(call(2))
            for _ in range(2):
                await read.receive()
                times.append(clock.now())

    played(main, "ok@5,block(10)")
    assert times == [11.0, 11.0]


@BACKENDS
def test_a_block_ends_also_where_its_end_is_no_round_number(backend: str) -> None:
    times: list[float] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (read, write):
            await write.send(call())
            await read.receive()
            times.append(clock.now())

    assert 0.1 + 0.2 > 0.3
    played(main, "ok@0.15+block(0.2)@0.1", backend)
    assert times == [0.3]


# -- the record -------------------------------------------------------------------------------------------------------


def test_what_the_client_sends_is_recorded_for_what_it_is() -> None:
    frames: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "server-1", "result": {}},
        ["batch"],
        "text",
        None,
    ]

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (_, write):
            for frame in frames:
                await write.send(Raw(frame))

    events = [e for e in played(main).events if e.kind not in ("open", "deliver", "hang_up")]
    assert [e.kind for e in events] == ["request", "notify", "reply", "junk", "junk", "junk"]
    assert [e.frame for e in events[:3]] == frames[:3]
    assert [e.text for e in events[3:]] == ["['batch']", "'text'", "None"]


def test_the_frame_budget_ends_sending_for_good_and_says_so_once() -> None:
    spent: list[float] = []

    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (_, write):
            with anyio.move_on_after(60):
                for name in range(10):
                    await write.send(call(name))

    wire = played(main, frames=3, listeners=Listeners(on_budget=lambda: spent.append(1.0)))
    assert spent == [1.0]
    assert [e.kind for e in wire.events].count("request") == 4, "the one too many is on record"
    assert [e.kind for e in wire.events].count("deliver") == 3


# -- whose request it is ----------------------------------------------------------------------------------------------

CALLS = (Call("get_order", {"order_id": "A1"}), Call("get_order", {"order_id": "A2"}))


def calls_of(wire: Wire) -> list[Any]:
    return [e.call for e in wire.events if e.kind == "request"]


def test_a_request_belongs_to_the_call_that_its_context_names() -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (_, write):
            CALL.set(1)
            await write.send(call(1, "A1"))
            await write.send(Raw({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))

    wire = played(main, calls=CALLS)
    assert calls_of(wire) == [1, 1], "the context wins over the arguments"
    assert [e.call for e in wire.events if e.kind == "deliver"] == [1, 1]


def test_a_lost_context_is_made_up_for_by_tool_and_arguments() -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (_, write):
            await write.send(call(1, "A2"))
            await write.send(call(2, "A1"))
            await write.send(call(3, "A9"))
            await write.send(Raw({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}))

    assert calls_of(played(main, calls=CALLS)) == [1, 0, None, None]


def test_an_agents_calls_are_told_apart_by_tool_and_arguments() -> None:
    async def main(server: Server, clock: VirtualClock) -> None:
        async with server.connect() as (_, write):
            for order in ("A1", "A2", "A1"):
                await write.send(call(order, order))
            await write.send(call(9, "A1", "refund_order"))

    assert calls_of(played(main)) == [0, 1, 0, 2]


@BACKENDS
def test_calls_through_a_worker_and_a_queue_are_attributed_by_their_arguments(backend: str) -> None:
    """The worker task is started while connecting, so that it carries the context of no call."""

    @asynccontextmanager
    async def connect(server: Any) -> Any:
        put, take = anyio.create_memory_object_stream[Any](9)
        waiting: dict[Any, Any] = {}

        async def worker(write: Any) -> None:
            async for name, order in take:
                await write.send(call(name, order))

        async def reader(read: Any) -> None:
            async for item in read:
                frame = sdk.dump(item)
                waiting[frame["id"]][1].append(frame["result"])
                waiting[frame["id"]][0].set()

        async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
            name = len(waiting)
            waiting[name] = (anyio.Event(), [])
            await put.send((name, arguments["order_id"]))
            await waiting[name][0].wait()
            return waiting[name][1][0]

        async with server.connect() as (read, write), anyio.create_task_group() as tasks, put, take:
            tasks.start_soon(worker, write)
            tasks.start_soon(reader, read)
            yield call_tool
            tasks.cancel_scope.cancel()

    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0']
    run = fuzzmcp.run(connect, "ok@2,ok@1", calls=calls, backend=backend)
    requests = [e for e in run.requests if e.method == "tools/call"]
    assert [e.call for e in requests[:2]] == [0, 1]
    assert [o.ended for o in run.outcomes] == [2.0, 1.0], "both were under way at once"
    assert fuzzmcp.judge(run, None, ["right_answer"]) == {"right_answer": "held"}


def test_the_probe_is_no_call_of_the_workload() -> None:
    @asynccontextmanager
    async def connect(server: Any) -> Any:
        async with server.connect() as (read, write):

            async def call_tool(tool: str, arguments: dict[str, Any]) -> Any:
                await write.send(call(1, arguments["order_id"]))
                return sdk.dump(await read.receive())["result"]

            yield call_tool

    run = fuzzmcp.run(connect, "ok@1", contract=Contract())
    assert [e.call for e in run.requests] == [0, PROBE]
    assert len(run.outcomes) == 1
    assert run.probe is not None


def test_a_wire_that_carries_none_values_drops_none_of_them() -> None:
    """Arguments that are null have to reach the server as null, whatever the SDK leaves out of its own models."""
    from mcp import types
    from mcp.shared.message import SessionMessage

    frame = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "get_order", "arguments": {"order_id": None}},
    }
    request = types.JSONRPCRequest(**frame)
    wrap = types.JSONRPCMessage if sdk.MAJOR < 2 else lambda message: message
    assert sdk.dump(SessionMessage(wrap(request))) == frame


def test_parsing_a_frame_that_breaks_the_schema_gives_the_exception_and_raises_none() -> None:
    for value in ({}, {"jsonrpc": "2.0"}, {"jsonrpc": "1.0", "id": 1, "result": {}}):
        assert isinstance(sdk.parse_frame(value), Exception)
    for line in ("", "[", "null", "[]", "\ud800"):
        assert isinstance(sdk.parse_line(line), Exception)
