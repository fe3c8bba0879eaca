"""From runs and findings to the frozen report of a search, a campaign or a replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fuzzmcp.checks import CHECKS, Violation
from fuzzmcp.core.case import Case
from fuzzmcp.core.case_codec import SETTINGS, options_of, to_data
from fuzzmcp.core.config import shown
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.redact import redacted_case, redacted_text
from fuzzmcp.core.trace import Run
from fuzzmcp.harness import sdk
from fuzzmcp.report.escape import one_line
from fuzzmcp.report.model import Report, SavedFinding, Subject
from fuzzmcp.report.size_limit import within_limit
from fuzzmcp.report.timeline import timeline
from fuzzmcp.search.findings import Finding
from fuzzmcp.search.result import Result

if TYPE_CHECKING:  # a replay builds a report too, and it does not wait for Hypothesis
    from fuzzmcp.search.campaign import Outcome
    from fuzzmcp.search.job import Job


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
    """The report of a search, within the size limit.

    Args:
        subject: The client and the settings of the test.
        seed: The seed of the search.
        result: The outcome of the search.
        contract: The promises of the client.
        base: The case that the search started from.
        files: The case file of each finding that is saved, by the finding's name.
        known: Saved findings that failed again. They come before the new ones.
        stale: Names of saved cases that no longer fail.
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


def subject_of(job: Job) -> Subject:
    """The client of a job, and the settings of its test."""
    return Subject(job.client, job.target.role, sdk.VERSION, job.catalogue, job.repeated, job.calls_configured)


def campaign_report(subject: Subject, outcome: Outcome) -> Report:
    """The report of a campaign: first the saved cases that still fail, then the new findings."""
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
        plan.job.contract,
        plan.job.case,
        files={name: shown(path) for name, path in outcome.files.items()},
        known=known,
        stale=outcome.stale,
    )


def saved(subject: Subject, finding: Finding, file: str | None = None, *, known: bool = False) -> SavedFinding:
    """A finding of a search as data.

    Args:
        subject: The client and the settings of the test.
        finding: The finding.
        file: The case file that keeps the finding; None if there is none.
        known: The finding belongs to the baseline.
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
    """The options of a replay of a case file; the file itself tells the protocol, the transport and the backend."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return (word for name, value in pairs if name.removeprefix("--") not in SETTINGS for word in (name, value))


def violated(subject: Subject, run: Run, violations: Mapping[str, Violation]) -> tuple[SavedFinding, ...]:
    """The violations of one replayed run as data."""
    return tuple(_saved(subject, check, run, violation) for check, violation in violations.items())


def _saved(subject: Subject, check: str, run: Run, violation: Violation, **more: Any) -> SavedFinding:
    case = redacted_case(run.case)
    return SavedFinding(
        check=check,
        faults=str(case.script),
        calls=() if subject.role == "agent" else tuple(map(str, case.calls)),
        message=_told(violation.message, 300),
        requests=timeline(run, violation.evidence),
        case=case_json(case, subject.role),
        replay=replay_of(subject, case),
        **more,
    )


def _told(text: str, limit: int = 200) -> str:
    """What is said in one line, without secrets."""
    return one_line(redacted_text(text), limit)


def case_json(case: Case, role: str = "client") -> dict[str, Any]:
    """A case as data that repeats it: values that are defaults, or are never used, are left out.

    >>> from fuzzmcp.api import case_of
    >>> case_json(case_of("hang"))["calls"]
    [{'tool': 'get_order', 'arguments': {'order_id': 'A1'}}]
    """
    return to_data(case, always=("calls", *SETTINGS), without=() if role == "client" else ("calls",))


def replay_of(subject: Subject, case: Case) -> tuple[str, ...]:
    """The words of the command that drives this case again: only options that differ from their defaults.

    Everything of the case is in it but for its catalogue, which the subject's options name, and what follows from the
    script, as the changed catalogue does.
    """
    said = options_of(
        case,
        always=("calls",) if subject.calls_configured else (),
        without=() if subject.role == "client" else ("calls",),
    )
    return ("fuzzmcp", "replay", subject.client, str(case.script), *said, *subject.options)


def contract_json(contract: Contract) -> dict[str, Any]:
    """A contract as data: exception types by their names."""
    data = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(contract).items()}
    accepts: Sequence[Any] | None = contract.accepts
    data["accepts"] = None if accepts is None else sorted(a if isinstance(a, str) else a.__name__ for a in accepts)
    return data
