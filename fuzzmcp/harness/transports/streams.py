"""The streams of a connection: what they carry, the client's read stream, and its write stream.

They are duck-typed as the SDK's own transports are: `async with`, `async for`, `send`, `receive` and `aclose`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import anyio

from fuzzmcp.core.script import Action
from fuzzmcp.harness import sdk
from fuzzmcp.harness.server import Delivery
from fuzzmcp.harness.tasks import Settled


class Receiver(Protocol):
    """What a write stream needs of the other side."""

    def send(self, connection: int, frame: Any) -> Awaitable[None]: ...
    def hung_up(self, connection: int) -> None: ...


@dataclass(frozen=True)
class Form:
    """What the streams of a connection carry: items made of frames and of raw lines, and the JSON of what was sent."""

    of_frame: Callable[[dict[str, Any]], Any]
    of_line: Callable[[str], Any]
    json_of: Callable[[Any], Any]


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# `json.dumps` and `json.loads` with an option make a coder for each frame, which takes longer than most frames do.
_line_of: Callable[[dict[str, Any]], str] = json.JSONEncoder(ensure_ascii=False).encode
_value_of: Callable[[str], Any] = json.JSONDecoder(parse_constant=_no_json).decode


def _json_of(line: str | bytes) -> Any:
    """The JSON value of a line; the line itself, which is no message, where it holds none."""
    try:
        return _value_of(line) if isinstance(line, str) else json.loads(line, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return line


MESSAGES = Form(sdk.parse_frame, sdk.parse_line, sdk.dump)
LINES = Form(_line_of, str, _json_of)


class Inbox:
    """The client's read stream."""

    def __init__(self, form: Form, event: Callable[[], Settled] = anyio.Event) -> None:
        self.form = form
        self.held: list[Delivery] | None = None
        """What has to wait for the rest of a message that was begun; None where none was."""
        self._event = event
        self._items: deque[Any] = deque()
        self._news: Settled | None = None
        self._ended = False
        self.closed = False

    @property
    def _closed(self) -> bool:
        """What anyio's memory streams call it: google-adk looks there for a session to be replaced."""
        return self.closed

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._wake()

    def end(self) -> None:
        """Nothing follows: the server closed the stream."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    def waiting(self) -> list[Any]:
        """What has come and was not received, which is thereby received."""
        items = list(self._items)
        self._items.clear()
        return items

    async def receive(self) -> Any:
        while True:
            if self.closed:
                raise anyio.ClosedResourceError
            if self._items:
                return self._items.popleft()
            if self._ended:
                raise anyio.EndOfStream
            if self._news is None:
                self._news = self._event()
            await self._news.wait()

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        self.closed = True
        self._wake()

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Inbox:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()


class WriteEnd(Protocol):
    """What a connection's far side knows of the end that the client writes to.

    `broken` says that nothing is delivered any more, `dropped` that this was the server's doing.
    """

    @property
    def closed(self) -> bool: ...
    @property
    def broken(self) -> bool: ...
    @property
    def dropped(self) -> bool: ...

    def drop(self, action: Action | None) -> None:
        """The server closes the connection; `action` is the part of the script that says so."""


class Outbox:
    """The client's write stream: sending runs the fake server."""

    def __init__(self, wire: Receiver, connection: int, form: Form) -> None:
        self._wire, self._connection, self._form = wire, connection, form
        self.closed = False
        self.broken = False

    @property
    def _closed(self) -> bool:
        """As in `Inbox`."""
        return self.closed

    @property
    def dropped(self) -> bool:
        """Whether the server has closed the connection."""
        return self.broken

    def drop(self, action: Action | None) -> None:
        """The server closes the connection."""
        self.broken = True

    async def send(self, item: Any) -> None:
        if self.closed:
            raise anyio.ClosedResourceError
        if self.broken:
            raise anyio.BrokenResourceError
        await self._wire.send(self._connection, self._form.json_of(item))

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._wire.hung_up(self._connection)

    async def __aenter__(self) -> Outbox:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.close()
