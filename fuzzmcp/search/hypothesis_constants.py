"""Draws that do not depend on what else has been imported: no constants out of the modules of the process.

Since 6.131 Hypothesis gathers the literals of every imported module that is not installed, and now and then draws one
of them. So the same seed drew other cases under pytest than on the command line, and others again in a checkout. A
search promises the same cases in any process, and Hypothesis has no setting for it: this module replaces the function
that gathers, and the memory of what it gathered, for the length of a block.

Delete this module when Hypothesis has such a setting: a test fails when these names are gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from hypothesis.internal.conjecture import providers

_providers: Any = providers


def gathers() -> bool:
    """Whether the installed Hypothesis draws constants of the modules of the process."""
    return hasattr(_providers, "_get_local_constants")


@contextlib.contextmanager
def none_of_this_process() -> Iterator[None]:
    """Within the block, Hypothesis draws only the constants that it brings with it."""
    if not gathers():
        yield
        return
    before = _providers._get_local_constants, _providers.CONSTANTS_CACHE
    nothing = _providers.Constants()
    _providers._get_local_constants = lambda: nothing
    _providers.CONSTANTS_CACHE = type(_providers.CONSTANTS_CACHE)(1024)
    try:
        yield
    finally:
        _providers._get_local_constants, _providers.CONSTANTS_CACHE = before
