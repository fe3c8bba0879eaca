"""Bugs in what is sent again, when, and how often."""

import re

import anyio

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Closed, Frame, ProtocolError

REFUND = ('refund_order(order_id="A1", amount=20.5, reason="damaged")',)


class Persistent(Client):
    """Correct as the reference, with one attempt more."""

    attempts = 4


class Resending(Client):
    """Correct as the reference, and sends again what went unanswered, if a second call is harmless."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except TimeoutError as error:
            return lost(error)


class Reconnecting(Client):
    """Correct as the reference, and opens a new connection for what comes after the old one was lost."""

    def __init__(self, server: object) -> None:
        super().__init__(server)
        self.opening = anyio.Lock()

    async def listed(self, name: str) -> Tool:
        async with self.opening:
            if self.ended:
                await self.reconnect()
        return await super().listed(name)

    async def reconnect(self) -> None:
        """A new connection in place of the old one, and nothing known about its catalogue."""
        self.read, self.write = await self.opened.enter_async_context(self.server.lines())
        self.ended = False
        self.tasks.start_soon(self.receive)
        self.on_list_changed()
        try:
            await self.handshake()
        except BaseException:
            self.ended = True
            raise

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except Closed as error:
            return lost(error)


def lost(error: Exception) -> Frame:
    """An error result in place of an answer that never came."""
    return {"isError": True, "content": [{"type": "text", "text": f"timeout_error: {error}"}]}


# -- when -------------------------------------------------------------------------------------------------------------


@bug(check="retry_after", script="429", seen="basicmachines-co/basic-memory #1378")
class IgnoresRetryAfter(Client):
    """Waits as long as it would for any other error."""

    def hint_of(self, said: str) -> float | None:
        return None


@bug(check="retry_after", script="429", seen="common mistake: retry-after handed to a timer that counts milliseconds")
class ReadsRetryAfterAsMilliseconds(Client):
    """Takes the seconds of a retry-after for milliseconds."""

    def hint_of(self, said: str) -> float | None:
        hint = super().hint_of(said)
        return None if hint is None else hint / 1000


@bug(check="retry_after", script="429(2.5)", seen="common mistake: retry-after read as an integer")
class ReadsWholeSecondsOnly(Client):
    """Cannot read a decimal retry-after, and waits as if there were none."""

    def hint_of(self, said: str) -> float | None:
        return float(said) if said.isdecimal() else None


@bug(check="retry_after", script="429(31)", seen="common mistake: the cap of the backoff applied to the server's hint")
class CapsRetryAfter(Client):
    """Never waits for more than 30 seconds, whatever the server asked for."""

    async def pause(self, seconds: float) -> None:
        await super().pause(min(seconds, 30.0))


@bug(check="retry_after", script="429(style=json)", seen="common mistake: hints looked for in one place of two")
class IgnoresHintsOfEnvelopes(Client):
    """Looks for a retry-after in prose only; in a JSON envelope the field has another name."""

    def error_of(self, result: Frame) -> tuple[str, float | None]:
        found = re.search(r"retry-after: ([\d.]+)", str(result["content"]))
        return super().error_of(result)[0], self.hint_of(found.group(1)) if found else None


@bug(check="backoff", script="429(none)*2", seen="common mistake: a fixed interval between attempts")
class RetriesAtAFixedInterval(Client):
    """Comes back every second."""

    def backoff(self, number: int) -> float:
        return 1.0


@bug(check="backoff", script="504*2", seen="common mistake: no wait after a timeout, which was wait enough")
class RetriesTimeoutsAtOnce(Client):
    """Finds that whoever ran into a timeout has waited enough."""

    def retry_delay(self, tool: Tool, result: Frame, number: int) -> float | None:
        delay = super().retry_delay(tool, result, number)
        return 0.0 if delay is not None and self.error_of(result)[0] == "timeout error" else delay


@bug(check="backoff", script="529*2", seen="common mistake: a fixed time to cool down for an overloaded server")
class CoolsDownForAFixedTime(Client):
    """Leaves an overloaded server alone for ten seconds each time, however long the overload lasts."""

    def retry_delay(self, tool: Tool, result: Frame, number: int) -> float | None:
        delay = super().retry_delay(tool, result, number)
        return 10.0 if delay is not None and self.error_of(result)[0] == "overloaded error" else delay


@bug(check="backoff", script="429(none)*3", seen="common mistake: a table of delays indexed modulo", twin=Persistent)
class StartsItsDelaysOver(Persistent):
    """Takes its delays from a table, and from its beginning again when the table is used up."""

    delays = (1.0, 2.0)

    def backoff(self, number: int) -> float:
        return self.delays[(number - 1) % len(self.delays)]


# -- how often --------------------------------------------------------------------------------------------------------


@bug(check="request_budget", script="429*4", seen="netclaw-dev/netclaw #2056")
class NeverStopsRetrying(Client):
    """Tries again for as long as the deadline lasts."""

    attempts = 1_000


@bug(check="request_budget", script="429*4", seen="common mistake: a retrying client wrapped into another retry")
class StacksRetries(Client):
    """Has a loop of four around the loop of three that was there already."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        with anyio.fail_after(self.deadline):
            for _ in range(3):
                result = await super().call_tool(name, arguments)
                wait = self.retry_delay(await self.listed(name), result, 1)
                if wait is None:
                    return result
                await self.pause(wait)
            return await super().call_tool(name, arguments)


@bug(check="request_budget", script="toolgone*4", seen="danny-avila/LibreChat #12162")
class ListsUntilTheToolIsBack(Client):
    """Lists again and calls again as long as the server says that it knows no such tool."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        while True:
            try:
                return await super().attempt(tool, arguments, number)
            except ProtocolError as error:
                if "Unknown tool" not in str(error):
                    raise
            await self.pause(1.0)
            self.on_list_changed()
            tool = await self.listed(tool.name)


# -- whether at all ---------------------------------------------------------------------------------------------------


@bug(check="spend_cap", script="429cap", seen="netclaw-dev/netclaw #2056")
class RetriesSpendCap(Client):
    """Takes a reached spend cap for a rate limit, and comes back."""

    def code_of(self, words: str) -> str:
        return super().code_of(words).replace("spend cap", "rate limit")


@bug(check="spend_cap", script="429cap(style=json)", seen="common mistake: error codes reduced to HTTP statuses")
class ReducesCodesToStatuses(Client):
    """Turns the codes of JSON envelopes into HTTP statuses, of which spend caps and rate limits share one."""

    def code_of(self, words: str) -> str:
        statuses = {"rate_limit_error": 429, "spend_cap_reached": 429, "timeout_error": 504, "overloaded_error": 529}
        kinds = {429: "rate limit", 504: "timeout error", 529: "overloaded error"}
        return kinds[statuses[words]] if words in statuses else super().code_of(words)


@bug(check="no_pointless_retry", script="error", seen="pydantic/pydantic-ai #5217")
class RetriesEveryError(Client):
    """Takes an error that it does not know for one that may pass."""

    def code_of(self, words: str) -> str:
        return super().code_of(words) or ("overloaded error" if words else "")


@bug(check="no_pointless_retry", script="traceback", seen="common mistake: a traceback taken for a crash that passes")
class RetriesTracebacks(Client):
    """Takes the traceback of a tool for a server that crashed, and is restarted by now."""

    def code_of(self, words: str) -> str:
        return "overloaded error" if words.startswith("Traceback") else super().code_of(words)


@bug(check="no_pointless_retry", script="rpc(-32602)", seen="common mistake: retry on any exception")
class RetriesProtocolErrors(Client):
    """Sends a refused request once more, as it is."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except ProtocolError:
            if number > 1:
                raise
            await self.pause(self.backoff(number))
            return await super().attempt(await self.listed(tool.name), arguments, number)


@bug(check="no_pointless_retry", script="toolgone", seen="common mistake: a catalogue refreshed from its own cache")
class LooksUpAMissingToolInItsCache(Client):
    """Looks up again a tool that the server does not know, finds it in its cache, and calls again."""

    async def attempt(self, tool: Tool, arguments: Frame, number: int) -> Frame:
        try:
            return await super().attempt(tool, arguments, number)
        except ProtocolError as error:
            if number > 1 or "Unknown tool" not in str(error):
                raise
            return await super().attempt(await self.listed(tool.name), arguments, number)


@bug(check="unsafe_retry", script="notjson", calls=REFUND, seen="simonx1/ruby-mcp-client #178", twin=Resending)
class RepeatsRefundsAfterTimeouts(Resending):
    """Sends again whatever went unanswered, also what must not run twice."""

    def retry_delay(self, tool: Tool, result: Frame, number: int) -> float | None:
        timed_out = self.error_of(result)[0] == "timeout error" and number < self.attempts
        return self.backoff(number) if timed_out else super().retry_delay(tool, result, number)


@bug(check="unsafe_retry", script="close", calls=REFUND, seen="google/adk-python #2929", twin=Reconnecting)
class RepeatsRefundsAfterReconnecting(Reconnecting):
    """Sends again over the new connection whatever the old one took along, also what must not run twice."""

    def retry_delay(self, tool: Tool, result: Frame, number: int) -> float | None:
        timed_out = self.error_of(result)[0] == "timeout error" and number < self.attempts
        return self.backoff(number) if timed_out else super().retry_delay(tool, result, number)
