"""An answer in two pieces, as bytes: where it is cut, and when the rest follows."""

from __future__ import annotations

import json
from typing import Any

from fuzzmcp.core.fault_row import When
from fuzzmcp.harness.server.wire import Frame

LATER = 0.01
"""Seconds between the pieces."""
_NOTE = {"fuzzmcp/note": "sent in two pieces, cut within this character: é"}


def split(frame: Frame | None, line: str | None) -> tuple[Frame | None, bytes, bytes]:
    """The frame as it is sent, and its two pieces; a raw line is cut in the same way.

    >>> split({"jsonrpc": "2.0", "id": 1, "result": {"text": "Grüße"}}, None)[1:]
    (b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "Gr\\xc3', b'\\xbc\\xc3\\x9fe"}}\\n')
    """
    frame = None if frame is None else _with_a_long_character(frame)
    data = (line or "" if frame is None else json.dumps(frame, ensure_ascii=False)).encode()
    cut = next((place for place, byte in enumerate(data) if byte > 127), len(data) // 2 - 1) + 1
    return frame, data[:cut], data[cut:] + b"\n"


def _with_a_long_character(frame: Frame) -> Frame:
    """The frame, with a character of several bytes where it had none and has a place for one."""
    result: Any = frame.get("result")
    if not json.dumps(frame, ensure_ascii=False).isascii() or not isinstance(result, dict):
        return frame
    return {**frame, "result": {**result, "_meta": {**(result.get("_meta") or {}), **_NOTE}}}


def time_of_second_piece(answer: When, asked: When) -> When:
    """When the rest follows, in seconds after the request: a little later than the first piece, or as the script asks.

    >>> time_of_second_piece(None, None), time_of_second_piece(5.0, 20.0), time_of_second_piece("cancel", None)
    (0.01, 20.0, 'cancel')
    """
    if isinstance(answer, str):
        return answer
    return max((answer or 0.0) + LATER, asked if isinstance(asked, float) else 0.0)
