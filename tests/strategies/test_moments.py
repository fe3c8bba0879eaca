"""Delays: around the moments that matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.core.script import Script
from fuzzmcp.strategies import delays
from fuzzmcp.strategies.moments import moments

from .searching import smallest


def test_without_moments_there_are_none_small_and_large_delays() -> None:
    assert moments() == (0.0, 1.0, 0.5, 3600.0)


@pytest.mark.parametrize("moment", [5.0, 29.999, 0.25])
def test_each_moment_is_drawn_just_before_at_and_just_after(moment: float) -> None:
    assert {round(moment - 0.001, 6), moment, round(moment + 0.001, 6)} <= set(moments([moment]))


@given(st.lists(st.floats(-10, 1e12)))
def test_all_of_them_can_be_written_in_a_script_and_none_comes_twice(around: list[float]) -> None:
    known = moments(around)
    assert len(set(known)) == len(known)
    for seconds in known:
        step = Script.parse(f"error@{seconds!r}").steps[0]
        assert step.answer.at == (seconds or None)


def test_moments_do_not_depend_on_the_order_given() -> None:
    assert moments([3, 1, 2]) == moments([2, 3, 1, 1])


def test_a_delay_shrinks_to_none() -> None:
    assert smallest(delays([5.0])) == 0
    assert smallest(delays([5.0]), lambda seconds: seconds > 1) == 5
