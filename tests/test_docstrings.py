"""Every example in a docstring is run: those of all modules, found by walking the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import fuzzmcp

MODULES = sorted(module.name for module in pkgutil.walk_packages(fuzzmcp.__path__, "fuzzmcp."))
WITH_EXAMPLES = {
    *("fuzzmcp.case", "fuzzmcp.drift", "fuzzmcp.faults", "fuzzmcp.script", "fuzzmcp.tools"),
    *(f"fuzzmcp.strategies.{name}" for name in ("cases", "drifts", "interleavings", "moments", "schemas", "scripts")),
    "fuzzmcp.strategies.workloads",
}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    if name.endswith("__main__"):
        return  # importing it is running it
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
    assert result.attempted > 0 or name not in WITH_EXAMPLES


def test_the_walk_finds_the_strategies() -> None:
    # They live in another folder of the checkout: pkgutil finds them only where the package's path names it.
    assert set(MODULES) >= WITH_EXAMPLES
