"""Keeping a saved report small."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp.report.load import loads
from fuzzmcp.report.model import Moment, Report, SavedFinding
from fuzzmcp.report.size_limit import LIMIT, within_limit
from fuzzmcp.report.timeline import KEPT
from report.samples import finding_of, moments, report_with

LONG = "x" * 200
TOOLS = [{"name": f"tool_{i}", "description": LONG * 3, "inputSchema": {"type": "object"}} for i in range(300)]


def finding(number: int, length: int = KEPT, **more: object) -> SavedFinding:
    requests = tuple(
        Moment(
            float(i), "->", "request", "tools/call", i, 0, "label", f"{number} {LONG}", "agent.py:48 ask",
            evidence=i % 97 == 50, nth=i + 1,
        )
        for i in range(length)
    )  # fmt: skip
    one = finding_of("429cap", "spend_cap") if not _MADE else _MADE[0]
    _MADE[:] = [one]
    return replace(one, fingerprint=f"{number:04x}", requests=requests, **more)


_MADE: list[SavedFinding] = []


def test_a_report_that_fits_is_left_alone() -> None:
    small = report_with(finding(1))
    assert within_limit(small) is small


def test_a_file_stays_under_5_megabytes() -> None:
    large = report_with(*(finding(i) for i in range(40)))
    assert len(large.dumps()) > 5_000_000 > LIMIT >= len(within_limit(large).dumps())


@pytest.mark.parametrize("findings", [6, 60])
def test_however_many_findings_there_are_the_file_stays_under_the_limit(findings: int) -> None:
    limit = LIMIT // 10
    large = report_with(*(finding(i, 2_400 // findings) for i in range(findings)))
    assert len(large.dumps()) > 1.8 * limit
    small = within_limit(large, limit)
    assert len(small.dumps()) <= limit
    assert small.dumps() == within_limit(large, limit).dumps()
    assert [one.name for one in small.findings] == [one.name for one in large.findings]
    for before, after in zip(large.findings, small.findings, strict=True):
        assert [m.id for m in after.requests if m.evidence] == [m.id for m in before.requests if m.evidence]
        assert (after.message, after.faults, after.case) == (before.message, before.faults, before.case)
    assert loads(small.dumps()) == small


def test_the_size_that_is_reckoned_with_is_the_size_of_the_file() -> None:
    limit = len(report_with(finding(1), finding(2)).dumps())
    report = report_with(finding(1), finding(2))
    assert within_limit(report, limit + 20) is report
    assert within_limit(report, limit - 20) is not report


def test_no_more_is_cut_than_needed() -> None:
    few = within_limit(report_with(*(finding(i) for i in range(3))), LIMIT // 10)
    many = within_limit(report_with(*(finding(i) for i in range(6))), LIMIT // 10)
    assert KEPT > len(few.findings[0].requests) > len(many.findings[0].requests) > 20
    assert all(LONG in m.text for m in many.findings[0].requests if m.kind != "omitted")


def test_what_is_left_out_is_counted() -> None:
    small = within_limit(report_with(*(finding(i) for i in range(6))), LIMIT // 10)
    requests = small.findings[0].requests
    assert sum(m.nth or 0 for m in requests if m.kind == "omitted") + sum(m.kind != "omitted" for m in requests) == KEPT


def test_a_short_timeline_stays_whole_and_leaves_its_room_to_a_long_one() -> None:
    limit = LIMIT // 20
    alone, shared = (
        within_limit(report_with(finding(1)), limit // 2),
        within_limit(report_with(finding(1), finding(2, 9), finding(3)), limit),
    )
    assert shared.findings[1].requests == finding(2, 9).requests
    lengths = [len(one.requests) for one in shared.findings]
    assert abs(lengths[0] - lengths[2]) <= 1
    assert lengths[0] > 0.9 * len(alone.findings[0].requests)


def test_the_room_is_used() -> None:
    for limit in (LIMIT // 40, LIMIT // 20, LIMIT // 10):
        small = within_limit(report_with(*(finding(i) for i in range(6))), limit)
        assert 0.95 * limit < len(small.dumps()) <= limit


@settings(max_examples=200)
@given(
    timelines=st.lists(st.lists(moments, max_size=30).map(tuple), min_size=1, max_size=4),
    share=st.floats(0, 1),
)
def test_whatever_was_found_the_file_stays_under_the_limit_and_every_moment_is_kept_or_counted(
    timelines: list[tuple[Moment, ...]], share: float
) -> None:
    whole = report_with(*(replace(finding(i), requests=requests) for i, requests in enumerate(timelines)))
    least = len(report_with(*(replace(one, requests=()) for one in whole.findings)).dumps()) + 200 * len(timelines)
    limit = least + int(share * (len(whole.dumps()) - least)) if len(whole.dumps()) > least else least
    small = within_limit(whole, limit)
    assert len(small.dumps()) <= limit
    for before, after in zip(timelines, small.findings, strict=True):
        assert all(m in before for m in after.requests if m.kind != "omitted")
        assert how_many(after.requests) == how_many(before)


def how_many(requests: tuple[Moment, ...]) -> int:
    return sum((m.nth or 1) if m.kind == "omitted" else 1 for m in requests)


def test_a_large_catalogue_is_kept_once() -> None:
    case = {"faults": "429cap", "tools": TOOLS}
    large = report_with(*(finding(i, 5, case=case) for i in range(60)))
    small = within_limit(large)
    assert len(small.dumps()) <= LIMIT < len(large.dumps())
    assert list(small.tools) == TOOLS
    assert all(one.case == {"faults": "429cap", "tools_of": "report"} for one in small.findings)
    assert [one.requests for one in small.findings] == [one.requests for one in large.findings]
    assert loads(small.dumps()) == small


def test_a_case_with_another_catalogue_keeps_its_own() -> None:
    other = {"faults": "hang", "tools": TOOLS[:1]}
    cases = [{"faults": "429cap", "tools": TOOLS}] * 40 + [other]
    small = within_limit(report_with(*(finding(i, 5, case=case) for i, case in enumerate(cases))))
    assert small.findings[-1].case == other


def test_the_rarest_reasons_go_first() -> None:
    reasons = {f"{i:05} {LONG}": 1 + i % 2 for i in range(30_000)}
    small: Report = within_limit(report_with(undelivered=reasons))
    assert sum(small.undelivered.values()) == sum(reasons.values())
    assert small.undelivered["29,800 rarer reasons"] == sum(reasons.values()) - 400
    assert len(small.dumps()) <= LIMIT


def test_of_evidence_without_end_the_first_and_the_last_are_kept() -> None:
    every = tuple(replace(m, evidence=True) for m in finding(1, 1_000).requests)
    small = within_limit(report_with(*(replace(finding(i), requests=every) for i in range(2))), LIMIT // 20)
    evidence = [m.id for m in small.findings[-1].requests if m.evidence]
    assert evidence[:3] + evidence[-3:] == [0, 1, 2, 997, 998, 999]
    assert len(evidence) < 1_000
    assert len(small.dumps()) <= LIMIT // 20
