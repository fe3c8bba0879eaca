"""fuzzmcp: a property-based fuzzer for the error handling of MCP clients.

It finds the shortest script of server faults that breaks an MCP client, and keeps it as a regression test.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from fuzzmcp.api import case_of, check, run, violations
    from fuzzmcp.checks import CheckFailed, judge
    from fuzzmcp.core.case import Call, Case
    from fuzzmcp.core.contract import Contract
    from fuzzmcp.core.errors import ScriptError
    from fuzzmcp.core.script import Script
    from fuzzmcp.core.trace import Outcome, Run
    from fuzzmcp.fuzzing import fuzz

__all__ = [
    "Call",
    "Case",
    "CheckFailed",
    "Contract",
    "Outcome",
    "Run",
    "Script",
    "ScriptError",
    "case_of",
    "check",
    "fuzz",
    "judge",
    "run",
    "violations",
]

_HOMES = {
    "Call": "core.case",
    "Case": "core.case",
    "CheckFailed": "checks",
    "Contract": "core.contract",
    "Outcome": "core.trace",
    "Run": "core.trace",
    "Script": "core.script",
    "ScriptError": "core.errors",
    "case_of": "api",
    "check": "api",
    "fuzz": "fuzzing",
    "judge": "checks",
    "run": "api",
    "violations": "api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import fuzzmcp` itself costs next to nothing."""
    if name == "__version__":
        return importlib.import_module("fuzzmcp.core.package").version()
    if name not in _HOMES:
        raise AttributeError(f"module 'fuzzmcp' has no attribute '{name}'")
    value = globals()[name] = getattr(importlib.import_module(f"fuzzmcp.{_HOMES[name]}"), name)
    return value
