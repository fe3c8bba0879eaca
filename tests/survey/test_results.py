"""What is kept of a row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from report.samples import finding_of, report_with

from fuzzmcp.checks import CHECKS
from fuzzmcp.report.model import Report
from survey.results import Result, loads, searched, store, stored
from survey.samples import NEWER, OLDER, found, result, results

REPORT = report_with(finding_of("429cap", "spend_cap"), finding_of("429cap*3", "spend_cap"))


@given(results(NEWER))
def test_a_result_survives_its_file(kept: Result) -> None:
    assert loads(kept.dumps()) == kept


def test_a_result_of_another_version_is_not_misread() -> None:
    data = json.loads(result().dumps()) | {"version": 0}
    with pytest.raises(ValueError, match="run it again"):
        loads(json.dumps(data))


def test_findings_stand_in_the_order_of_the_checks_the_smallest_first() -> None:
    swapped = replace(REPORT, findings=REPORT.findings[::-1])
    kept = searched(swapped)["findings"]
    assert [(one.check, one.faults) for one in kept] == [("spend_cap", "429cap"), ("spend_cap", "429cap*3")]
    assert kept[0].replay == ("fuzzmcp", "replay", "examples/naive_agent.py:connect", "429cap")


def test_only_what_a_contract_promises_otherwise_is_kept() -> None:
    contract = {**REPORT.contract, "deadline": 7.0}
    assert searched(replace(REPORT, contract=contract))["contract"] == {"deadline": 7.0}


def test_each_check_comes_to_one_word() -> None:
    checks = searched(REPORT)["checks"]
    assert set(checks) <= set(CHECKS)
    assert checks["spend_cap"] == "violated"


@pytest.mark.parametrize(("interrupted", "note"), [(False, ""), (True, "the search was cut short after")])
def test_a_search_that_was_cut_short_says_so(interrupted: bool, note: str) -> None:
    report: Report = replace(REPORT, interrupted=interrupted)
    assert searched(report)["note"].startswith(note)
    assert bool(searched(report)["note"]) is interrupted


def test_a_result_takes_the_place_of_the_earlier_one_and_of_no_other(tmp_path: Path) -> None:
    old, other, new = result(NEWER), result(OLDER), result(NEWER, found())
    for one in (old, other, new):
        store(tmp_path, one)
    assert stored(tmp_path, [NEWER.name, "never run", OLDER.name]) == {NEWER.name: new, OLDER.name: other}
    assert len(list(tmp_path.iterdir())) == 2


def test_the_findings_of_a_check_are_its_own() -> None:
    one, other = found("cancels"), found("relists")
    assert result(NEWER, one, other).of("relists") == (other,)
