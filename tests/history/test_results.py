"""What came of a pair: when it counts as told apart, and the way through a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history.results import Half, Result, Search, result_of, store, stored
from history.samples import CASE, FOUND, PAIR, RESULT, SILENT, half, result

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_searches = st.builds(
    Search,
    seed=st.integers(1, 9),
    runs=st.integers(0, 400),
    seconds=st.floats(0, 600),
    exposed=st.none() | st.integers(1, 400),
    findings=st.lists(_texts, max_size=2).map(tuple),
)
_halves = st.builds(
    Half,
    replayed=_texts,
    searches=st.lists(_searches, max_size=3).map(tuple),
    installed=st.lists(_texts, max_size=2).map(tuple),
    failure=st.none() | _texts,
)


@given(
    st.builds(Result, pair=st.just("a"), date=_texts, fuzzmcp=_texts, python=_texts, affected=_halves, fixed=_halves)
)
def test_every_result_survives_the_way_through_its_file(tmp_path_factory: pytest.TempPathFactory, one: Result) -> None:
    folder = tmp_path_factory.mktemp("results")
    store(folder, one)
    assert stored(folder, ["a"]) == {"a": one}


def test_what_cannot_be_read_is_as_if_it_had_never_been(tmp_path: Path) -> None:
    store(tmp_path / "new", RESULT)
    for name, text in (("broken", "{"), ("other", "[]"), ("older", '{"pair": "older"}')):
        (tmp_path / "new" / f"{name}.json").write_text(text)
    found = stored(tmp_path / "new", ["broken", "other", "older", "missing", PAIR.name])
    assert found == {PAIR.name: RESULT}


def test_a_result_of_another_time_is_no_result() -> None:
    with pytest.raises(KeyError):
        result_of({"pair": "a"})


def test_told_apart_is_found_by_every_seed_and_silent_for_every_seed() -> None:
    assert result().told_apart(PAIR)
    assert result(fixed=half("not exercised", (), (), ())).told_apart(PAIR), "nothing was left to judge"


@pytest.mark.parametrize(
    ("affected", "fixed"),
    [
        pytest.param(half("violated", (CASE,), ("close | a()",), (CASE,)), SILENT, id="a seed missed it"),
        pytest.param(FOUND, half("held", (), (CASE,), ()), id="a seed found it in the fixed version"),
        pytest.param(FOUND, half("violated", (), (), ()), id="the replay still violates"),
        pytest.param(half("held", (CASE,), (CASE,), (CASE,)), SILENT, id="the replay does not violate"),
        pytest.param(FOUND, half("held", (), ()), id="fewer seeds on the fixed version"),
        pytest.param(FOUND, Half(failure="not installed"), id="one version is not there"),
        pytest.param(Half("violated"), Half("held"), id="no seed at all"),
    ],
)
def test_anything_less_is_not(affected: Half, fixed: Half) -> None:
    assert not result(affected, fixed).told_apart(PAIR)
