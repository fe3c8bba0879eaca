"""Interleavings: the same calls and faults, in other orders."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings

from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.script import Script
from fuzzmcp.strategies import calls, interleavings, scripts

from .searching import smallest

ONE = (Call("get_order", {"order_id": "A1"}),)
TURNS = (*ONE, Call("get_order", {"order_id": "A2"}))
TWO = (*ONE, Call("get_order", {"order_id": "A2"}, 0.0))
THREE = (*TWO, Call("get_order", {"order_id": "A3"}, 0.0))


def found(
    workload: tuple[Call, ...], script: str, holds: Callable[[tuple[Call, ...], Script], bool]
) -> tuple[list[float | None], str]:
    moved = smallest(interleavings(workload, Script.parse(script)), lambda each: holds(*each))
    return [call.at for call in moved[0]], str(moved[1])


def at(script: Script, request: int) -> float:
    moment = script.step_for("call", request)[1].answer.at
    return moment if isinstance(moment, float) else 0.0


@pytest.mark.parametrize("workload", [ONE, TURNS, TWO, THREE])
def test_the_simplest_is_the_order_given(workload: tuple[Call, ...]) -> None:
    moments = [call.at for call in workload]
    assert found(workload, "list:hang,429,hang+cancel@2", lambda *_: True) == (moments, "list:hang,429,hang+cancel@2")


def test_nothing_varies_where_nothing_can_be_reordered() -> None:
    seen = set()

    @given(interleavings(ONE, Script.parse("list:hang,429+dup,late")))
    def look(moved: tuple[tuple[Call, ...], Script]) -> None:
        seen.add((tuple(map(str, moved[0])), str(moved[1])))

    look()
    assert seen == {(('get_order(order_id="A1")',), "list:hang,429+dup,late")}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_of_the_calls_can_meet_the_first_fault(place: int) -> None:
    names = ["ok"] * place + ["hang"]
    _, script = found(
        THREE, "hang", lambda _, s: [s.step_for("call", i)[1].answer.name for i in range(place + 1)] == names
    )
    assert script == ("ok," if place == 1 else f"ok*{place}," if place else "") + "hang"


def test_an_answer_can_overtake_another() -> None:
    moments, script = found(TWO, "ok", lambda _, s: at(s, 0) > at(s, 1))
    assert (moments, script) == ([None, 0.0], "ok@0.001")


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_three_answers_can_come_in_every_order(order: tuple[int, int, int]) -> None:
    def holds(_: tuple[Call, ...], script: Script) -> bool:
        return at(script, order[0]) < at(script, order[1]) < at(script, order[2])

    assert "hang" not in found(THREE, "ok", holds)[1]


def test_a_later_call_can_begin_first() -> None:
    moments, script = found(TWO, "hang", lambda moved, _: (moved[0].at or 0) > (moved[1].at or 0))
    assert (moments, script) == ([0.001, 0.0], "hang")


def test_calls_in_turn_stay_in_turn() -> None:
    @given(interleavings(TURNS, Script.parse("hang")))
    def check(moved: tuple[tuple[Call, ...], Script]) -> None:
        assert moved[0] == TURNS

    check()


@pytest.mark.parametrize("moment", ["1.999", "2", "2.001"])
def test_what_has_a_moment_comes_just_before_at_it_and_just_after(moment: str) -> None:
    wanted = f"hang+cancel@{moment}"
    assert found(ONE, "hang+cancel@2", lambda _, script: str(script) == wanted)[1] == wanted


@given(calls(crm()).flatmap(lambda each: scripts(tools=crm()).flatmap(lambda script: interleavings(each, script))))
@settings(max_examples=60)
def test_an_interleaving_of_anything_can_be_written_down(moved: tuple[tuple[Call, ...], Script]) -> None:
    assert Script.parse(str(moved[1])) == moved[1]
    assert tuple(Call.parse(str(call)) for call in moved[0]) == moved[0]
    assert all(call.at is None or 0 <= call.at < 0.01 for call in moved[0])


def test_the_faults_stay_what_they_were() -> None:
    script = Script.parse("list:hang*2,429*2,error+dup@1,hang*")
    kinds = [[script.step_for(method, i)[1].answer.name for i in range(8)] for method in ("list", "call")]

    @given(interleavings(THREE, script))
    def check(moved: tuple[tuple[Call, ...], Script]) -> None:
        listed, called = (
            [moved[1].step_for(method, i)[1].answer.name for i in range(8)] for method in ("list", "call")
        )
        lead = called.count("ok")
        assert lead < len(THREE)
        assert listed == kinds[0]
        assert called == ["ok"] * lead + kinds[1][: 8 - lead]

    check()
