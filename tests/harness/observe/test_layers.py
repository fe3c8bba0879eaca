"""The arithmetic of layers: from who came back, and how deep, to factors, waits and a product."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.core.trace import Loop
from fuzzmcp.harness.observe.layers import Attempt, Layer, Stack, stack_of

LOOPS = [Loop("client.py", 10 * n, f"layer{n}", (0, n)) for n in range(6)]


def returns(factors: list[int], first: int = 0) -> list[Loop]:
    """Who comes back, in order, in a client of these layers, outermost first."""
    if not factors:
        return []
    inner = returns(factors[1:], first + 1)
    return [*inner, *([LOOPS[first], *inner] * (factors[0] - 1))]


def attempts(loops: list[Loop], wait: float = 1.0) -> list[Attempt]:
    return [Attempt(place * wait, place * wait, loop) for place, loop in enumerate([None, *loops])]


@given(st.lists(st.integers(2, 4), max_size=4))
def test_layers_of_constant_factors_are_found_again(factors: list[int]) -> None:
    found = stack_of(attempts(returns(factors)))
    assert [layer.factor for layer in found.layers] == factors
    assert [layer.loop for layer in found.layers] == LOOPS[: len(factors)]
    assert found.requests == prod(factors)
    assert found.product == (prod(factors) if factors else None)


@given(st.lists(st.sampled_from([*LOOPS, None]), max_size=30))
def test_each_return_is_one_wait_of_one_layer_whatever_came_back(loops: list[Loop]) -> None:
    found = stack_of(attempts(loops, 0.5))
    assert found.requests == len(loops) + 1
    assert len(found.again) == len(loops)
    assert sum(len(times) for layer in found.layers for times in layer.waits) == len(loops)
    for layer in found.layers:
        assert [len(times) + 1 for times in layer.waits] == list(layer.counts)
        assert str(layer)
    assert found.product in (None, found.requests)


def test_two_functions_of_one_depth_are_two_layers_that_are_not_counted_where_the_other_was() -> None:
    outer, one, other = Loop("c.py", 1, "both", (0, 0)), Loop("c.py", 2, "a", (0, 1)), Loop("c.py", 3, "b", (0, 1))
    found = stack_of(attempts([one, one, outer, other]))
    assert [(layer.loop, layer.counts) for layer in found.layers] == [(outer, (2,)), (one, (3,)), (other, (2,))]
    assert found.product is None


def test_one_helper_used_for_two_layers_is_two_layers() -> None:
    above, below = Loop("c.py", 5, "again", (0, 0)), Loop("c.py", 5, "again", (0, 3))
    found = stack_of(attempts([below, above, below, above, below]))
    assert [layer.factor for layer in found.layers] == [3, 2]


def test_a_deeper_task_lies_below_every_frame_of_the_task_above_it() -> None:
    parent, child = Loop("c.py", 1, "parent", (0, 9)), Loop("c.py", 2, "child", (1, 0))
    found = stack_of(attempts([child, parent, child]))
    assert str(found) == "c.py:1 parent ×2 over c.py:2 child ×2"


def test_what_was_not_seen_is_said() -> None:
    found = stack_of(attempts([Loop("c.py", 1, "pump")]))
    assert found.hidden
    assert stack_of([Attempt(0.0, 0.0), Attempt(1.0, 1.0)]).layers[0].place == "code that was not seen"
    assert not Stack(1).hidden


def test_waits_are_told_on_one_short_line() -> None:
    assert Layer(None, (1,), ((),)).pauses == "no waits"
    assert Layer(None, (3,), ((0.0, 0.0),)).pauses == "no waits"
    assert Layer(None, (10,), ((1.0,) * 9,)).pauses == "waits 1 s each time"
    assert Layer(None, (10,), (tuple(map(float, range(9))),)).pauses.endswith("5 s …")
