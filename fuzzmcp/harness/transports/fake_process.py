"""A fake child process: the fake server behind pipes that carry bytes, as a process of anyio looks to its parent.

The server runs inside `stdin.send`, as in streams of messages, and what it sends is read from `stdout` as bytes: what
is due at one moment comes in one piece, as from a real pipe. Everything happens in virtual time, and no process starts.
Errors are those that a real child causes: writing to one that has ended is a broken resource, on either loop.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.lowlevel import checkpoint

from fuzzmcp.core.protocol import STDIO
from fuzzmcp.core.script import Action
from fuzzmcp.harness.tasks import Settled
from fuzzmcp.harness.transports.attribution import WriterAttribution
from fuzzmcp.harness.transports.streams import LINES, Form, Inbox
from fuzzmcp.harness.transports.wire import Wire

FIRST_PID = 2**30
"""No system gives a process such a number: a signal that is meant for a fake one can never reach a real one."""


def _encoded(line: str) -> bytes:
    return line.encode() + b"\n"


def _json_of(line: bytes) -> Any:
    """The JSON value of a line; the line itself, which is no message, where it holds none."""
    try:
        return LINES.json_of(line.decode())
    except UnicodeDecodeError:
        return line


BYTES = Form(lambda frame: _encoded(LINES.of_frame(frame)), _encoded, _json_of)


async def open_process(wire: Wire, attribution: WriterAttribution | None = None) -> FakeProcess:
    """Start a fake child process, which is a new connection to the fake server of `wire`.

    Args:
        wire: Joins it to the client.
        attribution: Says whose request is written, where the context of the one that writes does not.
    """
    await checkpoint()
    return FakeProcess(wire, attribution)


class Stdout(ByteReceiveStream):
    """The pipe that the parent reads."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._rest = b""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        if max_bytes < 1:
            raise ValueError("max_bytes must be a positive integer")
        if self._rest and not self._inbox.closed:
            await checkpoint()
        else:
            self._rest = await self._inbox.receive()
        self._rest += b"".join(self._inbox.waiting())
        found, self._rest = self._rest[:max_bytes], self._rest[max_bytes:]
        return found

    async def aclose(self) -> None:
        self._inbox.close()
        await checkpoint()


class Stdin(ByteSendStream):
    """The pipe that the parent writes: each line runs the fake server. It is a `WriteEnd`."""

    def __init__(self, wire: Wire, connection: int, process: FakeProcess) -> None:
        self._wire, self._connection, self.process = wire, connection, process
        self._rest = b""
        self.closed = self.broken = self.dropped = False

    async def send(self, item: bytes) -> None:
        if self.closed:
            raise anyio.ClosedResourceError
        if self.process.returncode is not None:
            raise anyio.BrokenResourceError
        *lines, self._rest = (self._rest + item).split(b"\n")
        for line in lines:
            with self._wire.ours:
                frame = _json_of(line)
            await self._wire.send(self._connection, frame)
        if not lines:
            await checkpoint()

    def drop(self, action: Action | None) -> None:
        """The server closes its stdout: it lives on until its stdin ends, unless the script lets it exit."""
        self.broken = self.dropped = True
        if action is not None and action.fault.value_kind == "status":
            self.process.exit(int(action.value))  # type: ignore[arg-type]

    async def aclose(self) -> None:
        self.close()
        await checkpoint()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._wire.hung_up(self._connection)
            self.process.stdin_ended()


class FakeProcess(Process):
    """What `anyio.open_process` gives, without a process: a connection to the fake server of the run.

    It ends as servers do: when its stdin ends, as soon as it is not blocked; or by a signal, at once.
    """

    def __init__(self, wire: Wire, attribution: WriterAttribution | None = None) -> None:
        self._wire = wire
        self._event = wire.main_thread.event_maker()
        self._inbox = Inbox(BYTES, self._event)
        self._stdin, connection = wire.attach(
            self._inbox, lambda connection: Stdin(wire, connection, self), STDIO, attribution
        )
        self._pid = FIRST_PID + connection
        self._connection = connection
        self._stdout = Stdout(self._inbox)
        self._code: int | None = None
        self._ended: Settled | None = None

    def exit(self, code: int) -> None:
        """End: what was written before can still be read, and nothing follows."""
        with self._wire.ours:
            if self._code is None:
                self._code = code
                self._stdin.broken = True
                self._inbox.end()
                if self._ended is not None:
                    self._ended.set()

    def stdin_ended(self) -> None:
        """A server that sees its stdin end is done; one that is blocked sees it later."""
        with self._wire.ours:
            later = self._wire.free_at()
            if later is None:
                self.exit(0)
            else:
                self._wire.at(later, self.stdin_ended)

    # -- as anyio's processes ------------------------------------------------------------------------------------------

    async def wait(self) -> int:
        await checkpoint()
        while self._code is None:
            self._ended = self._ended or self._event()
            await self._ended.wait()
        return self._code

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(getattr(signal, "SIGKILL", signal.SIGTERM))

    def send_signal(self, signal: int) -> None:
        if self._code is None:
            with self._wire.ours:
                self._wire.note("hang_up", connection=self._connection, text=_signal_name(signal))
                self.exit(-signal)
        elif _on_asyncio():  # trio's processes do not mind
            raise ProcessLookupError

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._stdin.aclose()
            await self._stdout.aclose()
        try:
            await self.wait()
        except BaseException:
            if self._code is None:
                self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def returncode(self) -> int | None:
        return self._code

    @property
    def stdin(self) -> ByteSendStream:
        return self._stdin

    @property
    def stdout(self) -> ByteReceiveStream:
        return self._stdout

    @property
    def stderr(self) -> None:
        return None


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _on_asyncio() -> bool:
    with suppress(RuntimeError):
        return asyncio.get_running_loop() is not None
    return False
