"""The sentences that all formats of a report share: headline, facts, hints, and the explanation of a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fuzzmcp.checks import CHECKS
from fuzzmcp.report.escape import counted, duration, harmless
from fuzzmcp.report.model import Report, SavedFinding


@dataclass(frozen=True)
class About:
    """What a check demands, why, and what to do about a violation."""

    demands: str
    why: str
    advice: str


def about(check: str) -> About:
    """The explanation of a check. A report of another version may name a check that this version does not have.

    >>> about("spend_cap").advice
    'stop at the first such answer and tell the user.'
    """
    if check in CHECKS:
        row = CHECKS[check]
        return About(row.demands, row.why, row.advice)
    return About(
        "", "this version of fuzzmcp does not know the check.", "read the report with the version that made it."
    )


def qualities(finding: SavedFinding) -> tuple[str, ...]:
    """The qualities of a finding, in words: known, minimal, deterministic."""
    said: tuple[tuple[bool | None, str, str], ...] = (
        (finding.known or None, "known", ""),
        (finding.minimal, "minimal", "not yet minimal"),
        (finding.deterministic, "deterministic", "not deterministic"),
    )
    return tuple(yes if is_so else no for is_so, yes, no in said if is_so is not None)


def headline(report: Report) -> str:
    """How many findings there are, and how many of them are new."""
    known = sum(finding.known for finding in report.findings)
    if not report.findings:
        return "nothing found"
    if not known:
        return counted(len(report.findings), "finding")
    return f"{counted(len(report.findings) - known, 'new finding')}, {known:,} known"


def facts(report: Report) -> tuple[str, ...]:
    """The search in numbers, the headline first."""
    rate = report.runs / report.seconds if report.seconds else 0.0
    return (
        headline(report),
        counted(report.runs, "run"),
        f"{rate:,.0f} runs/s",
        f"{duration(report.virtual_seconds)} of virtual time",
        f"{report.seconds:.1f} s",
        f"seed {report.seed}",
    )


def setting(report: Report) -> tuple[str, ...]:
    """The SDK, the catalogue, the protocol and the seed of the search."""
    over = f"{report.protocol} over {report.transport}"
    return tuple(map(harmless, (f"mcp {report.subject.mcp}", catalogue(report), over, f"seed {report.seed}")))


def catalogue(report: Report) -> str:
    """The name of the catalogue, with the number of its tools if the report tells it."""
    name = report.subject.catalogue
    return f"{name} ({counted(report.tool_count, 'tool')})" if report.tool_count else name


def hints(report: Report) -> Iterator[tuple[str, str]]:
    """Labels and sentences that a reader should know beside the findings."""
    if report.stale:
        yield "stale", f"no longer failing: {', '.join(report.stale)}. fuzzmcp prune removes what is fixed."
    if report.interrupted:
        phase = f" in the phase '{report.phase}'" if report.phase else ""
        yield "note", f"interrupted{phase}: this is what was found until then"
    idle = [name for name, counts in report.checks.items() if not counts["held"] and not counts["violated"]]
    if idle and len(idle) == len(report.checks):
        yield "note", "nothing was exercised: this search proves nothing. Look at --call, --tools and the client."
    elif idle:
        yield "note", f"never exercised: {', '.join(idle)}. More --runs, other --call or --tools may reach them."
    missed = sorted(report.undelivered.items(), key=lambda pair: (-pair[1], pair[0]))
    if missed:
        (reason, _), total = missed[0], sum(report.undelivered.values())
        more = f" (and {counted(len(missed) - 1, 'other reason')})" if len(missed) > 1 else ""
        yield "note", f"{counted(total, 'part')} of scripts could not be delivered, most often: {reason}{more}"
    if any(finding.deterministic is False for finding in report.findings):
        yield "note", "a finding that is not deterministic depends on more than its script: time, randomness, threads"


def reactions(row: Mapping[str, Any]) -> list[tuple[str, int]]:
    """How the client reacted to one fault, the most frequent first."""
    return sorted(row["reactions"].items(), key=lambda pair: (-pair[1], pair[0]))


def status(counts: Mapping[str, int]) -> str:
    """The result of a check over a whole search.

    >>> status({"held": 3, "violated": 1, "not_exercised": 0})
    'violated'
    """
    return "violated" if counts["violated"] else "held" if counts["held"] else "not exercised"
