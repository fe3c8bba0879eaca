"""What a client promises. Every default is a policy that a client may change, and says so in its contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fuzzmcp.core.limits import Limits
from fuzzmcp.core.trace import Reading

_MISTAKES: tuple[type[BaseException], ...] = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RecursionError,
    StopAsyncIteration,
    StopIteration,
    TypeError,
    UnicodeError,
    ZeroDivisionError,
)

# -- what a field may be ----------------------------------------------------------------------------------------------


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"contract: {name} must be a number of seconds, as in {name}=60, not {_found(value)}")
    if not value > 0:
        raise ValueError(f"contract: {name} must be above 0, not {value!r}")
    return value


def _count(name: str, value: Any) -> int:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not value > 0:
        raise ValueError(f"contract: {name} must be above 0, not {value!r}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"contract: {name} must be a whole number, as in {name}=4, not {_found(value)}")
    return value


def _counts(name: str, value: Any) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        raise TypeError(f"contract: {name} must be a mapping, as in {name}={{'get_order': 2}}, not {_found(value)}")
    for tool, number in value.items():
        if not isinstance(tool, str):
            raise TypeError(f"contract: {name} must have names of tools as its keys, not {_found(tool)}")
        _count(f"{name}: {' '.join(tool.split())}", number)
    return value


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"contract: {name} must be True or False, not {_found(value)}")
    return value


def _several(name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, (list, set, frozenset)):
        return tuple(value if isinstance(value, list) else sorted(value, key=str))
    if not isinstance(value, tuple):
        one = _found(value) if isinstance(value, (str, type)) else "'…'"
        raise TypeError(f"contract: {name} must be a tuple, as in {name}=({one},), not {_found(value)}")
    return value


def _words(name: str, value: Any) -> tuple[str, ...]:
    for word in (words := _several(name, value)):
        if not isinstance(word, str):
            raise TypeError(f"contract: {name} must be texts, not {_found(word)}")
    return words


def _exceptions(name: str, value: Any) -> tuple[type[BaseException] | str, ...] | None:
    kinds = None if value is None else _several(name, value)
    for kind in kinds or ():
        if isinstance(kind, str) and not kind.isidentifier():
            raise ValueError(
                f"contract: {name} must be exception types or their bare names, as in 'TimeoutError', not {kind!r}"
            )
        if not isinstance(kind, str) and not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise TypeError(f"contract: {name} must be exception types or their names, not {_found(kind)}")
    return kinds


def _found(value: Any) -> str:
    """A value for a message, as one would write it, on one short line."""
    text = value.__name__ if isinstance(value, type) else " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


_FIELDS: Mapping[str, Callable[[str, Any], Any]] = {
    "deadline": _seconds,
    "max_requests": _count,
    "accepts": _exceptions,
    "grace": _seconds,
    "max_frames": _count,
    "shutdown": _seconds,
    "jitter": _flag,
    "protocol_errors_as_results": _flag,
    "max_requests_per_tool": _counts,
    "error_words": _words,
    "errors_as_text": _flag,
}


@dataclass(frozen=True)
class Contract:
    """What this client promises.

    Args:
        deadline: Virtual seconds within which every call settles.
        max_requests: Requests that one call may cost.
        max_requests_per_tool: The same for a call of one tool, by its name; `max_requests` is for the others.
        accepts: Exception types, or their names, that may come out of a call. None accepts every `Exception` but those
            that are programming mistakes (`TypeError`, `KeyError`, `AttributeError` …).
        grace: Virtual seconds for what must follow promptly: settling after a cancellation, answering a ping.
        max_frames: Messages that the client may send in one run.
        shutdown: Virtual seconds that closing the session may take.
        jitter: The client draws its waits at random, so that a later wait may be shorter than an earlier one.
        protocol_errors_as_results: The client may hand a protocol error back as an error result instead of raising.
        error_words: How a text begins that tells of an error, where the client answers a model in words, without an
            error flag.
        errors_as_text: The client answers a model in words and hands it an execution error's own text, without flag
            or words around it: where the text is, the error has surfaced.

    Raises:
        TypeError: A field is of another type; the message names the field, and what to write.
        ValueError: No client can promise that: no time, no requests, an exception type without a name.

    >>> Contract(deadline=60, max_requests=3).deadline
    60
    >>> Contract(accepts="TimeoutError")
    Traceback (most recent call last):
    TypeError: contract: accepts must be a tuple, as in accepts=('TimeoutError',), not 'TimeoutError'
    """

    deadline: float = 300.0
    max_requests: int = 4
    accepts: tuple[type[BaseException] | str, ...] | None = None
    grace: float = 5.0
    max_frames: int = 1_000
    shutdown: float = 60.0
    jitter: bool = False
    protocol_errors_as_results: bool = False
    max_requests_per_tool: Mapping[str, int] = field(default_factory=dict, hash=False)
    error_words: tuple[str, ...] = ()
    errors_as_text: bool = False

    def __post_init__(self) -> None:
        for name, taken in _FIELDS.items():
            object.__setattr__(self, name, taken(name, getattr(self, name)))

    @cached_property
    def limits(self) -> Limits:
        """Where the harness cuts a run short, so that a broken promise can still be seen."""
        return Limits(self.deadline, self.max_frames, self.shutdown, self.grace)

    def requests_for(self, tool: str) -> int:
        """Requests that one call of this tool may cost.

        >>> Contract(max_requests=3, max_requests_per_tool={"refund_order": 1}).requests_for("refund_order")
        1
        """
        return self.max_requests_per_tool.get(tool, self.max_requests)

    def is_error(self, reading: Reading) -> bool:
        """Whether a caller takes what was returned for an error: by its flag, its shape, or its first words.

        >>> Contract(error_words=("Error: ",)).is_error(Reading(text="Error: no such order"))
        True
        """
        return reading.says_error or (reading.is_error is None and reading.text.startswith(self.error_words))

    def accepts_error(self, error: BaseException) -> bool:
        """Whether this exception may come out of a call."""
        if self.accepts is None:
            return isinstance(error, Exception) and not isinstance(error, _MISTAKES)
        names = {kind.__name__ for kind in type(error).__mro__}
        return any(kind in names if isinstance(kind, str) else isinstance(error, kind) for kind in self.accepts)
