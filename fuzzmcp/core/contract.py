"""What a client promises. Every default is a policy that a client may change, and says so in its contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

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

    >>> Contract(deadline=60, max_requests=3).deadline
    60
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
        for name in ("deadline", "max_requests", "grace", "max_frames", "shutdown"):
            if not getattr(self, name) > 0:
                raise ValueError(f"contract: {name} must be above 0, not {getattr(self, name)!r}")
        for tool, number in self.max_requests_per_tool.items():
            if not number > 0:
                raise ValueError(f"contract: max_requests_per_tool: {tool} must be above 0, not {number!r}")

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
