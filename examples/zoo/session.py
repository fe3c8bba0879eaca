"""One JSON-RPC session with an MCP server, over lines of text: the half of the reference client that knows no tools.

Every decision is a small method of its own, there to be overridden by a variant with one bug.
"""

import itertools
import json
from contextlib import AsyncExitStack, suppress
from typing import Any

import anyio

Frame = dict[str, Any]
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
METHOD_NOT_FOUND = -32601


class ProtocolError(Exception):
    """The server refused the request itself."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Malformed(Exception):
    """An answer that is none."""


class Closed(Exception):
    """The connection is gone."""


class Pending:
    """A request that somebody waits for. `scope` bounds the wait; `frame` is the response, None until it came."""

    def __init__(self, name: Any, method: str) -> None:
        self.id, self.method = name, method
        self.frame: Frame | None = None
        self.done = anyio.Event()
        self.scope = anyio.CancelScope()


class Session:
    """Sends requests, and hands each response to whoever waits for it."""

    timeout = 25.0
    """Seconds for one request."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.opened = AsyncExitStack()
        self.pending: dict[Any, Pending] = {}
        self.ids = itertools.count(1)
        self.ended = False

    async def open(self) -> None:
        """Connect, start the receive loop, shake hands."""
        await self.connect()
        self.tasks = await self.opened.enter_async_context(anyio.create_task_group())
        self.opened.callback(self.tasks.cancel_scope.cancel)
        self.tasks.start_soon(self.receive)
        try:
            await self.handshake()
        except BaseException:
            await self.close()
            raise

    async def connect(self) -> None:
        """Streams of lines, to read and to write."""
        self.read, self.write = await self.opened.enter_async_context(self.server.lines())

    async def close(self) -> None:
        """End what `open` began."""
        await self.opened.aclose()

    async def handshake(self) -> None:
        """Agree on a version."""
        me = {"name": "reference", "version": "1"}
        hello = {"protocolVersion": VERSIONS[0], "capabilities": {}, "clientInfo": me}
        agreed = (await self.request("initialize", hello)).get("protocolVersion")
        if agreed not in VERSIONS:
            raise Malformed(f"the server speaks version {agreed!r}")
        await self.notify("notifications/initialized")

    # -- what comes in ---------------------------------------------------------------------------------------------

    async def receive(self) -> None:
        """The receive loop: it ends with the stream, and nothing that the stream carries ends it."""
        try:
            async for line in self.read:
                await self.on_line(line)
        finally:
            self.closed()

    async def on_line(self, line: str) -> None:
        """One line, of whatever kind."""
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            await self.on_junk(line)
            return
        if isinstance(frame, dict):  # batches left the protocol in 2025-06-18
            await self.on_frame(frame)

    async def on_junk(self, line: str) -> None:
        """A line that is no JSON: a library printed to the server's stdout. It answers nothing."""

    async def on_frame(self, frame: Frame) -> None:
        """One message: a request or a notification of the server, or a response."""
        if "method" not in frame:
            self.on_response(frame)
        elif "id" in frame:
            await self.on_request(frame)
        else:
            await self.on_notification(frame)

    def on_response(self, frame: Frame) -> None:
        """Hand a response to whoever waits for it. What nobody waits for (late, repeated, stray) is dropped."""
        pending = self.matched(frame)
        if pending is not None and pending.frame is None:
            pending.frame = frame
            pending.done.set()

    def matched(self, frame: Frame) -> Pending | None:
        """The request that a response answers: the one with its very id."""
        name = frame.get("id")
        return self.pending.get(name) if type(name) is int else None  # True and 1.0 are equal to 1 as well

    async def on_notification(self, frame: Frame) -> None:
        """What the server tells. Nothing slow belongs here: answers wait behind it."""

    async def on_request(self, frame: Frame) -> None:
        """What the server asks: a ping is answered, anything else refused, and at once."""
        refusal = {"error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}
        answer = {"result": {}} if frame["method"] == "ping" else refusal
        with suppress(Closed):
            await self.send({"jsonrpc": "2.0", "id": frame["id"], **answer})

    def closed(self) -> None:
        """The stream ended: wake whoever waits, for no answer comes any more."""
        self.ended = True
        for pending in self.pending.values():
            pending.done.set()

    # -- what goes out ---------------------------------------------------------------------------------------------

    async def send(self, frame: Frame) -> None:
        """One message, as a line."""
        try:
            if self.ended:
                raise anyio.BrokenResourceError
            await self.write.send(json.dumps(frame))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise Closed("the connection is closed") from None

    async def notify(self, method: str, params: Frame | None = None) -> None:
        """One notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    async def request(self, method: str, params: Frame | None = None) -> Frame:
        """One request and its result. Whoever stops waiting for it gives it up."""
        pending = self.begin(method)
        try:
            await self.exchange(pending, params or {})
            if not pending.done.is_set():
                raise TimeoutError(f"{method} was not answered within {self.timeout:g} s")
        except BaseException:
            await self.give_up(pending)
            raise
        finally:
            self.pending.pop(pending.id, None)
        return self.surfaced(pending)

    async def exchange(self, pending: Pending, params: Frame) -> None:
        """Send a request, and wait for its answer or the end of its time."""
        with pending.scope:
            await self.send({"jsonrpc": "2.0", "id": pending.id, "method": pending.method, "params": params})
            await pending.done.wait()

    def begin(self, method: str) -> Pending:
        """Register a request before it is sent: its answer may be there before sending returns."""
        pending = Pending(self.new_id(), method)
        self.pending[pending.id] = pending
        pending.scope.deadline = anyio.current_time() + self.timeout
        return pending

    def new_id(self) -> Any:
        """An id that no other request of this session has."""
        return next(self.ids)

    async def give_up(self, pending: Pending) -> None:
        """Tell the server, also while we are being cancelled ourselves."""
        if self.cancellable(pending):
            gone = {"requestId": pending.id, "reason": "gave up"}
            with suppress(Closed), anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await self.notify("notifications/cancelled", gone)

    def cancellable(self, pending: Pending) -> bool:
        """Only what is still under way, and never the handshake."""
        return not pending.done.is_set() and pending.method != "initialize"

    def surfaced(self, pending: Pending) -> Frame:
        """What a response says: its result, or a protocol error raised as one."""
        if pending.frame is None:
            raise Closed(f"the connection closed before {pending.method} was answered")
        error, result = pending.frame.get("error"), pending.frame.get("result")
        if isinstance(error, dict) and isinstance(error.get("code"), int):
            raise ProtocolError(error["code"], str(error.get("message")))
        if not isinstance(result, dict):
            raise Malformed(f"malformed answer to {pending.method}")
        return result
