"""Bugs in what becomes of a request that somebody stops waiting for: the caller, the clock, or the server."""

import asyncio
from contextlib import suppress
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Closed, Frame, Pending

IN_TURN = ('get_order(order_id="A1")', 'get_order(order_id="A1")')
AT_ONCE = ('get_order(order_id="A1")', 'get_order(order_id="A1")@0')


@bug(check="cancels", script="notjson", seen="aaif-goose/goose #1075")
class TimesOutInSilence(Client):
    """Gives a request up after its timeout, and does not tell the server."""

    async def give_up(self, pending: Pending) -> None:
        if not pending.scope.cancelled_caught:
            await super().give_up(pending)


@bug(check="cancels", script="notjson+cancel", seen="common mistake: `except Exception` lets a cancellation through")
class CancelledInSilence(Client):
    """Tells the server of its own timeouts, and not of its callers' cancellations."""

    async def give_up(self, pending: Pending) -> None:
        if pending.scope.cancelled_caught:
            await super().give_up(pending)


@bug(
    check="cancels", script="notjson*2", calls=IN_TURN, seen="common mistake: a flag of the session, not of the request"
)
class CancelsOnce(Client):
    """Remembers on the session that it has sent a cancellation, and sends no second one for any request."""

    told = False

    def cancellable(self, pending: Pending) -> bool:
        told, self.told = self.told, True
        return not told and super().cancellable(pending)


@bug(check="cancels", script="init:notjson", seen="modelcontextprotocol/typescript-sdk #998")
class CancelsTheHandshake(Client):
    """Cancels `initialize` like any other request."""

    def cancellable(self, pending: Pending) -> bool:
        return not pending.done.is_set()


@bug(check="cancels", script="server_cancel@1", seen="common mistake: a cancellation is confirmed with another")
class CancelsWhatTheServerCancels(Client):
    """Sends the server's cancellation of a request back, and cancels that request once more when it times out."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/cancelled":
            await self.notify("notifications/cancelled", frame["params"])


@bug(check="cancels", script="429", seen="common mistake: a new attempt withdraws the one before")
class CancelsTheAttemptBefore(Client):
    """Cancels the request before when it tries again, although that was answered long ago."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        if number > 1:
            await self.notify("notifications/cancelled", {"requestId": self.latest})
        return await super().attempt(tool, arguments, number)

    def new_id(self) -> Any:
        self.latest = super().new_id()
        return self.latest


@bug(check="cancels", script="notjson", seen="common mistake: ids are numbers in one place and text in another")
class CancelsIdsAsText(Client):
    """Names the request by its id as a string."""

    async def notify(self, method: str, params: Frame | None = None) -> None:
        if params and "requestId" in params:
            params["requestId"] = str(params["requestId"])
        await super().notify(method, params)


@bug(check="cancels", script="notjson", calls=AT_ONCE, seen="common mistake: the id is read from the counter")
class CancelsTheNewestRequest(Client):
    """Names the request that was sent last, whichever it gives up."""

    def new_id(self) -> Any:
        self.latest = super().new_id()
        return self.latest

    async def notify(self, method: str, params: Frame | None = None) -> None:
        if params and "requestId" in params:
            params["requestId"] = self.latest
        await super().notify(method, params)


@bug(check="cancels", script="cancel", seen="modelcontextprotocol/python-sdk #1830")
class TakesCancellationForAFailure(Client):
    """Swallows the cancellation of its caller as if the connection had been lost, and sends the request again."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except anyio.get_cancelled_exc_class():
            return await super().attempt(tool, arguments, number)


@bug(check="finishes", script="notjson+cancel", seen="vercel/ai #16581")
class LooksForCancellationTooEarly(Client):
    """Can be cancelled before a request is sent, and not while its answer is awaited."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        await checkpoint()
        found: list[Frame | Exception] = []
        done = anyio.Event()

        async def run() -> None:
            try:
                found.append(await super(LooksForCancellationTooEarly, self).attempt(tool, arguments, number))
            except Exception as error:
                found.append(error)
            finally:
                done.set()

        self.tasks.start_soon(run)
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await done.wait()
            raise
        if not found or isinstance(found[0], Exception):
            raise found[0] if found else Closed("the session ended")
        return found[0]


@bug(check="survives", script="cancel", seen="common mistake: a lock that only success releases")
class LeavesTheLineLocked(Client):
    """Lets one message out at a time, and does not make room for the next when a caller cancels in the middle."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.line = anyio.Semaphore(1)

    async def send(self, frame: Frame) -> None:
        await self.line.acquire()
        await super().send(frame)
        self.line.release()


def _in_background(function: Any) -> Any:
    """Start a task that belongs to nobody; None on trio, which knows no such thing."""
    try:
        return asyncio.get_running_loop().create_task(function())
    except RuntimeError:
        return None


@bug(check="cleans_up", script="cancel", seen="common mistake: `except Exception` lets a cancellation through")
class ForgetsItsTickerWhenCancelled(Client):
    """Ends the background task of a call when the call returns or fails, and not when it is cancelled."""

    async def tick(self) -> None:
        while True:
            await anyio.sleep(1)

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        ticker = _in_background(self.tick)
        try:
            result = await super().attempt(tool, arguments, number)
        except Exception:
            if ticker is not None:
                ticker.cancel()
            raise
        if ticker is not None:
            ticker.cancel()
        return result


@bug(check="cleans_up", script="notjson", seen="common mistake: futures failed at the end, awaited or not")
class FailsFuturesThatNobodyAwaits(Client):
    """Keeps a future for each request until its answer comes, and fails at the end what it gave up long ago."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.futures: dict[Any, asyncio.Future[Frame]] = {}

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        with suppress(RuntimeError):  # on trio
            self.futures[pending.id] = asyncio.get_running_loop().create_future()
        return pending

    def on_response(self, frame: Frame) -> None:
        self.futures.pop(frame.get("id"), None)
        super().on_response(frame)

    def closed(self) -> None:
        super().closed()
        for future in self.futures.values():
            future.set_exception(Closed("the session ended"))
        self.futures.clear()


@bug(
    check="valid_accepted",
    script="server_cancel",
    seen="common mistake: cancellations handled alike in both directions",
)
class LosesWhatTheServerCancels(Client):
    """Forgets a request that the server cancels, whose answer still comes, and leaves its caller to the timeout."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/cancelled":
            self.pending.pop(frame["params"]["requestId"], None)


@bug(
    check="expected_errors",
    script="server_cancel@1",
    seen="common mistake: an id of the server's looked up unchecked",
)
class LooksUpWhatTheServerCancels(Client):
    """Ends the session with a `KeyError` when the server cancels a request that it has answered."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/cancelled":
            self.on_server_cancel(self.pending[frame["params"]["requestId"]])

    def on_server_cancel(self, pending: Pending) -> None:
        """The answer still follows."""


class LooksOnceMore(Client):
    """Correct as the reference, and takes an answer that came at the very moment of the timeout."""

    async def exchange(self, pending: Pending, params: Frame) -> None:
        await super().exchange(pending, params)
        await checkpoint()


@bug(check="expected_errors", script="late", seen="common mistake: two owners of one entry", twin=LooksOnceMore)
class RemovesARequestTwice(LooksOnceMore):
    """Removes a request with its answer, and after its cancellation: a `KeyError` when the one crosses the other."""

    def on_response(self, frame: Frame) -> None:
        pending = self.matched(frame)
        super().on_response(frame)
        if pending is not None:
            del self.pending[pending.id]

    async def give_up(self, pending: Pending) -> None:
        await super().give_up(pending)
        if not pending.done.is_set() or pending.scope.cancelled_caught:
            del self.pending[pending.id]
