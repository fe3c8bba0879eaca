"""Scripts: always applicable, varied enough, and shrunk to what a person would have written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.drift import apply
from fuzzmcp.core.faults import BY_NAME, why_inapplicable
from fuzzmcp.core.protocol import METHODS, VERSIONS
from fuzzmcp.core.script import Action, Script
from fuzzmcp.strategies import scripts

from .searching import smallest


def shrunk(strategy: st.SearchStrategy[Script], holds: Callable[[Script], bool], seed: int = 0) -> str:
    return str(smallest(strategy, holds, seed))


def played(script: Script) -> Iterable[Action]:
    return (action for step in script.steps for action in step.actions)


def has(name: str) -> Callable[[Script], bool]:
    return lambda script: any(action.name == name for action in played(script))


def collect(strategy: st.SearchStrategy[Script], examples: int) -> list[Script]:
    found: list[Script] = []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def look(script: Script) -> None:
        found.append(script)

    look()
    return found


@pytest.mark.parametrize("protocol", VERSIONS)
def test_every_fault_in_a_script_is_applicable(protocol: str) -> None:
    @settings(max_examples=40)
    @given(scripts(protocol, methods=METHODS, tools=crm()))
    def check(script: Script) -> None:
        for step in script.steps:
            for action in step.actions:
                assert why_inapplicable(action.name, step.method, protocol) is None

    check()


@pytest.fixture(scope="module")
def drawn() -> list[Script]:
    return collect(scripts(tools=crm()), 900)


def test_every_fault_of_the_protocol_is_drawn(drawn: list[Script]) -> None:
    expected = {
        name
        for name in BY_NAME
        if any(why_inapplicable(name, method, "2025-11-25") is None for method in ("call", "list"))
    }
    assert {action.name for script in drawn for action in played(script)} == expected


def test_list_steps_are_drawn_as_readily_as_call_steps(drawn: list[Script]) -> None:
    faulty = [step.method for script in drawn for step in script.steps if not step.plain]
    assert set(faulty) == {"call", "list"}
    assert 0.3 < faulty.count("list") / len(faulty) < 0.6


def test_other_methods_are_drawn_only_when_named(drawn: list[Script]) -> None:
    assert {step.method for script in drawn for step in script.steps} == {"call", "list"}
    named = collect(scripts("2026-07-28", methods=("call", "discover", "listen")), 200)
    assert {step.method for script in named for step in script.steps} == {"call", "discover", "listen"}


def test_the_corners_of_the_vocabulary_are_drawn(drawn: list[Script]) -> None:
    texts = ",".join(map(str, drawn))
    for corner in ("late", "*2", "*6", "429(2.5", "429(none", "429(0", "429(3600", "style=json", "@cancel", "@3600"):
        assert corner in texts
    for code in (-32603, -32602, -32601, -32600, -32700, -32000):
        assert f"rpc({code})" in texts
    assert any(step.count is None for script in drawn for step in script.steps)
    edits = {str(action).count(";") + 1 for script in drawn for action in played(script) if action.name == "drift"}
    assert 1 in edits
    assert max(edits) > 1


def test_a_script_takes_its_answers_from_a_few_faults(drawn: list[Script]) -> None:
    long = [script for script in drawn if len(script.unrolled()) > 3]
    repeated = [script for script in long if len({step.answer.name for step in script.unrolled()}) < 4]
    assert len(repeated) > len(long) / 2


def test_most_scripts_have_a_fault(drawn: list[Script]) -> None:
    assert len([script for script in drawn if script != Script()]) > 0.7 * len(drawn)


def test_a_vocabulary_limits_the_faults() -> None:
    for script in collect(scripts(vocabulary=["hang", "dup"]), 100):
        assert {action.name for action in played(script)} <= {"ok", "hang", "dup"}
        assert all(step.answer.at is None for step in script.steps)


def test_late_is_a_word_of_the_vocabulary() -> None:
    answers = {str(step.answer) for script in collect(scripts(vocabulary=["late"]), 100) for step in script.steps}
    assert answers >= {"ok@cancel", "ok@1", "ok@3600"}
    assert {answer.split("@")[0] for answer in answers} == {"ok"}


def test_delays_come_from_those_given() -> None:
    moments = {action.at for script in collect(scripts(delays=(7.0,)), 200) for action in played(script)}
    assert moments == {None, "cancel", 7.0}


def test_a_script_has_at_most_so_many_steps() -> None:
    assert {len(script.steps) for script in collect(scripts(max_steps=1), 200)} == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"protocol": "2025-11-26"}, "unknown protocol version"),
        ({"methods": ["lst"]}, "did you mean 'list'"),
        ({"vocabulary": ["hnag"]}, "did you mean 'hang'"),
        ({"vocabulary": []}, "nothing to draw from"),
        ({"vocabulary": ["ping"], "protocol": "2026-07-28"}, "ping needs protocol"),
        ({"vocabulary": ["pages"], "methods": ["call"]}, "pages cannot answer call"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_at_once(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        scripts(**arguments)  # type: ignore[arg-type]


def test_the_same_seed_draws_the_same_scripts() -> None:
    assert collect(scripts(tools=crm()), 100) == collect(scripts(tools=crm()), 100)


# -- what findings shrink to -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("hang", "hang"),
        ("429cap", "429cap"),
        ("rpc", "rpc(-32603)"),
        ("drift", "drift(created>Created)"),
        ("pages", "list:pages"),
        ("dup", "dup"),
        ("block", "block(1)"),
        ("list_changed", "list_changed"),
    ],
)
def test_a_script_with_a_fault_shrinks_to_that_fault_alone(name: str, spelling: str, seed: int) -> None:
    assert shrunk(scripts(tools=crm()), has(name), seed) == spelling


def test_any_script_shrinks_to_ok() -> None:
    assert shrunk(scripts(), lambda script: True) == "ok"


def test_a_script_with_any_fault_shrinks_to_the_simplest() -> None:
    assert shrunk(scripts(), lambda script: script != Script()) == "odd"


def test_a_fault_at_the_second_request_shrinks_to_one_step_behind_an_ok() -> None:
    def holds(script: Script) -> bool:
        first, second = (script.step_for("call", i)[1].answer.name for i in (0, 1))
        return first != "hang" and second == "hang"

    assert shrunk(scripts(), holds) == "ok,hang"


def test_three_hangs_shrink_to_one_repeated_step() -> None:
    hangs = shrunk(scripts(), lambda s: all(s.step_for("call", i)[1].answer.name == "hang" for i in range(3)))
    assert hangs == "hang*3"


def test_a_late_answer_shrinks_to_late() -> None:
    assert shrunk(scripts(), lambda script: any(a.name == "ok" and a.at is not None for a in played(script))) == "late"


def test_a_hang_is_simpler_than_a_late_answer() -> None:
    def holds(script: Script) -> bool:
        answers = [step.answer for step in script.steps]
        return any(each.name == "hang" or (each.name == "ok" and each.at is not None) for each in answers)

    assert shrunk(scripts(), holds) == "hang"


def test_a_pair_of_faults_shrinks_to_that_pair() -> None:
    few = scripts(vocabulary=["error", "429", "429cap", "hang", "dup"])
    assert shrunk(few, lambda script: has("429")(script) and has("429cap")(script)) == "429,429cap"


def test_a_visible_drift_shrinks_to_one_edit() -> None:
    tool = crm()[3]

    def visible(script: Script) -> bool:
        drifts = (action.value for action in played(script) if action.name == "drift")
        return any(not tool.accepts_output(apply(edits, tool.sample_output)) for edits in drifts)  # type: ignore[arg-type]

    assert shrunk(scripts(tools=(tool,)), visible) == "drift(count>Count)"
