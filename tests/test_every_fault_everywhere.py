"""A fault is one row and one function: this is what fails when something of a new one is forgotten.

That the README names it is in `test_readme`, that a bug of the zoo needs it in `test_promises`.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from fuzzmcp.core.case import Case
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.fault_row import Fault
from fuzzmcp.core.faults import ANSWERS, BY_NAME, EXTRAS, FAULTS
from fuzzmcp.core.protocol import METHODS, TRANSPORTS, VERSIONS
from fuzzmcp.core.script import Script, action
from fuzzmcp.harness.server.answers import BUILDERS
from fuzzmcp.harness.server.extras import PLAYERS
from fuzzmcp.harness.server.pages import FIRST_PAGES
from fuzzmcp.report.terminal.vocabulary import example
from fuzzmcp.search.stacking import TRANSIENT
from fuzzmcp.search.sweep import sweep
from fuzzmcp.strategies import _kinds

EACH = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


def test_every_answer_has_a_function_and_every_function_a_row() -> None:
    assert set(BUILDERS) == set(ANSWERS)


def test_every_extra_has_a_function_and_every_function_a_row() -> None:
    assert set(PLAYERS) == set(EXTRAS)


def test_every_answer_to_a_listing_alone_has_a_page_of_its_own() -> None:
    assert set(FIRST_PAGES) == {name for name, fault in ANSWERS.items() if fault.methods == ("list",)}


@EACH
def test_every_fault_explains_itself_with_an_example(fault: Fault) -> None:
    assert fault.summary
    assert fault.detail
    assert fault.name in {action.name for step in Script.parse(example(fault)).steps for action in step.actions}


@cache
def swept() -> frozenset[str]:
    """The faults of the first 2,000 cases of the sweeps: what stands alone is among them."""
    cases = (
        case
        for version, transport in product(VERSIONS, TRANSPORTS)
        for _, case in zip(range(2_000), sweep(Case(protocol=version, transport=transport), (30.0,)), strict=False)
    )
    return frozenset(played.name for case in cases for step in case.script.steps for played in step.actions)


@EACH
def test_the_sweep_plays_every_fault(fault: Fault) -> None:
    assert fault.name in swept()


@cache
def drawn() -> frozenset[str]:
    found: set[str] = set()
    for carrier in product(VERSIONS, TRANSPORTS):
        found |= {kind.name for kind in _kinds.answer_kinds(carrier, tuple(METHODS), None, (), crm())}
        found |= {kind.name for method in METHODS for kind in _kinds.extra_kinds(carrier, method, None, ())}
    return frozenset(found)


@EACH
def test_the_strategies_draw_every_fault(fault: Fault) -> None:
    assert fault.name in drawn()


@EACH
def test_every_value_of_a_row_is_one_that_a_script_can_say(fault: Fault) -> None:
    assert fault.takes or not (fault.values or fault.swept or fault.simpler)
    for value in {*fault.values, *fault.swept, *fault.simpler}:
        text = f"{fault.methods[0]}:{action(fault.name, value)}"
        (step,) = Script.parse(text).steps
        assert action(fault.name, value) in step.actions


@EACH
def test_a_required_value_is_known_to_the_sweep_and_the_strategies(fault: Fault) -> None:
    if fault.required:
        assert fault.swept
        assert fault.values


@EACH
def test_execution_errors_say_something_and_nothing_else_does(fault: Fault) -> None:
    assert (fault.says is not None) == ("execution_error" in fault.traits)


@EACH
def test_what_never_comes_is_told_by_the_timeline(fault: Fault) -> None:
    assert fault.silence or fault.timing != "never"


def test_stack_plays_every_transient_fault() -> None:
    played = {Script.parse(text).steps[0].answer.name for text in TRANSIENT}
    assert played >= {name for name, fault in BY_NAME.items() if "transient" in fault.traits}
