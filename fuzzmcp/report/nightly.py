"""The report of a campaign: what is known and what is new."""

from __future__ import annotations

from fuzzmcp.core.config import shown
from fuzzmcp.report.model import Report, Subject, report_of, saved
from fuzzmcp.search.campaign import Outcome


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
