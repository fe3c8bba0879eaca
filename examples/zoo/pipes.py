"""Bugs in how a client reads the pipes of a server that it starts by itself: bytes come as they like.

The twin is a client that gets them right, over `server.open_process`, which stands for `anyio.open_process`.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import anyio

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client
from fuzzmcp.examples.zoo.session import Closed, Frame, Pending


class Writer:
    """Writes lines into a pipe."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe

    async def send(self, line: str) -> None:
        await self.pipe.send(line.encode() + b"\n")


class StartsItsServer(Client):
    """The reference over the pipes of a process: lines are cut from bytes, and decoded one by one."""

    async def connect(self) -> None:
        self.process = await self.server.open_process(["python", "-m", "crm_server"])
        self.opened.push_async_callback(self.stop)
        self.read, self.write = self.lines(), Writer(self.process.stdin)
        self.rest = b""

    async def stop(self) -> None:
        """As MCP, basic/lifecycle, has it: end its stdin, wait, and end it where that does not help."""
        with anyio.CancelScope(shield=True):
            await self.process.stdin.aclose()
            with anyio.move_on_after(2):
                await self.process.wait()
            if self.process.returncode is None:
                with suppress(ProcessLookupError):
                    self.process.terminate()
            await self.process.aclose()

    async def lines(self) -> AsyncIterator[str]:
        async for chunk in self.process.stdout:
            for line in self.cut(chunk):
                yield self.text_of(line)

    def cut(self, chunk: bytes) -> list[bytes]:
        """The lines that are whole; what is left waits for its rest."""
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        return lines

    def text_of(self, line: bytes) -> str:
        """A line as text; one in another encoding is no message, and does no harm."""
        return line.decode(errors="replace")


@bug(check="survives", script="badutf8", seen="modelcontextprotocol/python-sdk #2454", twin=StartsItsServer)
class DiesOfForeignText(StartsItsServer):
    """Expects UTF-8 of whatever is printed on the server's stdout."""

    def text_of(self, line: bytes) -> str:
        return line.decode()


@bug(check="valid_accepted", script="split", seen="common mistake: a read is taken for a line", twin=StartsItsServer)
class ForgetsTheRest(StartsItsServer):
    """Takes the end of what was read for the end of a line."""

    def cut(self, chunk: bytes) -> list[bytes]:
        return chunk.splitlines()


@bug(check="valid_accepted", script="log", seen="common mistake: one read, one message", twin=StartsItsServer)
class TakesReadsForMessages(StartsItsServer):
    """Collects what was read until it ends with a line, and takes that for one message."""

    def cut(self, chunk: bytes) -> list[bytes]:
        self.rest += chunk
        whole, self.rest = (self.rest, b"") if self.rest.endswith(b"\n") else (b"", self.rest)
        return [whole] if whole else []


_REASONS = {0: "it was done", -9: "it was killed", -15: "it was terminated"}


@bug(check="expected_errors", script="exit", seen="common mistake: a table of statuses", twin=StartsItsServer)
class NamesTheReason(StartsItsServer):
    """Says why the server ended, from a table that lacks the commonest status."""

    def surfaced(self, pending: Pending) -> Frame:
        if pending.frame is None and self.process.returncode is not None:
            raise Closed(_REASONS[self.process.returncode])
        return super().surfaced(pending)
