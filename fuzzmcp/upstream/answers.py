"""What plain HTTP says for each fault, as pure functions: an action in, a status, headers and a body out."""

from __future__ import annotations

import email.utils
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from fuzzmcp.core.fault_row import Http
from fuzzmcp.core.script import Action, Step
from fuzzmcp.harness.clock import EPOCH

Hints = Literal["seconds", "decimal", "date"]
HINTS: tuple[Hints, ...] = ("seconds", "decimal", "date")
"""How a `retry-after` header can be written: whole seconds, decimal seconds, an HTTP date."""

_LAST_DATE = 253_402_300_799  # the end of the year 9999, past which no HTTP date can be written


class Backend(Protocol):
    """What a transport asks for an answer: an `Upstream`."""

    def receive(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Any: ...
    async def answer(self, pending: Any, patience: float | None) -> HttpReply: ...
    def answer_blocking(self, pending: Any, patience: float | None) -> HttpReply: ...


@dataclass(frozen=True)
class HttpReply:
    """One HTTP response.

    `body` is what is sent; a truncated one is shorter than its content-length says. `hint` is the retry-after as the
    header announces it, in virtual seconds from the moment of the answer.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    hint: float | None = None


def why_undeliverable(action: Action) -> str | None:
    """Why plain HTTP cannot carry this part of a script, or None when it can.

    >>> why_undeliverable(Action("hang")), why_undeliverable(Action("dup"))
    (None, 'dup: plain HTTP cannot carry it')
    """
    if action.fault.http is None:
        return f"{action}: plain HTTP cannot carry it"
    if action.at == "cancel":
        return f"{action}: a client of plain HTTP that gives up hears nothing more"
    return None


def why_unreachable(step: Step) -> str | None:
    """Why no HTTP request ever takes this step, or None when one can."""
    return None if step.method == "call" else f"{step}: a plain HTTP API has no {step.method} requests"


def build(action: Action, serial: int, now: float, ok: Any, hints: Hints) -> HttpReply:
    """The response for an answer that is sent at once.

    Args:
        action: An answer that HTTP carries and that does come, so neither `hang` nor `close`.
        serial: Number of the request, from 1.
        now: Virtual seconds at which it is sent.
        ok: The body of a success: bytes as they are, anything else as JSON.
        hints: How to write a retry-after.
    """
    http = action.fault.http or Http()
    if not http.kind:
        body = ok if isinstance(ok, bytes) else _json(ok)
        return _reply(http.status, serial, now, body, cut=http.cut)
    error = {"type": http.kind, "message": http.message or str(action.value)}
    body = _json({"type": "error", "error": error, "request_id": _request_id(serial)})
    if action.hint is None:
        return _reply(http.status, serial, now, body)
    header, hint = retry_after(action.hint, now, hints)
    return _reply(http.status, serial, now, body, ("retry-after", header), hint=hint)


def retry_after(seconds: float, now: float, hints: Hints) -> tuple[str, float]:
    """The header for a hint, and the seconds that it really announces: a coarse form says later, never earlier.

    >>> retry_after(2.5, 0.0, "seconds"), retry_after(2.5, 0.0, "decimal")
    (('3', 3.0), ('2.5', 2.5))
    >>> retry_after(2.5, 0.25, "date")
    ('Thu, 01 Jan 2026 00:00:03 GMT', 2.75)
    """
    if hints == "date":
        moment = min(math.ceil(EPOCH + round(now + seconds, 9)), _LAST_DATE)
        return email.utils.formatdate(moment, usegmt=True), round(moment - EPOCH - now, 9)
    if hints == "seconds":
        whole = math.ceil(seconds)
        return str(whole), float(whole)
    return _decimal(seconds), seconds


def _decimal(seconds: float) -> str:
    """Without an exponent, which no header knows."""
    text = repr(seconds)
    if "e" in text:
        text = f"{seconds:.9f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def _reply(
    status: int,
    serial: int,
    now: float,
    body: bytes,
    *more: tuple[str, str],
    hint: float | None = None,
    cut: bool = False,
) -> HttpReply:
    length = max(1, len(body)) if cut else len(body)
    date = email.utils.formatdate(min(math.floor(EPOCH + now), _LAST_DATE), usegmt=True)
    headers = (
        ("date", date),
        ("content-type", "application/json"),
        ("content-length", str(length)),
        ("request-id", _request_id(serial)),
        *more,
    )
    return HttpReply(status, headers, body[: len(body) // 2] if cut else body, hint)


def _request_id(serial: int) -> str:
    return f"req_{serial:06}"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
