"""The figures of the benchmark: medians that know what was missed, and shares."""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.figures import Find, as_json, interval, row, share, summary, table

RUNS = st.one_of(st.none(), st.integers(1, 2_000))


def found(bug: str, exposed: int | None, seed: int = 1, script: str = "429 | a()") -> Find:
    met = exposed is not None
    return Find(bug, "search", seed, exposed, 0.1 if met else None, script if met else None, met, 2_000, 9, 10)


@settings(max_examples=40)
@given(st.lists(RUNS, min_size=1, max_size=30))
def test_the_interval_holds_the_median(exposures: list[int | None]) -> None:
    summed = row("B", [found("B", exposed) for exposed in exposures])
    low, high = summed.runs_interval
    assert low <= summed.runs <= high
    assert summed.found == sum(exposed is not None for exposed in exposures)


@given(st.lists(RUNS, min_size=1, max_size=30))
def test_a_median_is_infinite_where_most_missed(exposures: list[int | None]) -> None:
    missed = sum(exposed is None for exposed in exposures)
    assert math.isinf(row("B", [found("B", exposed) for exposed in exposures]).runs) == (2 * missed >= len(exposures))


def test_the_interval_is_the_same_every_time_and_wider_than_the_median() -> None:
    values = [float(n) for n in range(30)]
    assert interval(values) == interval(values)
    low, high = interval(values)
    assert 5 < low < 14.5 < high < 25


def test_bugs_that_one_seed_missed_are_not_found_by_every_seed() -> None:
    finds = [found("A", 3), found("A", None, 2), found("B", 5), found("B", 7, 2, "429*2 | a()")]
    summed = summary(finds)
    assert (summed["bugs"], summed["bugs_found_by_every_seed"], summed["found"]) == (2, 1, 3)
    assert summed["bugs_with_one_script"] == 1
    assert summed["known_script_share"] == 1.0
    assert summed["delivered_share"] == 0.9


def test_a_share_of_nothing_is_none() -> None:
    assert share([]) is None
    assert share([(0, 0)]) is None


def test_rows_print_as_a_table_and_as_json() -> None:
    rows = [row("Quick", [found("Quick", 3)]), row("Missed", [found("Missed", None)])]
    lines = table(rows).splitlines()
    assert [line.split()[0] for line in lines] == ["bug", "Missed", "Quick"]
    assert "missed" in lines[1]
    assert json.loads(json.dumps(as_json(rows)))[1]["runs"] is None
