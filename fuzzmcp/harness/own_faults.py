"""Faults of fuzzmcp's own in a run: they end it, and are never taken for the client's.

Much of fuzzmcp runs below the client, as the fake server does inside of the client's `send`. An exception there would
come out of the client, who would be judged for it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from fuzzmcp.core.errors import OwnFault

Stop = Callable[[BaseException], None]
_SHARED = (RecursionError, MemoryError)
"""What a client can use up, and what strikes wherever the last bit of it is asked for."""


class HarnessError(OwnFault, RuntimeError):
    """fuzzmcp itself failed: never the client's fault. The cause is the first exception that says how."""

    raised_at: TracebackType | None = None
    """Where the cause was raised: the traceback of an exception that a client has seen is let go with the run."""


def harness_error(error: BaseException, case: object) -> HarnessError:
    """What is raised for an exception of fuzzmcp's own, with what a report of it needs.

    Args:
        error: The exception.
        case: What was played; its `repr` shows how to play it again.
    """
    cause, raised_at = error, error.__traceback__
    if isinstance(error, HarnessError) and error.__cause__ is not None:
        cause, raised_at = error.__cause__, error.raised_at
        cause.__traceback__ = raised_at
    found = HarnessError(
        f"fuzzmcp itself failed, with {type(cause).__name__}: {cause}. The client is not to blame. "
        f"Please report it, with this traceback and the case that shows it: {case!r}"
    )
    found.__cause__, found.raised_at = cause, raised_at
    return found


class Ours:
    """A block of fuzzmcp's own code: an exception that leaves it ends the run with `HarnessError`.

    It goes on into the client, who may do with it what it likes.

    Args:
        stop: Ends the run with an exception.
        case: What is played.

    >>> stopped = []
    >>> try:
    ...     with Ours(stopped.append, "429"):
    ...         {}["bookkeeping"]
    ... except KeyError:
    ...     print(type(stopped[0]).__name__, type(stopped[0].__cause__).__name__)
    HarnessError KeyError
    """

    __slots__ = ("_case", "_stop")

    def __init__(self, stop: Stop, case: object) -> None:
        self._stop, self._case = stop, case

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, Exception):
            self.failed(error)

    def failed(self, error: Exception) -> None:
        """The same without a block, where one would take too long: for an `except` clause that raises it again."""
        if not isinstance(error, _SHARED):
            self._stop(harness_error(error, self._case))
