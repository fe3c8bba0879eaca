"""Every example in a docstring is run: those of all modules, found by walking the package."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from few import few_examples

import fuzzmcp


def modules() -> Iterator[str]:
    """The modules whose text has an example. The folders of the checkout that are mapped into the package are named:
    pkgutil finds those of the package's own folder only.
    """
    for package in ("fuzzmcp", "fuzzmcp.strategies", "fuzzmcp.examples"):
        spec = find_spec(package)
        assert spec
        for module in pkgutil.walk_packages(spec.submodule_search_locations, f"{package}."):
            found = find_spec(module.name)
            assert found
            if ">>>" in Path(found.origin or "").read_text("utf-8"):
                yield module.name


MODULES = sorted(set(modules()))


@pytest.fixture(scope="module", autouse=True)
def _few_examples() -> Iterator[None]:
    """That the examples run is what counts here; what their properties say has tests with all examples elsewhere."""
    with few_examples():
        yield


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_walk_finds_the_words_and_the_strategies() -> None:
    assert set(MODULES) >= {f"fuzzmcp.core.{name}" for name in ("case", "drift", "faults", "script", "catalogue.tools")}
    assert set(MODULES) >= {f"fuzzmcp.strategies.{name}" for name in ("cases", "drifts", "scripts", "workloads")}


def test_the_package_itself_has_no_example_that_the_walk_would_miss() -> None:
    assert ">>>" not in (fuzzmcp.__doc__ or "")
