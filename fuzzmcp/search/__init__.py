"""The search for scripts that break a client."""

from fuzzmcp.search.engine import Budget, CannotRun, Progress, Result, Search
from fuzzmcp.search.findings import Finding

__all__ = ["Budget", "CannotRun", "Finding", "Progress", "Result", "Search"]
