"""Bugs in waiting: timeouts and deadlines that do not hold, and waits that stop everything else."""

import itertools
import math
import time
from contextlib import suppress

import anyio

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Closed, Frame, Malformed, Pending, ProtocolError


class Piecewise(Client):
    """Correct as the reference, without one scope around a call: requests, listings and waits have each a limit."""

    timeout = 30.0

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        latest = anyio.current_time() + self.deadline
        for number in itertools.count(1):
            with anyio.fail_after(self.deadline / 2):
                tool = await self.listed(name)
            result = self.trusted(tool, await self.attempt(tool, arguments, number))
            wait = self.retry_delay(tool, result, number)
            if wait is None or anyio.current_time() + wait >= latest:
                break
            await self.pause(wait)
        return result


class Pinging(Client):
    """Correct as the reference, and pings the server now and then; a ping that goes unanswered means nothing yet."""

    every, patience = 10.0, 5.0

    async def open(self) -> None:
        await super().open()
        self.tasks.start_soon(self.keep_alive)

    async def keep_alive(self) -> None:
        """Ping for as long as the connection lasts."""
        while not self.ended:
            await anyio.sleep(self.every)
            with suppress(Closed, Malformed, ProtocolError), anyio.move_on_after(self.patience) as scope:
                await self.request("ping")
            if scope.cancelled_caught:
                self.on_missed_ping()

    def on_missed_ping(self) -> None:
        """The server is busy, or worse: the timeouts of the requests will tell."""


# -- for ever ---------------------------------------------------------------------------------------------------------


@bug(check="finishes", script="notjson", seen="openai/openai-agents-python #580", twin=Piecewise)
class NeverTimesOut(Piecewise):
    """Waits for an answer for as long as it takes."""

    timeout = math.inf


@bug(check="finishes", script="hang", seen="common mistake: an idle timer armed by what arrives", twin=Piecewise)
class ArmsItsTimerOnArrival(Piecewise):
    """Starts the clock of a request with the first line that arrives behind it: mere silence is never too long."""

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        pending.scope.deadline = math.inf
        return pending

    async def on_line(self, line: str) -> None:
        for pending in self.pending.values():
            pending.scope.deadline = min(pending.scope.deadline, anyio.current_time() + self.timeout)
        await super().on_line(line)


@bug(check="finishes", script="429,notjson", seen="common mistake: a timeout around the first attempt", twin=Piecewise)
class TimesOutOnFirstAttemptsOnly(Piecewise):
    """Has a timeout for the first attempt of a call, and none for the others."""

    number = 1

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        self.number = number
        return await super().attempt(tool, arguments, number)

    def begin(self, method: str) -> Pending:
        pending = super().begin(method)
        if method == "tools/call" and self.number > 1:
            pending.scope.deadline = math.inf
        return pending


@bug(
    check="finishes",
    script="notjson+progress(10)",
    seen="common mistake: progress extends a timeout, and nothing bounds that",
    twin=Piecewise,
)
class AddsATimeoutForEachProgress(Piecewise):
    """Gives what is under way another timeout for each progress notification, on top of those that it has."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/progress":
            for pending in self.pending.values():
                pending.scope.deadline += self.timeout


@bug(check="finishes", script="429(600)", seen="common mistake: a hint obeyed, however long")
class ObeysEveryHint(Client):
    """Has a timeout for each request and no deadline for a call: it waits as long as it is told to."""

    deadline = math.inf


# -- everything else waits as well -----------------------------------------------------------------------------------


@bug(check="never_blocks", script="429", seen="common mistake: time.sleep in a coroutine")
class SleepsBetweenAttempts(Client):
    """Sleeps between two attempts, and the whole event loop with it."""

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251


@bug(check="never_blocks", script="log", seen="common mistake: throttling by time.sleep in a handler")
class SleepsInItsLogHandler(Client):
    """Writes down five log messages of the server a second at most, and sleeps in between."""

    async def on_notification(self, frame: Frame) -> None:
        await super().on_notification(frame)
        if frame["method"] == "notifications/message":
            time.sleep(0.2)  # noqa: ASYNC251


@bug(
    check="survives",
    script="block(20)",
    seen="common mistake: a session given up for good after one missed ping",
    twin=Pinging,
)
class EndsWithAMissedPing(Pinging):
    """Takes the server for gone, for good, when one ping goes unanswered."""

    gone = False

    def on_missed_ping(self) -> None:
        self.gone = True

    async def listed(self, name: str) -> Tool:
        if self.gone:
            raise Closed("the server does not answer its pings")
        return await super().listed(name)
