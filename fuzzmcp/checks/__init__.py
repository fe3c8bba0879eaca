"""The rules: each check is a predicate over a recorded run, and one row of `CHECKS`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fuzzmcp.checks import answers, client_messages, endings, protocol, retries
from fuzzmcp.checks.facts import HELD, NOT_EXERCISED, Facts, Violation
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.spelling import unknown
from fuzzmcp.core.trace import Run


class CheckFailed(AssertionError):
    """A run broke the demand of a check. Each check has a subclass of its own, so that each shrinks by itself.

    Args:
        violation: The evidence.
        told: Makes the whole text where more is to be told than the violation: once somebody reads it.
    """

    check: str = ""

    def __init__(
        self,
        violation: Violation,
        others: Mapping[str, Violation] | None = None,
        told: Callable[[], str] | None = None,
    ) -> None:
        self.violation, self.others, self._told = violation, dict(others or {}), told
        """What broke the demand; and what broke those of other checks in the same run, by their names."""
        more = "".join(f"\nalso {name}: {other.message}" for name, other in self.others.items())
        super().__init__(f"{self.check}: {violation.message}{more}")

    def __str__(self) -> str:
        return super().__str__() if self._told is None else self._told()


@dataclass(frozen=True)
class Check:
    """One row: the demand in one sentence, the reason with its source, the advice, and the function that judges."""

    name: str
    judge: Callable[[Facts, Contract], Any]
    demands: str
    why: str
    advice: str
    failure: type[CheckFailed]


def _row(judge: Callable[[Facts, Contract], Any]) -> Check:
    name = judge.__name__
    text = inspect.cleandoc(judge.__doc__ or "")
    demands, _, rest = text.partition("\n\nWhy: ")
    why, _, advice = rest.partition("\nDo: ")
    failure = type(f"{name.title().replace('_', '')}Failed", (CheckFailed,), {"check": name, "__module__": __name__})
    return Check(name, judge, _one_line(demands), _one_line(why), _one_line(advice), failure)


def _one_line(text: str) -> str:
    return " ".join(text.split())


CHECKS: dict[str, Check] = {
    check.name: check
    for check in map(
        _row,
        (
            endings.finishes,
            endings.expected_errors,
            answers.right_answer,
            answers.drift_caught,
            answers.valid_accepted,
            answers.error_channels,
            retries.request_budget,
            retries.retry_after,
            retries.spend_cap,
            retries.no_pointless_retry,
            retries.backoff,
            retries.unsafe_retry,
            protocol.relists,
            protocol.cancels,
            endings.isolation,
            protocol.traffic,
            protocol.peer_duties,
            endings.survives,
            endings.cleans_up,
            endings.never_blocks,
            client_messages.wire_valid,
        ),
    )
}
"""Every check by name, in the order of the reports."""


def judge(run: Run, contract: Contract | None = None, names: Iterable[str] | None = None) -> dict[str, Any]:
    """The verdict of every check on a run: `"held"`, `"not exercised"` or a `Violation`.

    Args:
        run: What happened.
        contract: What the client promises; the defaults when None.
        names: Checks to ask; all when None.

    Raises:
        ValueError: There is no such check.
    """
    facts, contract = Facts(run), contract or Contract()
    return {name: CHECKS[name].judge(facts, contract) for name in (CHECKS if names is None else known(names))}


def raise_first(violations: Mapping[str, Violation]) -> None:
    """Fail by the first violation, if there is one; its message has the others too.

    Args:
        violations: What was violated, by the name of the check.

    Raises:
        CheckFailed: There is one.

    >>> try:
    ...     raise_first({"backoff": Violation("it waits too short"), "relists": Violation("it never listed again")})
    ... except CheckFailed as failed:
    ...     print(type(failed).__name__, failed, sep="\\n")
    BackoffFailed
    backoff: it waits too short
    also relists: it never listed again
    """
    __tracebackhide__ = True
    for first, violation in violations.items():
        others = {name: other for name, other in violations.items() if name != first}
        raise CHECKS[first].failure(violation, others)


def known(names: Iterable[str]) -> tuple[str, ...]:
    """The names, once it is sure that each is a check.

    Raises:
        ValueError: One is not; the message has the nearest.

    >>> known(["spend_cap"])
    ('spend_cap',)
    """
    if isinstance(names, str):
        raise ValueError(f"expected a list of checks, as [{names!r}], found the text {names!r}")
    found = tuple(names)
    for name in found:
        if name not in CHECKS:
            raise ValueError(unknown("check", name, CHECKS))
    return found


__all__ = [
    "CHECKS",
    "HELD",
    "NOT_EXERCISED",
    "Check",
    "CheckFailed",
    "Facts",
    "Violation",
    "judge",
    "known",
    "raise_first",
]
