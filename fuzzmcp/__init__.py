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
    from fuzzmcp.core.errors import FuzzmcpError, ScriptError
    from fuzzmcp.core.script import Script
    from fuzzmcp.core.trace import Outcome, Run
    from fuzzmcp.fuzzing import fuzz
    from fuzzmcp.harness.own_faults import HarnessError

__all__ = [
    "Call",
    "Case",
    "CheckFailed",
    "Contract",
    "FuzzmcpError",
    "HarnessError",
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
    "FuzzmcpError": "core.errors",
    "HarnessError": "harness.own_faults",
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

_ROOMS = ("clients", "strategies", "upstream")
"""Packages with a public interface of their own."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import fuzzmcp` itself costs next to nothing."""
    if name == "__version__":
        return importlib.import_module("fuzzmcp.core.package").version()
    if name in _ROOMS:
        return importlib.import_module(f"fuzzmcp.{name}")
    if name not in _HOMES:
        from fuzzmcp.core.spelling import meant

        # With a name and no object, Python adds no second guess to the message.
        raise AttributeError(f"module 'fuzzmcp' has no attribute '{name}'" + meant(name, __dir__()), name=name)
    value = globals()[name] = getattr(importlib.import_module(f"fuzzmcp.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    """The public names and packages, imported or not."""
    return sorted({*__all__, *_ROOMS, "__version__", *(name for name in globals() if name.startswith("__"))})
