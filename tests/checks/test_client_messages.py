"""The check on the client's own frames: valid one by one, and in order."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from fuzzmcp.harness.server import wire

from .clients import (
    AT_ONCE,
    HELD,
    NOT_EXERCISED,
    TWICE,
    VERSION,
    Raw,
    Session,
    careful,
    client,
    judged,
    plain,
    stateless,
    violated,
)

once = client(plain)
patient = client(careful)


def sending(*values: Any) -> Any:
    """Sends these before the first call."""
    left = list(values)

    async def call(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        while left:
            await session.write.send(Raw(left.pop(0)))
        return await session.call(tool, arguments)

    return call


BAD_FRAMES = [
    ([], "the client sent no JSON-RPC message: []"),
    ("hello", "the client sent no JSON-RPC message: 'hello'"),
    ({"id": 7, "method": "tools/list"}, "the client's tools/list lacks jsonrpc 2.0"),
    (
        {"jsonrpc": "2.0", "id": None, "method": "tools/list"},
        "the client's tools/list has the id None: neither string nor integer",
    ),
    (
        {"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"},
        "the client's tools/list has the id 1.5: neither string nor integer",
    ),
    (
        {"jsonrpc": "2.0", "id": True, "method": "tools/list"},
        "the client's tools/list has the id True: neither string nor integer",
    ),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "the client's tools/list uses the id 1 a second time"),
    (
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": []},
        "the client's tools/list has params that are no object",
    ),
    ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {}}, "the client's tools/call names no tool"),
    (
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "get_order", "arguments": "A1"}},
        "the client's tools/call has arguments that are no object",
    ),
    (
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": {"progressToken": [1]}}},
        "the client's tools/list has an invalid progress token",
    ),
    (
        {"jsonrpc": "2.0", "id": "x", "result": {}},
        "the client's response answers 'x', which the server did not ask, or not any more",
    ),
    (
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}},
        "the client's response answers None, which the server did not ask, or not any more",
    ),
    (
        {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {}},
        "the client's initialize was sent again on a live session",
    ),
    ({"jsonrpc": "2.0", "id": "x"}, "the client's response has not exactly one of result and error"),
    (
        {"jsonrpc": "2.0", "id": "x", "result": {}, "error": {}},
        "the client's response has not exactly one of result and error",
    ),
]


@pytest.mark.parametrize(("frame", "message"), BAD_FRAMES, ids=[message for _, message in BAD_FRAMES])
def test_wire_valid_is_broken_by_a_frame_that_is_not(frame: Any, message: str) -> None:
    found = violated("wire_valid", client(sending(frame)), "error", last="0 ")
    assert found.message == message
    assert len(found.evidence) == 1


def test_wire_valid_is_broken_by_calling_before_the_handshake_is_complete() -> None:
    early = client(plain, handshake=False)
    found = violated("wire_valid", early, "error", last="0 request tools/call")
    assert found.message == "the client's tools/call was sent before the handshake was complete"


def test_wire_valid_is_broken_in_the_stateless_era_by_a_request_without_its_version() -> None:
    bare = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
    found = violated("wire_valid", stateless(sending(bare)), "error", protocol=VERSION, last="0 request tools/list")
    assert found.message == f"the client's tools/list lacks _meta {wire.META_VERSION}"


def test_wire_valid_allows_to_use_the_id_of_a_finished_request_again_in_the_stateless_era() -> None:
    async def same_id(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        return await session.ask("tools/call", {"name": tool, "arguments": arguments}, name="only")

    assert judged("wire_valid", stateless(same_id), "error", calls=TWICE, protocol=VERSION) == HELD
    found = violated("wire_valid", stateless(same_id), "ok@5", calls=AT_ONCE, protocol=VERSION, last="0 request")
    assert found.message == "the client's tools/call uses the id 'only' a second time"
    found = violated("wire_valid", client(same_id), "error", calls=TWICE, last="0 request tools/call")
    assert found.message == "the client's tools/call uses the id 'only' a second time"


def test_wire_valid_allows_equal_ids_of_different_kind_and_on_different_connections() -> None:
    text = {"jsonrpc": "2.0", "id": "1", "method": "tools/list"}
    assert judged("wire_valid", client(sending(text)), "hang+cancel@1") == HELD

    @asynccontextmanager
    async def two(server: Any) -> Any:
        async with client(plain)(server) as first, client(plain)(server) as second:
            await first("get_order", {"order_id": "A0"})
            yield second

    assert judged("wire_valid", two, "error") == HELD


def test_wire_valid_allows_ping_before_the_handshake() -> None:
    @asynccontextmanager
    async def pings_first(server: Any) -> Any:
        async with server.connect() as (read, write), anyio.create_task_group() as tasks:
            session = Session(read, write, "2025-11-25")
            tasks.start_soon(session.listen)
            await session.ask("ping")
            await session.handshake()
            yield lambda tool, arguments: session.call(tool, arguments)
            tasks.cancel_scope.cancel()

    assert judged("wire_valid", pings_first, "error") == HELD


@pytest.mark.parametrize("script", ["error", "hang", "ping", "sampling", "list_changed", "close"])
def test_wire_valid_holds_for_a_client_in_order(script: str) -> None:
    assert judged("wire_valid", patient, script) == HELD


def test_wire_valid_is_not_exercised_without_a_fault() -> None:
    assert judged("wire_valid", once, "") == NOT_EXERCISED


def test_wire_valid_holds_an_agents_arguments_against_the_schema() -> None:
    def agent(**arguments: Any) -> Any:
        async def run(server: Any) -> Any:
            async with once(server) as call:
                return await call("get_order", arguments)

        return run

    found = violated("wire_valid", agent(order_id=7), "error", last="0 request tools/call")
    assert found.message == "the agent's arguments for get_order break its inputSchema: 7 is not of type 'string'"
    assert judged("wire_valid", agent(order_id="A7"), "error") == HELD


def test_wire_valid_is_broken_by_answering_one_request_twice() -> None:
    async def twice(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        before = session.reply

        async def reply(frame: dict[str, Any]) -> None:
            await before(frame)
            await before(frame)

        session.reply = reply  # type: ignore[method-assign]
        return await session.call(tool, arguments)

    found = violated("wire_valid", client(twice), "ping", last="0 reply")
    assert found.message == "the client's response answers 'server-1', which the server did not ask, or not any more"


def test_wire_valid_is_broken_by_initialized_behind_a_refusal() -> None:
    @asynccontextmanager
    async def hurried(server: Any) -> Any:
        async with server.connect() as (read, write), anyio.create_task_group() as tasks:
            session = Session(read, write, "2025-11-25")
            tasks.start_soon(session.listen)
            name = await session.post("initialize", {})
            await session.answer(name)
            await session.notify("notifications/initialized")
            yield lambda tool, arguments: session.call(tool, arguments)
            tasks.cancel_scope.cancel()

    found = violated("wire_valid", hurried, "init:rpc(-32603)", last="0 notify notifications/initialized")
    assert found.message == "the client's notifications/initialized was sent before initialize was answered"
    assert judged("wire_valid", hurried, "error") == HELD


def test_wire_valid_allows_an_error_without_id_for_what_could_not_be_read() -> None:
    unreadable = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse error"}}
    assert judged("wire_valid", client(sending(unreadable)), "error") == HELD
