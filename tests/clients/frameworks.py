"""Adapters, driven by the tests: those whose framework is installed, the others are skipped."""

from __future__ import annotations

import importlib
import warnings
from importlib.metadata import version
from typing import Any

import pytest

import fuzzmcp
from fuzzmcp.checks import Violation
from fuzzmcp.checks.interpret import interpret
from fuzzmcp.clients._table import why_missing
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.trace import Outcome, Reading, Run

MCP_1 = version("mcp").startswith("1.")
ERROR = "order service: validation failed: unknown customer"
"""What the server's execution error says."""
CALLS = tuple((tool.name, tool.sample_arguments) for tool in crm())
REFUND = ("refund_order", {"order_id": "A1", "amount": 20.5})
LAST = ("list_open_invoices", {"customer_id": "C7", "limit": 10})
"""A call of the tool that `list:pages` puts on the last page."""


def adapter(name: str) -> Any:
    """The module of an adapter; a test without its framework is skipped."""
    full = f"fuzzmcp.clients.{name}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a framework says while it is imported is its own affair
            return importlib.import_module(full)
    except ImportError as error:
        reason = why_missing(full, error)
        if reason is None:
            raise
        pytest.skip(reason, allow_module_level=True)


def outcome(module: Any, script: str = "", **options: Any) -> Outcome:
    """How one call of the adapter ends."""
    (only,) = fuzzmcp.run(module.connect, script, **options).outcomes
    return only


def returned(module: Any, script: str = "", **options: Any) -> Any:
    """What one call of the adapter returns."""
    ended = outcome(module, script, **options)
    assert ended.status == "returned", ended.error
    return ended.value


def reading(module: Any, script: str = "", **options: Any) -> Reading:
    """What fuzzmcp reads in it."""
    return interpret(returned(module, script, **options))


def raised(module: Any, script: str, **options: Any) -> tuple[str, str]:
    """Type and message of the exception that one call of the adapter raises."""
    ended = outcome(module, script, **options)
    assert ended.error is not None, ended.value
    return type(ended.error).__name__, str(ended.error)


def found(module: Any, script: str, **options: Any) -> dict[str, Violation]:
    """The checks that a run breaks, by the adapter's own contract."""
    return fuzzmcp.violations(fuzzmcp.run(module.connect, script, **options), module.contract)


def requests(run: Run, method: str = "tools/call") -> int:
    """How many requests of a method the client sent for its calls."""
    return sum(event.method == method and event.call in range(len(run.case.calls)) for event in run.requests)


def serves_every_tool(module: Any) -> None:
    """Each tool of the catalogue answers its call, and nothing is broken."""
    run = fuzzmcp.run(module.connect, "error", calls=[CALLS[0], *CALLS])
    for ended, (name, arguments) in zip(run.outcomes[1:], CALLS, strict=True):
        assert ended.status == "returned", (name, ended.error)
        read = interpret(ended.value)
        assert not module.contract.is_error(read)
        key, value = next(iter(arguments.items()))
        assert read.structured[key] == value
    assert fuzzmcp.violations(run, module.contract) == {}
