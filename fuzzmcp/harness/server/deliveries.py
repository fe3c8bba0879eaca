"""What goes out, and when: deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from fuzzmcp.core.script import Action
from fuzzmcp.core.trace import Answer
from fuzzmcp.harness.server.answers import Reply
from fuzzmcp.harness.server.wire import Frame


class Delivery(NamedTuple):
    """Something due at virtual second `at`: a frame, a raw line, the end of the stream, or the caller's cancellation.

    Where the transport carries bytes, it may be raw bytes (`bytes`), or the rest of a message (`rest`), before which
    nothing else may be sent: `data`. What `frame` and `line` then hold is for people to read.
    `request` is the serial number of the request it belongs to, `action` the part of the script that caused it.
    """

    at: float
    kind: Literal["frame", "line", "close", "cancel", "bytes", "rest"]
    connection: int
    request: int
    frame: Frame | None = None
    line: str = ""
    action: Action | None = None
    answer: Answer | None = None
    data: bytes = b""


def seconds(at: Any) -> float:
    """A moment of the script in seconds after the request; 0 where it says none, or waits for a cancellation."""
    return float(at) if isinstance(at, (int, float)) else 0.0


def moment(at: float) -> float:
    """As the clock rounds it: it would never reach 0.1 + 0.2."""
    return round(at, 9)


def due(at: Any, kind: Any = None, *, frame: Frame | None = None, line: str = "", **parts: Any) -> Delivery:
    """A delivery whose time is still relative to its request; -1 waits for the client's cancellation of it."""
    kind = kind or ("line" if frame is None else "frame")
    return Delivery(-1.0 if at == "cancel" else seconds(at), kind, 0, 0, frame, line, **parts)


def of_answer(answer: Action, reply: Reply, action: Action | None) -> Iterator[Delivery]:
    """What delivers an answer: nothing where it is silence. `action` is the part of the script that asks for it."""
    if reply.closes:
        yield due(answer.at, kind="close", line=reply.remark, action=action)
    elif reply.frame is not None or reply.line is not None:
        yield due(answer.at, frame=reply.frame, line=reply.line or "", action=action, answer=reply.answer)
