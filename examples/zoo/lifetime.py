"""Bugs in what one fault does to the rest: to the session, to the calls beside it, and to what is left at the end."""

import math
from typing import Any

import anyio

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Closed, Frame, Pending, ProtocolError

AT_ONCE = ('get_order(order_id="A1")', 'get_order(order_id="A1")@0')


# -- death of a session -----------------------------------------------------------------------------------------------


class KeepsTimeForAll(Client):
    """Has one clock for all its requests, beside the receive loop, and no other; each call has one attempt."""

    deadline = math.inf
    attempts, pages, listings = 1, 5, 2

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.due: dict[Any, float] = {}

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        self.due[pending.id], pending.scope.deadline = pending.scope.deadline, math.inf
        return pending

    async def receive(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.keep_time)
            await super().receive()
            tasks.cancel_scope.cancel()

    async def keep_time(self) -> None:
        """Give up what is overdue, twice a second."""
        while True:
            await anyio.sleep(0.5)
            for pending in self.pending.values():
                if anyio.current_time() >= self.due[pending.id]:
                    pending.scope.cancel()


@bug(check="finishes", script="close", seen="modelcontextprotocol/python-sdk #332", twin=KeepsTimeForAll)
class WakesNobodyAtTheEnd(KeepsTimeForAll):
    """Leaves the receive loop, and with it the clock, when the stream ends: whoever waits then waits for ever."""

    def closed(self) -> None:
        self.ended = True


@bug(check="survives", script="hang", seen="modelcontextprotocol/go-sdk #683")
class TakesSilenceForTheEnd(Client):
    """Takes the connection for lost, for good, when a request times out and nothing else came in meanwhile."""

    heard = 0

    async def on_line(self, line: str) -> None:
        self.heard += 1
        await super().on_line(line)

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        before = self.heard
        try:
            return await super().attempt(tool, arguments, number)
        except TimeoutError:
            self.ended = self.heard == before
            raise


@bug(check="survives", script="rpc(-32600)", seen="modelcontextprotocol/python-sdk #1676")
class TakesARefusalForTheEnd(Client):
    """Takes `Invalid Request` to say that the session is unknown to the server, and never opens another."""

    def surfaced(self, pending: Pending) -> Frame:
        try:
            return super().surfaced(pending)
        except ProtocolError as error:
            self.ended = error.code == -32600
            raise


@bug(check="survives", script="notjson", seen="modelcontextprotocol/python-sdk #2454")
class EndsAtALineOfText(Client):
    """Reads no further behind a line that is no JSON."""

    async def on_junk(self, line: str) -> None:
        self.closed()


@bug(check="survives", script="truncated", seen="common mistake: a message that is cut off is kept for its other half")
class WaitsForTheOtherHalf(Client):
    """Keeps what looks like the first half of a message, and adds every line that follows to it."""

    half = ""

    async def on_line(self, line: str) -> None:
        await super().on_line(self.half + line)

    async def on_junk(self, line: str) -> None:
        self.half = line if line.startswith("{") else ""


@bug(check="survives", script="429*3", seen="NousResearch/hermes-agent #11113")
class GivesUpAfterThreeErrors(Client):
    """Refuses every call after the third error result in a row, for good."""

    errors = 0

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        if self.errors >= 3:
            raise Closed("the server is unreachable")
        result = await super().attempt(tool, arguments, number)
        self.errors = self.errors + 1 if result.get("isError") else 0
        return result


@bug(check="survives", script="rpc(-32603)", seen="modelcontextprotocol/python-sdk #2047")
class RaisesWhereItReceives(Client):
    """Raises a protocol error to the caller, and in the receive loop as well: the session's task group goes down."""

    def on_response(self, frame: Frame) -> None:
        super().on_response(frame)
        if "error" in frame:
            raise ProtocolError(frame["error"]["code"], frame["error"]["message"])


@bug(check="survives", script="notjson", seen="aaif-goose/goose #1075")
class HangsUpAfterATimeout(Client):
    """Closes the connection when a call times out, and opens no other."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except TimeoutError:
            await self.write.aclose()
            raise


# -- results lost to a neighbour on the wire --------------------------------------------------------------------------


@bug(check="valid_accepted", script="noise", seen="common mistake: a line that cannot be read fails whoever waits")
class FailsWhoeverWaits(Client):
    """Lets a line that is no JSON fail every request that waits, with the error that a server sends for such a line."""

    async def on_junk(self, line: str) -> None:
        for name in self.pending:
            self.on_response({"id": name, "error": {"code": -32700, "message": "Parse error"}})


@bug(
    check="valid_accepted", script="progress_after", seen="common mistake: one field for the last message of a request"
)
class KeepsTheLatestMessage(Client):
    """Keeps the latest message about a request, be it progress, and takes it for the answer once that has come."""

    def on_response(self, frame: Frame) -> None:
        pending = self.matched(frame)
        if pending is not None:
            pending.frame = frame
            pending.done.set()

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/progress":
            pending = self.pending.get(frame["params"]["progressToken"])
            if pending is not None:
                pending.frame = frame


@bug(check="survives", script="dup", seen="common mistake: a future is completed twice")
class CompletesARequestTwice(Client):
    """Completes a request that is complete: `Future.set_result` raises then, and the receive loop ends."""

    def on_response(self, frame: Frame) -> None:
        pending = self.matched(frame)
        if pending is not None and pending.done.is_set():
            self.closed()
        super().on_response(frame)


# -- calls beside each other ------------------------------------------------------------------------------------------


@bug(check="isolation", script="notjson", calls=AT_ONCE, seen="langbot-app/LangBot #2339")
class HoldsALockWhileItWaits(Client):
    """Holds a lock around each request until its answer comes: one silent call stops all others."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.lock = anyio.Lock()

    async def request(self, method: str, params: Frame | None = None) -> Frame:
        async with self.lock:
            return await super().request(method, params)


@bug(
    check="isolation",
    script="notjson*2",
    calls=(*AT_ONCE, AT_ONCE[1]),
    seen="microsoft/agent-framework #4938",
)
class HasTwoPlaces(Client):
    """Has room for two requests at a time: two silent calls stop all others."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.places = anyio.Semaphore(2)

    async def request(self, method: str, params: Frame | None = None) -> Frame:
        async with self.places:
            return await super().request(method, params)


@bug(check="isolation", script="ok@0.001,rpc(-32603)", calls=AT_ONCE, seen="openai/openai-agents-python #2682")
class GivesUpAllForOne(Client):
    """Gives up whatever else is under way when one request is refused."""

    def surfaced(self, pending: Pending) -> Frame:
        try:
            return super().surfaced(pending)
        except ProtocolError:
            for other in self.pending.values():
                other.scope.cancel()
            raise


class Paced(Client):
    """Correct as the reference, and begins a call every tenth of a second at most."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.free = 0.0

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        now = anyio.current_time()
        mine = max(now, self.free)
        self.free = mine + 0.1
        await anyio.sleep(mine - now)
        return await super().call_tool(name, arguments)


@bug(
    check="isolation",
    script="rpc(-32603)",
    calls=AT_ONCE,
    seen="microsoft/autogen #7887",
    twin=Paced,
)
class CancelsSiblings(Paced):
    """Runs all calls as one group: the first that fails cancels the others."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.group: set[anyio.CancelScope] = set()

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        with anyio.CancelScope() as scope:
            self.group.add(scope)
            try:
                return await super().call_tool(name, arguments)
            except Exception:
                for other in self.group - {scope}:
                    other.cancel()
                raise
            finally:
                self.group.remove(scope)
        raise Closed("another call of the group failed")


# -- what is left at the end ------------------------------------------------------------------------------------------


@bug(check="cleans_up", script="odd", seen="modelcontextprotocol/csharp-sdk #1250")
class WaitsForTheServerToClose(Client):
    """Closes nothing itself, and waits for the stream to end."""

    async def close(self) -> None:
        try:
            while not self.ended:
                await anyio.sleep(0.1)
        finally:
            await super().close()


@bug(check="cleans_up", script="notjson", seen="PrefectHQ/fastmcp #3947")
class ClosesWhenAllIsAnswered(Client):
    """Waits with its end until every request has been answered, also those that it gave up."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.open_ids: set[Any] = set()

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        self.open_ids.add(pending.id)
        return pending

    def on_response(self, frame: Frame) -> None:
        self.open_ids.discard(frame.get("id"))
        super().on_response(frame)

    async def close(self) -> None:
        try:
            while self.open_ids and not self.ended:
                await anyio.sleep(0.1)
        finally:
            await super().close()


@bug(check="cleans_up", script="init:rpc(-32603)", seen="common mistake: a failed start is cleaned up in part")
class ForgetsTheConnectionOfAFailedHandshake(Client):
    """Ends its tasks when the handshake fails, and leaves the connection open."""

    ready = False

    async def handshake(self) -> None:
        await super().handshake()
        self.ready = True

    async def close(self) -> None:
        if self.ready:
            await super().close()
        else:
            self.tasks.cancel_scope.cancel()
            await self.tasks.__aexit__(None, None, None)
