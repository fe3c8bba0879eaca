"""Looking for the smallest value that has a property, quickly and from a given seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

Value = TypeVar("Value")
# Without the explain phase, which varies what was found for many seconds only to comment on it.
QUICK = settings(
    max_examples=20_000,
    derandomize=False,
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


class Found(Exception):
    """Raised for a value that has the property."""


def smallest(
    strategy: st.SearchStrategy[Value], holds: Callable[[Value], bool] = lambda value: True, seed: int = 0
) -> Value:
    """What `hypothesis.find` does, which cannot draw objects from schemas in older versions."""
    last: list[Value] = []

    @hypothesis.seed(seed)
    @QUICK
    @given(strategy)
    def look(value: Value) -> None:
        if holds(value):
            last[:] = [value]
            raise Found

    try:
        look()
    except Found:
        return last[0]
    raise AssertionError(f"nothing found for which {holds} holds")
