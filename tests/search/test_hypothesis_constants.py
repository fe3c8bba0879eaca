"""The same seed draws the same in any process: no constants out of whatever else has been imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.internal.conjecture import providers
from hypothesis.version import __version_info__

from fuzzmcp.api import case_of
from fuzzmcp.core.script import Script
from fuzzmcp.examples import careful_agent
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, Search, hypothesis_constants
from fuzzmcp.search.hypothesis_constants import none_of_this_process
from fuzzmcp.search.job import Job
from fuzzmcp.search.mixes import worst_mix
from fuzzmcp.strategies import cases


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Imports a module of the user's own, with numbers of its own."""

    def imports() -> None:
        (tmp_path / "numbers_of_the_user.py").write_text(f"NUMBERS = {[*range(2, 600)]}\n", "utf-8")
        importlib.invalidate_caches()
        importlib.import_module("numbers_of_the_user")

    monkeypatch.syspath_prepend(tmp_path)
    return imports


def drawn(block: Any) -> list[str]:
    found = []

    @seed(1)
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(cases())
    def look(case: Any) -> None:
        found.append(f"{case.script} | {case.calls}")

    with block:
        look()
    return found


def test_whatever_is_imported_the_same_cases_are_drawn(imported: Callable[[], None]) -> None:
    before = drawn(none_of_this_process())
    drawn(nullcontext())  # Hypothesis remembers what it found
    imported()
    assert drawn(none_of_this_process()) == before


@pytest.mark.skipif(not hypothesis_constants.gathers(), reason="this Hypothesis draws no constants of modules")
def test_without_the_block_they_are_others() -> None:
    # When this fails, Hypothesis no longer minds what is imported: then delete `hypothesis_constants.py`.
    assert drawn(nullcontext()) != drawn(none_of_this_process())


def test_the_installed_hypothesis_has_the_names_that_are_replaced() -> None:
    # When this fails, Hypothesis has changed, and `fuzzmcp/search/hypothesis_constants.py` does nothing any more.
    assert hypothesis_constants.gathers() == (__version_info__ >= (6, 131))
    if hypothesis_constants.gathers():
        before = vars(providers)["_get_local_constants"], vars(providers)["CONSTANTS_CACHE"]
        with none_of_this_process():
            assert (
                "_get_local_constants" in vars(providers.HypothesisProvider)["_local_constants"].func.__code__.co_names
            )
            assert len(vars(providers)["_get_local_constants"]()) == 0
        assert before == (vars(providers)["_get_local_constants"], vars(providers)["CONSTANTS_CACHE"])


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for constants of this process fails."""

    def refuse() -> None:
        raise AssertionError("asked for constants of this process")

    if not hypothesis_constants.gathers():
        pytest.skip("this Hypothesis draws no constants of modules")
    monkeypatch.setattr(providers, "_get_local_constants", refuse)


@pytest.mark.usefixtures("refused")
def test_a_search_draws_none() -> None:
    search = Search(Job(target_of(careful_agent.connect), case_of()), seed=1, phases=("fuzz",), budget=Budget(runs=40))
    assert search.run().runs >= 40


@pytest.mark.usefixtures("refused")
def test_the_worst_mix_is_looked_for_without_any() -> None:
    def cost(script: Script) -> tuple[int, bool]:
        return len(set(str(script).split(","))), False

    assert worst_mix(cost, Script.parse("429,529,504,hang,close").steps, 400, 1)[1] > 5
