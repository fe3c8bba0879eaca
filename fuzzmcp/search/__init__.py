"""The search for scripts that break a client."""

from fuzzmcp.search.engine import Search
from fuzzmcp.search.findings import Finding
from fuzzmcp.search.opening import CannotRun
from fuzzmcp.search.result import Budget, Exposure, Progress, Result

__all__ = ["Budget", "CannotRun", "Exposure", "Finding", "Progress", "Result", "Search"]
