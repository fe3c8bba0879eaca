"""A zoo of MCP clients with one planted bug each, by which fuzzmcp is proved: `ZOO` says which check must catch which.

    fuzzmcp run fuzzmcp.examples.zoo.retries:RetriesSpendCap

A bug is a class of a theme module, under `@bug(...)`; whoever adds one adds nothing else.
"""

from fuzzmcp.examples.zoo import (
    cancellation,
    catalogue,
    correlation,
    drift,
    duties,
    lifetime,
    pipes,
    results,
    retries,
    waiting,
)
from fuzzmcp.examples.zoo.bugs import ZOO, Bug, bug

THEMES = (cancellation, catalogue, correlation, drift, duties, lifetime, pipes, results, retries, waiting)
"""The modules that the bugs live in."""

__all__ = ["THEMES", "ZOO", "Bug", "bug"]
