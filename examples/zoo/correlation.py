"""Bugs in which request a response is taken to answer, and in the ids that are to tell."""

import itertools
import json
from collections import deque
from contextlib import suppress
from typing import Any

import anyio

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Frame, Pending

IN_TURN = ('get_order(order_id="A1")', 'get_order(order_id="A1")')
AT_ONCE = ('get_order(order_id="A1")', 'get_order(order_id="A1")@0')


class OneAtATime(Client):
    """Makes one call at a time, with one short attempt; responses wait in a mailbox until one is waited for."""

    timeout, attempts = 1.0, 1

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.turn = anyio.Lock()
        self.mailbox: deque[Frame] = deque()

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        async with self.turn:
            return await super().call_tool(name, arguments)

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        self.look()
        return pending

    def on_response(self, frame: Frame) -> None:
        self.mailbox.append(frame)
        self.look()

    def look(self) -> None:
        """Go through the mailbox, if anybody waits."""
        while self.mailbox and any(not pending.done.is_set() for pending in self.pending.values()):
            super().on_response(self.mailbox.popleft())

    async def give_up(self, pending: Pending) -> None:
        del self.pending[pending.id]
        await super().give_up(pending)


@bug(
    check="right_answer",
    script="ok@1",
    calls=IN_TURN,
    seen="common mistake: the next response is the answer, and a late one shifts them all",
    twin=OneAtATime,
)
class TakesTheNextResponse(OneAtATime):
    """Takes the next response for its own, unless its id lies ahead of everything it has asked."""

    def matched(self, frame: Frame) -> Pending | None:
        waiting, name = next(iter(self.pending.values())), frame.get("id")
        return waiting if type(name) is int and name <= waiting.id else None


@bug(
    check="right_answer",
    script="dup",
    calls=IN_TURN,
    seen="common mistake: answers to cancelled requests are dropped, repeated answers are not",
    twin=OneAtATime,
)
class TakesRepeatsForAnswers(OneAtATime):
    """Drops the answers to what it gave up, as the specification says, and takes any other old one for its own."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.gone: set[int] = set()

    def matched(self, frame: Frame) -> Pending | None:
        waiting, name = next(iter(self.pending.values())), frame.get("id")
        return waiting if type(name) is int and name <= waiting.id and name not in self.gone else None

    async def give_up(self, pending: Pending) -> None:
        self.gone.add(pending.id)
        await super().give_up(pending)


@bug(check="right_answer", script="orphan", seen="common mistake: an event for each request, and one queue for all")
class TakesTheFirstOfTheQueue(Client):
    """Is woken by its own answer, and then takes the first response in the queue."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.queue: deque[Frame] = deque()

    def on_response(self, frame: Frame) -> None:
        self.queue.append(frame)
        super().on_response(frame)

    def surfaced(self, pending: Pending) -> Frame:
        if pending.frame is not None:
            pending.frame = self.queue.popleft()
        return super().surfaced(pending)


@bug(check="right_answer", script="wrongid", seen="common mistake: one request waits, so it must be its answer")
class GivesStraysToTheOnlyOne(Client):
    """Takes a response with an unknown id for the answer to the only request that waits."""

    def matched(self, frame: Frame) -> Pending | None:
        only = next(iter(self.pending.values())) if len(self.pending) == 1 else None
        return super().matched(frame) or only


@bug(check="right_answer", script="ok", calls=AT_ONCE, seen="common mistake: the last result is kept on the client")
class KeepsOneResultForAll(Client):
    """Keeps the response that came last, and whoever wakes reads that one."""

    def on_response(self, frame: Frame) -> None:
        super().on_response(frame)
        self.last = frame

    def surfaced(self, pending: Pending) -> Frame:
        pending.frame = pending.frame and self.last
        return super().surfaced(pending)


@bug(check="survives", script="wrongid", seen="common mistake: an id of the server's looked up unchecked")
class EndsAtAnUnknownId(Client):
    """Takes for granted that every response was asked for: a `KeyError` ends the receive loop, and is logged there."""

    def matched(self, frame: Frame) -> Pending | None:
        return self.pending[frame["id"]]

    async def receive(self) -> None:
        with suppress(KeyError):
            await super().receive()


@bug(check="survives", script="ok@25", seen="strands-agents/harness-sdk #1221")
class EndsAtALateAnswer(Client):
    """Takes the answer to a request that it gave up for a breach of the protocol, and ends the session."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.gone: set[Any] = set()

    async def give_up(self, pending: Pending) -> None:
        self.gone.add(pending.id)
        await super().give_up(pending)

    def on_response(self, frame: Frame) -> None:
        if frame.get("id") in self.gone:
            self.closed()
        super().on_response(frame)


@bug(check="survives", script="notjson", seen="common mistake: late answers are counted, not recognised")
class SkipsOneResponseForEachTimeout(Client):
    """Expects the answer to each request that timed out to come late, and drops the next response in its place."""

    owed = 0

    async def give_up(self, pending: Pending) -> None:
        self.owed += 1
        await super().give_up(pending)

    def on_response(self, frame: Frame) -> None:
        if self.owed:
            self.owed -= 1
        else:
            super().on_response(frame)


@bug(check="survives", script="nullid", seen="common mistake: an error for no request is one of the session")
class EndsAtAnErrorWithoutId(Client):
    """Takes an error that names no request for the end of the session."""

    def on_response(self, frame: Frame) -> None:
        if frame.get("id") is None:
            self.closed()
        super().on_response(frame)


@bug(check="expected_errors", script="strid", seen="common mistake: ids are compared before their types are")
class ComparesIdsOfAnyType(Client):
    """Drops what it cannot have asked for by `>`: an id that is a string ends the receive loop with a `TypeError`."""

    def matched(self, frame: Frame) -> Pending | None:
        name = frame.get("id")
        if name is None or name > max(self.pending, default=0):
            return None
        return self.pending.get(name)


@bug(check="expected_errors", script="batch", seen="common mistake: every line of JSON is taken for an object")
class CrashesOnABatch(Client):
    """Asks a JSON array for its id: an `AttributeError` ends the receive loop."""

    async def on_line(self, line: str) -> None:
        try:
            frame = json.loads(line)
        except (ValueError, RecursionError):
            await self.on_junk(line)
        else:
            await self.on_frame(frame)


@bug(check="wire_valid", script="ok", seen="common mistake: the number of waiting requests is the id of the next")
class RecyclesIds(Client):
    """Gives a request the lowest id that no other has at the moment."""

    def new_id(self) -> Any:
        return next(name for name in itertools.count(1) if name not in self.pending)


@bug(check="wire_valid", script="odd", seen="modelcontextprotocol/python-sdk #3126")
class RestartsIdsForEachCall(Client):
    """Counts the requests of each call from the same number."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        self.ids = itertools.count(100)
        return await super().call_tool(name, arguments)


@bug(check="wire_valid", script="429", seen="common mistake: the request that failed is sent once more as it was")
class RepeatsTheIdOfTheAttemptBefore(Client):
    """Sends a retry under the id of the request before."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        if number > 1:
            self.ids = itertools.count(next(self.ids) - 1)
        return await super().attempt(tool, arguments, number)
