"""What a search brings home: findings, and the tally of checks and faults."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fuzzmcp.checks import HELD, NOT_EXERCISED, Violation
from fuzzmcp.checks.interpret import interpret
from fuzzmcp.core.case import Case
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.script import OK
from fuzzmcp.core.trace import Event, Outcome, Run


@dataclass(frozen=True)
class Finding:
    """A violated check with its minimal case.

    Args:
        check: Name of the check.
        case: The smallest case that violates it.
        violation: The evidence in that case's run.
        run: What happened.
        minimal: The last pass ran to its end: nothing smaller violates the check. None where nobody tried.
        deterministic: Three replays in fresh sessions agreed to the byte.
        fingerprint: Eight hexadecimal digits that name check, fault kinds and exception type; `-2` behind them where
            another finding of the search has the same digits.
    """

    check: str
    case: Case
    violation: Violation
    run: Run
    minimal: bool | None
    deterministic: bool
    fingerprint: str

    @property
    def name(self) -> str:
        """`check-fingerprint`, as in file names."""
        return f"{self.check}-{self.fingerprint}"

    @property
    def bug(self) -> str:
        """What is the same for two findings of one bug: check, fault kinds, exception type."""
        return _bug(self.check, self.case, self.run, self.violation)


Kinds = tuple[str, ...]


def kinds_of(case: Case) -> Kinds:
    """The sorted fault kinds of a script, with their method where it is not `call`.

    >>> from fuzzmcp.api import case_of
    >>> kinds_of(case_of("list:hang,429*2,ok+dup"))
    ('429', 'dup', 'list:hang')
    """
    found = set()
    for step in case.script.steps:
        prefix = "" if step.method == "call" else f"{step.method}:"
        found |= {prefix + a.kind for a in step.actions if a != OK}
    return tuple(sorted(found))


def bare(kinds: Kinds) -> frozenset[str]:
    """Fault kinds without their methods."""
    return frozenset(kind.rpartition(":")[2] for kind in kinds)


def sentence_of(case: Case, violation: Violation) -> str:
    """A violation's sentence without what differs from case to case: tools, numbers, and what stands in quotes."""
    text = violation.message
    for tool in case.tools:
        text = text.replace(tool.name, "#")
    return re.sub(r"the probe call|'[^']*'|\([^)]*\)|[\d.,]*\d", "#", text)


def fingerprint_of(check: str, case: Case, run: Run, violation: Violation) -> str:
    """Eight hexadecimal digits that stay the same for the same bug: check, fault kinds, exception type."""
    return hashlib.sha256(_bug(check, case, run, violation).encode()).hexdigest()[:8]


def _bug(check: str, case: Case, run: Run, violation: Violation) -> str:
    outcome = next((o for o in (*run.outcomes, run.probe) if o is not None and o.call == violation.call), None)
    error = type(outcome.error).__name__ if outcome is not None and outcome.error is not None else ""
    return "|".join((check, *kinds_of(case), error))


def short(name: str) -> str:
    """The name that older versions gave to the same finding: four digits.

    >>> short("spend_cap-c8ce1f0a"), short("spend_cap-c8ce")
    ('spend_cap-c8ce', 'spend_cap-c8ce')
    """
    return _LONG.sub(r"\1", name)


_LONG = re.compile(r"(?<=-)([0-9a-f]{4})[0-9a-f]{4}(-\d+)?$")


def numbered(name: str) -> Iterator[str]:
    """Names for what would have the same name, endless.

    >>> list(itertools.islice(numbered("c8ce1f0a"), 3))
    ['c8ce1f0a', 'c8ce1f0a-2', 'c8ce1f0a-3']
    """
    return itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))


def shape_of(run: Run) -> tuple[Any, ...]:
    """What must be the same in every replay of a case: all but the ids, which a client may count up for ever."""
    events = tuple((e.at, e.kind, e.call, e.method, str(e.action), str(e.site)) for e in run.events)
    endings = tuple((o.call, o.status, o.ended, type(o.error).__name__) for o in (*run.outcomes, run.probe) if o)
    return events, endings, run.leaks, run.blocked


@dataclass
class Tally:
    """Counts over all runs of a search."""

    checks: dict[str, Counter[str]] = field(default_factory=dict)
    injected: Counter[str] = field(default_factory=Counter)
    reactions: dict[str, Counter[str]] = field(default_factory=dict)
    undelivered: Counter[str] = field(default_factory=Counter)
    unreached: int = 0
    virtual_seconds: float = 0.0

    def add(self, run: Run, verdicts: dict[str, Any], contract: Contract | None = None) -> None:
        """Count one run; the contract says which words are those of an error."""
        self.virtual_seconds += run.ended
        for name, verdict in verdicts.items():
            word = verdict.replace(" ", "_") if isinstance(verdict, str) else "violated"
            self.checks.setdefault(name, Counter())[word] += 1
        for serial, action in run.played:
            self.injected[action.name] += 1
            if action.fault.role == "answer" or "caller" in action.fault.ways:
                self.reactions.setdefault(action.name, Counter())[reaction(run, serial, contract)] += 1
        self.unreached += len(run.unreached)
        for reason in run.undelivered:
            self.undelivered[reason] += 1

    def as_json(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The `checks` and `faults` parts of the report."""
        words = (HELD, "violated", NOT_EXERCISED.replace(" ", "_"))
        checks = {name: {word: counts[word] for word in words} for name, counts in self.checks.items()}
        faults = {
            name: {
                "injected": self.injected[name],
                "reactions": dict(sorted(self.reactions.get(name, Counter()).items())),
            }
            for name in sorted(self.injected)
        }
        return checks, faults


def reaction(run: Run, serial: int, contract: Contract | None = None) -> str:
    """How the client reacted to the fault on one request, in two or three words."""
    request = next((e for e in run.requests if e.request == serial), None)
    if request is None:
        return "nothing"
    if request.call is not None and _was_sent_again(run, request):
        return "sent again"
    call = 0 if run.role == "agent" else request.call
    outcome = next((o for o in run.outcomes if o.call == call), None)
    if outcome is None:
        return "connecting failed" if not run.connected else "no call hit"
    return _words(outcome, contract or Contract())


def _was_sent_again(run: Run, request: Event) -> bool:
    """Looked for from the end: of thousands of requests, a client that goes on for ever sent most last of all."""
    later = itertools.takewhile(lambda event: event is not request, reversed(run.requests))
    return any(event.call == request.call and event.method == request.method for event in later)


def _words(outcome: Outcome, contract: Contract) -> str:
    if outcome.status == "raised":
        error = outcome.exceptions[0] if outcome.exceptions else outcome.error
        return f"raised {type(error).__name__}"
    if outcome.status == "returned":
        return "returned an error" if contract.is_error(interpret(outcome.value)) else "returned"
    return outcome.status
