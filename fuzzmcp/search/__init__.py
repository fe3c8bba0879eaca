"""The search for scripts that break a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fuzzmcp.search.findings import Finding
from fuzzmcp.search.readiness import CannotRun
from fuzzmcp.search.result import Budget, Exposure, Progress, Result

if TYPE_CHECKING:
    from fuzzmcp.search.engine import Search

__all__ = ["Budget", "CannotRun", "Exposure", "Finding", "Progress", "Result", "Search"]


def __getattr__(name: str) -> Any:
    """Import the engine, and so Hypothesis, for those who search: reports and replays know findings only."""
    if name != "Search":
        raise AttributeError(f"module 'fuzzmcp.search' has no attribute '{name}'")
    from fuzzmcp.search.engine import Search

    globals()["Search"] = Search
    return Search
