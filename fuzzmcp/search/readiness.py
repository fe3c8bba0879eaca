"""What a search learns before it begins: whether the client can be driven at all, and when it gives up by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fuzzmcp.core.case import Case
from fuzzmcp.core.errors import CANNOT_RUN, FuzzmcpError
from fuzzmcp.core.script import Script
from fuzzmcp.core.trace import Outcome, Run


class CannotRun(FuzzmcpError):
    """The client fails before the first call although nothing is wrong with the server."""

    exit_code = CANNOT_RUN

    def __init__(self, run: Run) -> None:
        self.run = run
        error = run.connect_error or (run.outcomes[0].error if run.outcomes else None)
        raised = Outcome(0, "raised", 0.0, 0.0, error=error)
        why = "; ".join(f"{type(error).__name__}: {error}" for error in raised.exceptions)
        why = why or run.stopped or "it never gets ready"
        super().__init__(f"the client fails before the first call, with no fault at all: {why}")


def fails_by_itself(run: Run) -> bool:
    """Whether the first call raised before the server was asked for anything: no fault can be the reason."""
    asked = any(request.method == "tools/call" for request in run.requests)
    return not asked and run.outcomes[:1] != () and run.outcomes[0].status == "raised"


def unready(run: Run) -> bool:
    """Whether the client failed before it had met a server that answers calls."""
    return not run.connected or fails_by_itself(run)


def plain(case: Case) -> Case:
    """The case with nothing wrong with the server."""
    return replace(case, script=Script(), changed=None)


def prove(run: Run) -> None:
    """Let a client that fails in a plain run be run no further.

    Raises:
        CannotRun: It does.
    """
    if unready(run):
        raise CannotRun(run)


def prove_ready(run: Run, drive: Callable[[Case], Run]) -> None:
    """Where a client never got ready under a script, see that it is the script's doing.

    Args:
        run: What happened under the script.
        drive: Drives a case against the client.

    Raises:
        CannotRun: The client does not get ready without any fault either.
    """
    if unready(run):
        prove(drive(plain(run.case)))


def moments(run: Run) -> list[float]:
    """Virtual seconds after a request at which the client moved on without an answer."""
    found = []
    for request in run.requests:
        if request.call is None or any(e.answer and e.request == request.request for e in run.events):
            continue
        later = [e.at for e in run.events if e.at > request.at and e.call == request.call and e.kind != "deliver"]
        found += [round(later[0] - request.at, 6)] if later else []
    return found
