"""The vocabulary, explained."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from fuzzmcp.core.fault_row import Fault
from fuzzmcp.core.faults import BY_NAME, FAULTS
from fuzzmcp.core.script import Script
from fuzzmcp.report.terminal.vocabulary import TRAITS, example, show_fault, show_faults, spellings


def explained(fault: Fault, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    show_fault(fault, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_example_of_every_fault_is_a_script_that_plays_it(fault: Fault) -> None:
    script = Script.parse(example(fault))
    assert fault.name in {action.name for step in script.steps for action in step.actions}
    assert f"FAULTS='{example(fault)}'" in explained(fault)


def test_every_trait_is_said_in_words() -> None:
    assert {trait for fault in FAULTS for trait in fault.traits} == set(TRAITS)


def test_a_fault_is_explained_with_its_grammar_value_and_place() -> None:
    assert spellings(BY_NAME["429"]) == ["429", "429(SECONDS)", "429(none)", "429(style=json)"]
    assert spellings(BY_NAME["rpc"]) == ["rpc(CODE)"]
    text = explained(BY_NAME["elicit"])
    assert "list (tools/list), call (tools/call)" in text
    assert "2025-06-18, 2025-11-25" in text
    assert "there is none: the value must be given" in explained(BY_NAME["block"])
    assert "40,000" in explained(BY_NAME["huge"])


def test_the_table_fits_80_columns() -> None:
    console = Console(file=io.StringIO(), width=80)
    show_faults(console)
    assert isinstance(console.file, io.StringIO)
    assert all(len(line) <= 80 for line in console.file.getvalue().splitlines())
