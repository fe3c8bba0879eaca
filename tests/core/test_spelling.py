"""Words that nobody knows: the nearest known one is told, and nothing where none is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.core.faults import BY_NAME
from fuzzmcp.core.spelling import meant, nearest


@pytest.mark.parametrize(
    ("typo", "name"), [("hnag", "hang"), ("HANG", "hang"), ("drfit", "drift"), ("xyz", None), ("", None)]
)
def test_a_typo_leads_to_the_nearest_name(typo: str, name: str | None) -> None:
    assert nearest(typo, BY_NAME) == name


@given(st.text(), st.lists(st.text(max_size=8)))
def test_what_is_told_is_one_of_the_known_names(typo: str, known: list[str]) -> None:
    guess = nearest(typo, known)
    assert guess is None or guess in known
    assert meant(typo, known, ": none") == (": none" if not guess else f"; did you mean '{guess}'?")


@given(st.none() | st.integers() | st.floats() | st.lists(st.text()))
def test_only_a_text_resembles_a_name(value: object) -> None:
    assert meant(value, BY_NAME) == ""
    assert meant(value, BY_NAME, ": one of two") == ": one of two"
