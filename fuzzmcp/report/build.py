"""From runs and findings to the frozen report: what a search, a campaign or a replay brought home, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fuzzmcp.checks import CHECKS, Violation
from fuzzmcp.core.case import Case
from fuzzmcp.core.config import shown
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.trace import Run
from fuzzmcp.report.model import Report, SavedFinding, Subject, _saved, _told
from fuzzmcp.report.size_limit import within_limit
from fuzzmcp.search.findings import Finding
from fuzzmcp.search.result import Result

if TYPE_CHECKING:  # a replay builds a report too, and it does not wait for Hypothesis
    from fuzzmcp.search.campaign import Outcome


def report_of(
    subject: Subject,
    seed: int,
    result: Result,
    contract: Contract,
    base: Case,
    *,
    files: Mapping[str, str] | None = None,
    known: Sequence[SavedFinding] = (),
    stale: Sequence[str] = (),
) -> Report:
    """Freeze what a search brought home, at a size that can be kept.

    Args:
        subject: What was tested.
        seed: The seed of the search.
        result: What it found.
        contract: What the client promises.
        base: The case that the search started from.
        files: The case file of each finding that is saved, by the finding's name.
        known: Saved findings that failed again: they come before the new ones.
        stale: Names of saved cases that fail no more.
    """
    checks, faults = result.tally.as_json()
    report = Report(
        subject=subject,
        seed=seed,
        runs=result.runs,
        seconds=round(result.seconds, 3),  # once: the saved report shows what was shown at first
        virtual_seconds=round(result.tally.virtual_seconds, 3),
        protocol=base.protocol,
        transport=result.transport or base.transport,
        backend=base.backend,
        tool_count=len(base.tools),
        contract=contract_json(contract),
        findings=(*known, *(saved(subject, finding, (files or {}).get(finding.name)) for finding in result.findings)),
        checks={name: checks[name] for name in CHECKS if name in checks},
        faults=faults,
        undelivered={_told(reason): count for reason, count in sorted(result.tally.undelivered.items())},
        moments=result.moments,
        interrupted=result.interrupted,
        phase=result.phase,
        exposed={name: result.exposed[name].runs for name in CHECKS if name in result.exposed},
        stale=tuple(stale),
    )
    return within_limit(report)


def campaign_report(subject: Subject, outcome: Outcome) -> Report:
    """Freeze what a campaign brought home: saved cases that still fail first, then its new findings.

    Args:
        subject: What was tested.
        outcome: What the campaign brought home.
    """
    plan = outcome.plan
    known = []
    for number, finding in sorted(outcome.result.known.items()):
        case = outcome.replays[number].saved
        file = None if case.path is None else shown(case.path)
        known.append(saved(subject, finding, file, known=case.name in outcome.expected))
    return report_of(
        subject,
        plan.seed,
        outcome.result,
        plan.contract,
        plan.base,
        files={name: shown(path) for name, path in outcome.files.items()},
        known=known,
        stale=outcome.stale,
    )


def saved(subject: Subject, finding: Finding, file: str | None = None, *, known: bool = False) -> SavedFinding:
    """A finding of a search as data.

    Args:
        subject: What was tested.
        finding: The finding.
        file: The case file that keeps it.
        known: It belongs to the baseline.
    """
    found = _saved(
        subject,
        finding.check,
        finding.run,
        finding.violation,
        fingerprint=finding.fingerprint,
        minimal=finding.minimal,
        deterministic=finding.deterministic,
        known=known,
        saved=file,
    )
    if file is None:
        return found
    return replace(found, replay=("fuzzmcp", "replay", subject.client, file, *_beside_a_file(subject.options)))


def _beside_a_file(options: Sequence[str]) -> Iterator[str]:
    """The options of a replay without those that a case file tells itself."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return (
        word
        for name, value in pairs
        if name not in ("--protocol", "--transport", "--backend")
        for word in (name, value)
    )


def violated(subject: Subject, run: Run, violations: Mapping[str, Violation]) -> tuple[SavedFinding, ...]:
    """The violations of one replayed run as data."""
    return tuple(_saved(subject, check, run, violation) for check, violation in violations.items())


def contract_json(contract: Contract) -> dict[str, Any]:
    """A contract as data: exception types by their names."""
    data = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(contract).items()}
    accepts: Sequence[Any] | None = contract.accepts
    data["accepts"] = None if accepts is None else sorted(a if isinstance(a, str) else a.__name__ for a in accepts)
    return data
