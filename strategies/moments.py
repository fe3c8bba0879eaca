"""Moments: virtual seconds after a request, near the points in time that matter to a client."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from fuzzmcp.core.protocol import SECONDS_MAX

__all__ = ["delays", "moments"]

SMALL = (0.0, 1.0, 0.5)
LARGE = (3600.0,)
GAP = 0.001
"""Seconds that count as just before and just after."""


def moments(around: Iterable[float] = ()) -> tuple[float, ...]:
    """The seconds that `delays` draws, simplest first.

    >>> moments([5])
    (0.0, 1.0, 0.5, 5.0, 4.999, 5.001, 3600.0)
    """
    near = [m for moment in sorted(set(around)) for m in (moment, moment - GAP, moment + GAP)]
    kept = [round(float(moment), 6) for moment in near if 0 < moment <= SECONDS_MAX]
    return tuple(dict.fromkeys((*SMALL, *kept, *LARGE)))


def delays(around: Iterable[float] = ()) -> st.SearchStrategy[float]:
    """Delays in seconds: none, small ones, just before, at and just after each moment in `around`, and an hour.

    Args:
        around: Seconds after a request at which the client under test does something by itself, such as giving up.

    >>> from hypothesis import given
    >>> @given(delays(around=[5.0]))
    ... def test_with_a_slow_answer(seconds):
    ...     assert seconds == 3600 or 0 <= seconds <= 5.001
    >>> test_with_a_slow_answer()
    """
    return st.sampled_from(moments(around))
