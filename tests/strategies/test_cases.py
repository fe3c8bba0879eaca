"""Whole cases: runnable, repeatable, and shrunk to something short."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from fuzzmcp.core.case import Call, Case, CaseError
from fuzzmcp.core.catalogue.tools import crm, evolved, load
from fuzzmcp.core.drift import apply
from fuzzmcp.core.protocol import VERSIONS
from fuzzmcp.core.script import Script
from fuzzmcp.strategies import cases

from .searching import smallest


def spelled(case: Case) -> str:
    return f"{case.script} | {' '.join(map(str, case.calls))}"


def shrunk(holds: Callable[[Case], bool], seed: int = 0, **arguments: Any) -> str:
    return spelled(smallest(cases(**arguments), holds, seed))


def has(name: str) -> Callable[[Case], bool]:
    return lambda case: any(action.name == name for step in case.script.steps for action in step.actions)


@pytest.mark.parametrize("protocol", VERSIONS)
def test_a_case_can_be_run_and_written_down(protocol: str) -> None:
    @settings(max_examples=40)
    @given(cases(protocol=protocol, moments=[5.0, 30.0]))
    def check(case: Case) -> None:
        assert case.protocol == protocol
        assert not case.inapplicable
        assert case.tools == crm()
        assert case.changed == (evolved(crm()) if has("list_changed")(case) else None)
        assert (case.backend, case.schedule) == ("asyncio", 0)
        assert Script.parse(str(case.script)) == case.script
        assert tuple(Call.parse(str(call)) for call in case.calls) == case.calls
        for name, value in case.outputs.items():
            assert next(tool for tool in crm() if tool.name == name).accepts_output(value)

    check()


def test_a_schedule_is_drawn_for_trio_only() -> None:
    assert smallest(cases(backend="trio"), lambda case: case.schedule > 3).schedule == 4


def test_results_from_the_schema_are_drawn_now_and_then() -> None:
    case = smallest(cases(vocabulary=["hang"], max_calls=1), lambda case: case.outputs != {})
    assert spelled(case) == 'ok | get_order(order_id="A1")'
    assert list(case.outputs) == ["get_order"]


def test_own_tools_are_called() -> None:
    mine = load([{"name": "mine", "inputSchema": {"type": "object"}}])

    @settings(max_examples=40)
    @given(cases(mine))
    def check(case: Case) -> None:
        assert {call.tool for call in case.calls} == {"mine"}
        assert case.outputs == {}

    check()


def test_without_interleaving_starts_and_answers_are_not_moved() -> None:
    @settings(max_examples=40)
    @given(cases(interleave=False))
    def check(case: Case) -> None:
        assert {call.at for call in case.calls} <= {None, 0.0}
        assert "0.00" not in str(case.script)

    check()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"vocabulary": ["hnag"]}, "did you mean 'hang'"),
        ({"protocol": "2025"}, "protocol version"),
        ({"methods": ["cal"]}, "did you mean 'call'"),
        ({"tools": ()}, "at least one tool"),
    ],
)
def test_what_cannot_be_drawn_is_an_error_at_once(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cases(**arguments)
    with pytest.raises(CaseError, match="unknown backend"):
        cases(backend="curio")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["hang", "list_changed"])
def test_a_case_with_a_fault_shrinks_to_that_fault_and_one_call(name: str, seed: int) -> None:
    few = ["error", "ping", "hang", "close", "list_changed"]
    assert shrunk(has(name), seed, moments=[5.0], vocabulary=few) == f'{name} | get_order(order_id="A1")'


def test_any_case_shrinks_to_one_call_without_a_fault() -> None:
    assert shrunk(lambda case: True) == 'ok | get_order(order_id="A1")'


@pytest.mark.parametrize("seed", range(2))
def test_a_visible_drift_shrinks_to_one_edit_of_the_first_tool(seed: int) -> None:
    def visible(case: Case) -> bool:
        tool = case.tool(case.calls[0].tool)
        assert tool
        drifts = (a.value for step in case.script.steps for a in step.actions if a.name == "drift")
        return any(not tool.accepts_output(apply(edits, tool.sample_output)) for edits in drifts)  # type: ignore[arg-type]

    assert shrunk(visible, seed) == 'drift(created>Created) | get_order(order_id="A1")'


def test_a_fault_on_the_second_of_two_calls_at_once_shrinks_to_exactly_that() -> None:
    def holds(case: Case) -> bool:
        first, second = (case.script.step_for("call", i)[1].answer.name for i in (0, 1))
        return len(case.calls) > 1 and case.calls[1].at is not None and first != "hang" and second == "hang"

    at_once = shrunk(holds, vocabulary=["error", "hang", "close", "dup"])
    assert at_once == 'ok,hang | get_order(order_id="A1") get_order(order_id="A2")@0'


def test_an_answer_that_overtakes_another_shrinks_to_one_millisecond() -> None:
    def holds(case: Case) -> bool:
        first, second = (case.script.step_for("call", i)[1].answer.at or 0.0 for i in (0, 1))
        at_once = len(case.calls) > 1 and case.calls[1].at is not None
        return at_once and isinstance(first, float) and isinstance(second, float) and first > second

    assert shrunk(holds) == 'ok@0.001 | get_order(order_id="A1") get_order(order_id="A2")@0'


def test_the_moments_of_the_client_are_drawn() -> None:
    late = shrunk(
        lambda case: any(step.answer.at == 7.251 for step in case.script.steps), moments=[7.25], vocabulary=["late"]
    )
    assert late == 'ok@7.251 | get_order(order_id="A1")'


PROGRAM = """
from hypothesis import given, settings
from fuzzmcp.strategies import cases
@settings(max_examples=40, derandomize=True, database=None, deadline=None)
@given(cases(moments=[5.0]))
def look(case):
    print(case.script, *case.calls, dict(case.outputs))
look()
"""


def test_the_same_seed_draws_the_same_cases_in_any_process() -> None:
    def drawn(hash_seed: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
        command = [sys.executable, "-c", PROGRAM]
        return subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60).stdout

    first = drawn("1")
    assert len(first.splitlines()) >= 40
    assert drawn("2") == first


def test_the_faults_of_bytes_are_drawn_over_stdio_and_only_there() -> None:
    assert shrunk(has("split"), transport="stdio") == 'split | get_order(order_id="A1")'
    assert shrunk(has("badutf8"), transport="stdio") == 'badutf8 | get_order(order_id="A1")'
    assert shrunk(has("exit"), transport="stdio") == 'exit | get_order(order_id="A1")'
    with pytest.raises(ValueError, match="split needs transport stdio, not memory"):
        cases(vocabulary=["split"])
    with pytest.raises(ValueError, match="unknown transport 'stdoi'; did you mean 'stdio'"):
        cases(transport="stdoi")
