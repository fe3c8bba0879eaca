"""Bugs in what a client owes its server: answers to its requests, patience with its notifications, valid frames."""

from contextlib import suppress
from typing import Any

import anyio

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Closed, Frame, Pending, ProtocolError


class DiesInSilence(Client):
    """The reference, but what escapes from a handler ends the receive loop and nothing else. Nothing does escape."""

    async def receive(self) -> None:
        with suppress(Exception):
            await super().receive()


# -- requests of the server -------------------------------------------------------------------------------------------


@bug(check="peer_duties", script="notjson+ping", seen="modelcontextprotocol/python-sdk #680")
class AnswersBetweenRequests(Client):
    """Puts the server's requests off until its own has an answer, or is given up."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.postponed: list[Frame] = []

    async def on_request(self, frame: Frame) -> None:
        if self.pending:
            self.postponed.append(frame)
        else:
            await super().on_request(frame)

    async def request(self, method: str, params: Frame | None = None) -> Frame:
        try:
            return await super().request(method, params)
        finally:
            while self.postponed:
                await super().on_request(self.postponed.pop(0))


@bug(check="peer_duties", script="ping", seen="common mistake: no handler for ping, as nothing seems to need it")
class IgnoresPing(Client):
    """Answers every request but `ping`."""

    async def on_request(self, frame: Frame) -> None:
        if frame["method"] != "ping":
            await super().on_request(frame)


@bug(check="peer_duties", script="ping", seen="common mistake: everything unexpected refused, ping as well")
class RefusesPing(Client):
    """Refuses whatever the server asks."""

    async def on_request(self, frame: Frame) -> None:
        await super().on_request({**frame, "method": "anything"})


@bug(check="peer_duties", script="ping", seen="common mistake: one function that numbers whatever is sent")
class AnswersUnderItsOwnId(Client):
    """Numbers its answers as it numbers its requests."""

    async def on_request(self, frame: Frame) -> None:
        await super().on_request({**frame, "id": self.new_id()})


@bug(check="peer_duties", script="sampling", seen="common mistake: unsupported requests dropped, not refused")
class IgnoresWhatItCannotDo(Client):
    """Meets the requests that it does not support with silence."""

    async def on_request(self, frame: Frame) -> None:
        if frame["method"] == "ping":
            await super().on_request(frame)


@bug(check="survives", script="roots", seen="common mistake: a handler table without a default", twin=DiesInSilence)
class LooksUpHandlers(DiesInSilence):
    """Finds handlers in a table, and ends its receive loop with a KeyError where there is none."""

    async def on_request(self, frame: Frame) -> None:
        handlers = dict.fromkeys(("ping", "sampling/createMessage", "elicitation/create"), super().on_request)
        await handlers[frame["method"]](frame)


@bug(check="expected_errors", script="elicit", seen="modelcontextprotocol/python-sdk #2673")
class BreaksOnElicitation(Client):
    """Takes for granted that a form has required fields: the KeyError of its handler ends the session."""

    async def on_request(self, frame: Frame) -> None:
        if frame["method"] == "elicitation/create":
            self.fields(frame["params"])
        await super().on_request(frame)

    def fields(self, params: Frame) -> list[str]:
        schema = params["requestedSchema"]
        return [name for name in schema["properties"] if name in schema["required"]]


# -- notifications of the server --------------------------------------------------------------------------------------


@bug(check="valid_accepted", script="log", seen="modelcontextprotocol/python-sdk #201")
class FreezesOnNotification(Client):
    """Hands every notification to a reader who is not there, from within the receive loop."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        await anyio.Semaphore(0).acquire()


@bug(check="survives", script="progress", seen="common mistake: progress looked up unchecked", twin=DiesInSilence)
class TrustsEveryToken(DiesInSilence):
    """Ends its receive loop with a KeyError over progress on a token that it never gave."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/progress":
            callbacks: dict[Any, Any] = {}
            callbacks[frame["params"]["progressToken"]](frame["params"])


class ReportsProgress(Client):
    """The reference, but it asks for progress, and keeps what it hears of each request until that is answered."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.progress: dict[Any, list[float]] = {}

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        self.progress[pending.id] = []
        return pending

    async def send(self, frame: Frame) -> None:
        if "method" in frame and "id" in frame:
            frame = {**frame, "params": {**frame["params"], "_meta": {"progressToken": frame["id"]}}}
        await super().send(frame)

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/progress":
            self.on_progress(frame["params"]["progressToken"], frame["params"]["progress"])

    def on_progress(self, token: Any, done: float) -> None:
        if token in self.progress:
            self.progress[token].append(done)

    def on_response(self, frame: Frame) -> None:
        if self.matched(frame) is not None:
            self.progress.pop(frame["id"], None)
        super().on_response(frame)


@bug(
    check="expected_errors",
    script="progress_after",
    seen="common mistake: progress that overtakes, or is overtaken by, the answer",
    twin=ReportsProgress,
)
class TrustsFinishedTokens(ReportsProgress):
    """Ends the session over progress right behind its answer: the request is still known, and done."""

    def on_progress(self, token: Any, done: float) -> None:
        if token in self.pending:
            assert not self.pending[token].done.is_set()
        super().on_progress(token, done)


@bug(check="wire_valid", script="log", seen="common mistake: one handler for requests and notifications")
class AnswersNotifications(Client):
    """Refuses the notifications that it does not know, as if they were requests."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/message":
            await self.on_request({**frame, "id": None})


@bug(check="valid_accepted", script="noise", seen="common mistake: resynchronising where nothing is out of step")
class SkipsTheLineAfterNoise(Client):
    """Takes the line behind one that is no JSON for the rest of it."""

    broken = False

    async def on_line(self, line: str) -> None:
        if self.broken:
            self.broken = False
        else:
            await super().on_line(line)

    async def on_junk(self, line: str) -> None:
        self.broken = True


# -- frames of its own ------------------------------------------------------------------------------------------------


@bug(check="wire_valid", script="notjson", seen="common mistake: a message for the user printed to stdout")
class PrintsToTheWire(Client):
    """Complains of a line that is no JSON, on the wire."""

    async def on_junk(self, line: str) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.write.send(f"ignored: {line}")


@bug(check="wire_valid", script="sampling", seen="common mistake: a response object with both fields, one of them null")
class AnswersWithBothFields(Client):
    """Writes a null result beside every error."""

    async def send(self, frame: Frame) -> None:
        await super().send({"result": None, **frame} if "error" in frame else frame)


@bug(check="wire_valid", script="notjson", seen="common mistake: a frame built by hand")
class CancelsWithoutVersion(Client):
    """Builds its cancellations by hand, and forgets `jsonrpc`."""

    async def notify(self, method: str, params: Frame | None = None) -> None:
        if method == "notifications/cancelled":
            await self.send({"method": method, "params": params})
        else:
            await super().notify(method, params)


@bug(check="wire_valid", script="429", seen="common mistake: ids that say which request is tried again")
class NumbersRetriesInTenths(Client):
    """Gives the second attempt of request 3 the id 4.2."""

    number = 1

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        self.number = number
        return await super().attempt(tool, arguments, number)

    def new_id(self) -> Any:
        return super().new_id() + (self.number / 10 if self.number > 1 else 0)

    def matched(self, frame: Frame) -> Pending | None:
        name = frame.get("id")
        return self.pending.get(name) if type(name) in (int, float) else None


@bug(check="wire_valid", script="ok", seen="common mistake: the third message of the handshake left out")
class ForgetsInitialized(Client):
    """Begins to work once `initialize` is answered, and never says so."""

    async def notify(self, method: str, params: Frame | None = None) -> None:
        if method != "notifications/initialized":
            await super().notify(method, params)


@bug(check="wire_valid", script="init:rpc(-32603)", seen="common mistake: the handshake sent in one go")
class HurriesTheHandshake(Client):
    """Sends `notifications/initialized` right behind `initialize`, whatever that is answered."""

    async def send(self, frame: Frame) -> None:
        if frame.get("method") == "initialize":
            await super().send(frame)
            frame = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        elif frame.get("method") == "notifications/initialized":
            return
        await super().send(frame)


@bug(check="wire_valid", script="rpc(-32603)", seen="common mistake: recovering by a handshake on the same connection")
class ShakesHandsAgain(Client):
    """Initialises the live session anew after a protocol error."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except ProtocolError:
            with suppress(Closed, ProtocolError):
                await self.handshake()
            raise
