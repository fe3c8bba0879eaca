"""A small raw JSON-RPC client, so that a test can write down exactly what a client does.

It sits on the streams of `server.connect()` and sends whatever it is told to, on any SDK major and any backend:

    @client
    async def retrying(session, tool, arguments):
        return await session.call(tool, arguments)

    judged("spend_cap", retrying, "429cap")
"""

from __future__ import annotations

import functools
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

import fuzzmcp
from fuzzmcp.checks import HELD, NOT_EXERCISED, Violation
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.protocol import DEFAULT_VERSION, era_of
from fuzzmcp.core.trace import Event, Run
from fuzzmcp.harness import sdk
from fuzzmcp.harness.server import wire

VERSION = "2026-07-28"


class Raw:
    """Looks like the SDK's `SessionMessage`, and holds any JSON value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def message(self) -> Raw:
        return self

    def model_dump(self, **_: Any) -> Any:
        return self.value


class Refused(Exception):
    """A protocol error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ToolFailed(Exception):
    """An execution error."""


class Closed(Exception):
    """The connection is gone."""


class Session:
    """One connection: sends frames, and hands each response to whoever waits for its id.

    `answer_requests`, `lenient` (takes the id as a string for its own) and `on_notification` are there to be changed.
    """

    def __init__(self, read: Any, write: Any, version: str) -> None:
        self.read, self.write, self.version = read, write, version
        self.next_id = 0
        self.waiting: dict[Any, tuple[anyio.Event, list[dict[str, Any]]]] = {}
        self.answer_requests = True
        self.lenient = False
        self.on_notification: Callable[[dict[str, Any]], Any] = lambda frame: None
        self.tasks: Any = None
        self.stale = False

    async def listen(self) -> None:
        """The receive loop."""
        try:
            async for item in self.read:
                if not isinstance(item, Exception):
                    await self.received(sdk.dump(item))
        except anyio.ClosedResourceError:
            pass
        for event, _ in self.waiting.values():
            event.set()

    async def received(self, frame: dict[str, Any]) -> None:
        if "method" in frame and "id" in frame:
            if self.answer_requests:
                await self.reply(frame)
        elif "method" in frame:
            self.on_notification(frame)
        else:
            name = frame.get("id")
            if self.lenient and isinstance(name, str) and name.strip().isdigit():
                name = int(name)
            event, box = self.waiting.get(name, (anyio.Event(), []))
            box.append(frame)
            event.set()

    async def reply(self, frame: dict[str, Any]) -> None:
        """Answer a request of the server: a ping with a result, anything else with an error."""
        if frame["method"] == "ping":
            await self.send({"jsonrpc": "2.0", "id": frame["id"], "result": {}})
        else:
            await self.send({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32601, "message": "no"}})

    async def send(self, value: Any) -> None:
        """Any JSON value, as it is."""
        await self.write.send(Raw(value))

    async def notify(self, method: str, **params: Any) -> None:
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def post(self, method: str, params: Any = None, name: Any = None) -> Any:
        """Send a request and return its id."""
        if name is None:
            name = self.next_id = self.next_id + 1
        params = dict(params or {})
        if era_of(self.version) == "stateless":
            params["_meta"] = {wire.META_VERSION: self.version, wire.META_CAPABILITIES: {}}
        self.waiting[name] = (anyio.Event(), [])
        await self.send({"jsonrpc": "2.0", "id": name, "method": method, "params": params})
        return name

    async def answer(self, name: Any) -> dict[str, Any]:
        """Wait for the response to a request."""
        event, box = self.waiting[name]
        await event.wait()
        if not box:
            raise Closed("connection closed")
        return box[0]

    async def ask(
        self, method: str, params: Any = None, *, timeout: float = math.inf, cancel: bool = True, name: Any = None
    ) -> dict[str, Any]:
        """A request and its result; whoever gives up also cancels it, unless told not to."""
        name = await self.post(method, params, name)
        try:
            with anyio.fail_after(None if timeout == math.inf else timeout):
                frame = await self.answer(name)
        except (TimeoutError, anyio.get_cancelled_exc_class()):
            if cancel:
                with anyio.CancelScope(shield=True):
                    await self.notify("notifications/cancelled", requestId=name)
            raise
        if "error" in frame:
            raise Refused(frame["error"]["code"], frame["error"]["message"])
        return frame["result"]

    async def call(self, tool: str, arguments: Any, **options: Any) -> dict[str, Any]:
        """A `tools/call`: its result, as on the wire."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments}, **options)

    async def tools(self, **options: Any) -> list[dict[str, Any]]:
        self.stale = False
        return (await self.ask("tools/list", **options))["tools"]

    async def handshake(self) -> None:
        hello = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        await self.ask("initialize", hello)
        await self.notify("notifications/initialized")


def failed(result: Any) -> bool:
    return bool(isinstance(result, dict) and result.get("isError"))


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block.get("text", "") for block in result["content"])


Calls = Callable[[Session, str, dict[str, Any]], Awaitable[Any]]


def client(call: Calls, *, version: str = DEFAULT_VERSION, prepare: Any = None, handshake: bool = True) -> Any:
    """A client, from what it does for one call. `prepare(session)` runs once after the handshake."""

    @asynccontextmanager
    async def connect(server: Any) -> AsyncIterator[Any]:
        async with server.connect() as (read, write), anyio.create_task_group() as tasks:
            session = Session(read, write, version)
            session.tasks = tasks
            tasks.start_soon(session.listen)
            if handshake and era_of(version) == "handshake":
                await session.handshake()
            if prepare is not None:
                await prepare(session)
            yield functools.partial(call, session)
            tasks.cancel_scope.cancel()

    return connect


def stateless(call: Calls, **options: Any) -> Any:
    """The same in the stateless era."""
    return client(call, version=VERSION, **options)


async def plain(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """Asks once, waits for ever, and returns what came."""
    return await session.call(tool, arguments)


async def careful(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """Asks once with a timeout, and cancels what it gives up."""
    return await session.call(tool, arguments, timeout=30)


def retrying(*waits: float, timeout: float = math.inf, cancel: bool = True) -> Calls:
    """Asks again after each of `waits`, whatever went wrong."""

    async def call(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        for wait in (*waits, None):
            try:
                result = await session.call(tool, arguments, timeout=timeout, cancel=cancel)
                if wait is None or not failed(result):
                    return result
            except Exception:
                if wait is None:
                    raise
            await anyio.sleep(wait)
        raise AssertionError("not reached")

    return call


TWICE = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
AT_ONCE = ['get_order(order_id="A1")', 'get_order(order_id="A2")@0']
REFUND = ['refund_order(order_id="A1", amount=20.5)']


def judged(name: str, target: Any, script: str, *, contract: Contract | None = None, **options: Any) -> Any:
    """The verdict of one check on one run; the run itself is `.run` of what `look` returns."""
    return look(name, target, script, contract=contract, **options)[0]


def look(name: str, target: Any, script: str, *, contract: Contract | None = None, **options: Any) -> tuple[Any, Run]:
    """The verdict and the run."""
    run = fuzzmcp.run(target, script, contract=contract, **options)
    return fuzzmcp.judge(run, contract, [name])[name], run


def violated(
    name: str, target: Any, script: str, *, contract: Contract | None = None, last: str = "", **options: Any
) -> Violation:
    """The violation, whose evidence must end in an event of the run, with this text in it."""
    verdict, run = look(name, target, script, contract=contract, **options)
    assert isinstance(verdict, Violation), f"{name} says {verdict}:\n" + "\n".join(run.lines())
    if last or verdict.evidence:
        assert any(verdict.evidence[-1] is event for event in run.events)
        assert last in describe(verdict.evidence[-1]), describe(verdict.evidence[-1])
    return verdict


def describe(event: Event) -> str:
    """Time, kind and method of an event: `4 request tools/call`."""
    return f"{event.at:g} {event.kind} {event.method}".strip()


__all__ = [
    "AT_ONCE",
    "HELD",
    "NOT_EXERCISED",
    "REFUND",
    "TWICE",
    "VERSION",
    "Closed",
    "Raw",
    "Refused",
    "Session",
    "ToolFailed",
    "Violation",
    "careful",
    "client",
    "describe",
    "failed",
    "judged",
    "look",
    "plain",
    "retrying",
    "stateless",
    "text_of",
    "violated",
]
