"""How a run can end badly."""

from __future__ import annotations

from typing import NoReturn


class Deadlock(RuntimeError):
    """Nothing can happen any more: no callback is ready, no timer is set and no thread is at work."""


class LoopStalled(BaseException):
    """Raised into the code on the loop's thread which keeps the loop from turning."""

    def __init__(self, message: str = "the loop does not turn: this code works or waits without awaiting") -> None:
        super().__init__(message)


class Exhausted(BaseException):
    """Ends a teardown that would never end by itself. Never leaves `VirtualClock.run`."""


def raise_exhausted() -> NoReturn:
    raise Exhausted


class RunOver(SystemExit):
    """Ends a thread that sleeps when its run ends: `while True: time.sleep(1)` would go on for ever."""


def find(error: BaseException | None, kind: type[BaseException]) -> BaseException | None:
    """The first `kind` in an exception, its groups and its causes."""
    if error is None or isinstance(error, kind):
        return error
    members: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return next(filter(None, (find(member, kind) for member in (*members, error.__cause__))), None)
