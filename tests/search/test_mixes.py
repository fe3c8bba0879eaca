"""The mix that costs most, of clients made of two layers that retry different faults."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from fuzzmcp.core.script import Script
from fuzzmcp.search.mixes import Cost, worst_mix

KINDS = ("429", "529", "504", "hang")


def client(outer: int, inner: int, retried_outside: set[str], retried_inside: set[str]) -> Callable[[Script], Cost]:
    """What a script costs a loop over a loop."""

    def cost(script: Script) -> Cost:
        sent = 0
        for _ in range(outer):
            for _ in range(inner):
                fault = script.step_for("call", sent)[1].answer.name
                sent += 1
                if fault not in retried_inside:
                    break
            if fault not in retried_outside:
                break
        return sent, False

    return cost


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("outer", "inner"), [(4, 3), (2, 6), (5, 5)])
def test_layers_that_retry_different_faults_are_driven_to_their_product(outer: int, inner: int, seed: int) -> None:
    runs = 0
    of_this = client(outer, inner, {"529", "hang"}, {"429", "504"})

    def counted(script: Script) -> Cost:
        nonlocal runs
        runs += 1
        return of_this(script)

    found, tried = worst_mix(counted, Script.parse(",".join(KINDS)).unrolled(), 300, seed)
    assert of_this(found) == (outer * inner, False)
    assert tried <= runs <= 300


def test_the_search_ends_when_nothing_new_costs_more() -> None:
    runs = 0

    def always_the_same(script: Script) -> Cost:
        nonlocal runs
        runs += 1
        return 3, False

    _, tried = worst_mix(always_the_same, Script.parse(",".join(KINDS)).unrolled(), 300, 0, unlike=[0])
    assert tried <= runs <= 40


def test_the_environment_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = client(2, 2, {"529"}, {"429"})
    for before in (None, "0"):
        if before is not None:
            monkeypatch.setenv("HYPOTHESIS_NO_PLUGINS", before)
        worst_mix(cost, Script.parse("429,529").unrolled(), 10, 0)
        assert os.environ.get("HYPOTHESIS_NO_PLUGINS") == before
