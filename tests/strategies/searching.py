"""Looking for the smallest value that has a property, quickly and from a given seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

Value = TypeVar("Value")
# Without the explain phase, which varies what was found for many seconds only to comment on it.
QUICK = settings(max_examples=20_000, phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck))


def smallest(
    strategy: st.SearchStrategy[Value], holds: Callable[[Value], bool] = lambda value: True, seed: int = 0
) -> Value:
    return find(strategy, holds, settings=QUICK, random=random.Random(seed))
