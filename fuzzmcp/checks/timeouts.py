"""Whether an exception says that the client gave up waiting.

Its type says so. Its words are the last resort, for frameworks that put a timeout into an exception of a general kind;
and a server may speak of timeouts too. So words that stand in an answer are the server's, whoever raises them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import re
from collections.abc import Iterable, Iterator, Sequence

from fuzzmcp.core.trace import Event

_TYPES = (TimeoutError, asyncio.TimeoutError, concurrent.futures.TimeoutError)
"""One type since Python 3.11, three before."""
_CODES = (-32001, 408)
"""With these codes the SDK raises an `MCPError`, in 1.x an `McpError`, for a request that was not answered in time."""
_NAMED = re.compile(r"timed_?out|timeout", re.IGNORECASE)
_SPOKEN = re.compile(r"timed out|timeout")
_BEFORE, _BEHIND = re.compile(r"\w+\W+$"), re.compile(r"\w*\W+\w+")
_REACH = 40
"""Characters in which the words next to it are looked for: an answer may be one word of a million."""


def gave_up(errors: Iterable[BaseException], answered: Sequence[Event]) -> bool:
    """Whether one of the exceptions, or what it was raised from, is a timeout of the client's own.

    Args:
        errors: What came out of a call.
        answered: The answers that were delivered to it.

    >>> gave_up([TimeoutError()], []), gave_up([ValueError("no order")], [])
    (True, False)
    >>> server = Event(5.0, "deliver", text="the backend timed out")
    >>> gave_up([RuntimeError("the backend timed out")], [server]), gave_up([RuntimeError("call timed out")], [server])
    (False, True)
    """
    return any(_is_timeout(error, answered) for one in errors for error in _with_causes(one))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what it was raised from, and the members of those that are groups, each once."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            members = getattr(one, "exceptions", ())
            left += members if isinstance(members, tuple) else ()
            left += [one.__cause__] if one.__cause__ is not None else []


def _is_timeout(error: BaseException, answered: Sequence[Event]) -> bool:
    if isinstance(error, _TYPES):
        return True
    code = _code_of(error)
    if code in _CODES and all(event.answer is None or event.answer.code != code for event in answered):
        return True
    text = str(error).lower()
    spoken = [match.span() for match in _SPOKEN.finditer(text)]
    if spoken:
        heard = tuple(_texts(answered))
        return any(not _is_told(text, start, end, heard) for start, end in spoken)
    return any(_NAMED.search(kind.__name__) for kind in type(error).__mro__)


def _code_of(error: BaseException) -> object:
    """The JSON-RPC code of an exception of the SDK."""
    if not any(kind.__name__ in ("McpError", "MCPError") for kind in type(error).__mro__):
        return None
    return getattr(getattr(error, "error", None), "code", None)


def _is_told(text: str, start: int, end: int, heard: Sequence[str]) -> bool:
    """Whether the words there, with the one before or the one behind them, stand in an answer."""
    before = _BEFORE.search(text[max(0, start - _REACH) : start])
    behind = _BEHIND.match(text[end : end + _REACH])
    parts = [before[0] + text[start:end]] if before else []
    parts += [text[start:end] + behind[0]] if behind else []
    return any(part in answer for part in parts or [text[start:end]] for answer in heard)


def _texts(answered: Sequence[Event]) -> Iterator[str]:
    for event in answered:
        yield event.text.lower()
        if event.answer is not None:
            yield event.answer.text.lower()
        if event.frame is not None:
            yield json.dumps(event.frame, ensure_ascii=False, default=str).lower()
