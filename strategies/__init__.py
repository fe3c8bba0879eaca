"""Hypothesis strategies for scripts, drifts, calls and whole cases, to be used in any `@given`.

Everything is drawn in a fixed order, simplest first, so the same seed draws the same things in any process.
"""

from fuzzmcp.strategies.cases import cases
from fuzzmcp.strategies.drifts import drifts
from fuzzmcp.strategies.interleavings import interleavings
from fuzzmcp.strategies.moments import delays
from fuzzmcp.strategies.schemas import values
from fuzzmcp.strategies.scripts import scripts
from fuzzmcp.strategies.workloads import arguments, calls, outputs

__all__ = [
    "arguments",
    "calls",
    "cases",
    "delays",
    "drifts",
    "interleavings",
    "outputs",
    "scripts",
    "values",
]
