"""What became of a saved case: replayed against the client as it is today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fuzzmcp.checks import CHECKS, Violation, judge
from fuzzmcp.core.trace import Run
from fuzzmcp.search.corpus.reading import SavedCase

if TYPE_CHECKING:
    from fuzzmcp.search.job import Job

Status = Literal["fixed", "still fails", "fails differently", "error"]
FIXED: Status = "fixed"
FAILS: Status = "still fails"
FAILS_DIFFERENTLY: Status = "fails differently"
ERROR: Status = "error"


@dataclass(frozen=True)
class Replayed:
    """One saved case, replayed.

    Args:
        saved: The case.
        status: `still fails` if its check is violated, `fails differently` if only others are, `fixed` if none is,
            `error` if the run proves nothing.
        message: One sentence: the violation, or why it is an error.
        run: What happened.
        violations: The checks that were violated, the saved one first.
    """

    saved: SavedCase
    status: Status
    message: str
    run: Run
    violations: dict[str, Violation]


def replayed(saved: SavedCase, job: Job) -> Replayed:
    """Drive a saved case and say what became of it.

    Args:
        saved: The case.
        job: The client, and the checks to ask beside the saved one.
    """
    run = job.drive(saved.case)
    names = [name for name in CHECKS if name == saved.check or name in job.checks]
    found = {name: v for name, v in judge(run, job.contract, names).items() if isinstance(v, Violation)}
    violations = dict(sorted(found.items(), key=lambda item: item[0] != saved.check))
    if violations:
        name, violation = next(iter(violations.items()))
        status = FAILS if name == saved.check else FAILS_DIFFERENTLY
        message = violation.message if status == FAILS else f"{name}: {violation.message}"
        return Replayed(saved, status, message, run, violations)
    if not run.connected or run.stopped:
        return Replayed(saved, ERROR, run.stopped or "the client never got ready", run, {})
    if all(step.plain for step in saved.case.script.steps):
        return Replayed(saved, ERROR, "the script has no fault: this proves nothing", run, {})
    if not run.played:
        why = run.undelivered[0] if run.undelivered else "no request of the client reached a fault of the script"
        return Replayed(saved, ERROR, f"the fault never fired: this proves nothing ({why})", run, {})
    return Replayed(saved, FIXED, f"{saved.check} holds", run, {})
