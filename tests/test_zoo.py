"""The zoo: a client without bugs, and one client for each bug."""

from __future__ import annotations

import ast
import importlib
import inspect
from functools import cache

import pytest

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import Call
from fuzzmcp.core.script import Script
from fuzzmcp.examples.zoo import THEMES, ZOO, Bug
from fuzzmcp.examples.zoo.reference import Client
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, Search
from fuzzmcp.search.job import Job

EACH = pytest.mark.parametrize("planted", ZOO.values(), ids=ZOO)
LINES_MAX = 25


def test_the_reference_is_a_client() -> None:
    assert target_of(Client).role == "client"


def test_the_reference_holds_every_check_in_a_search() -> None:
    result = Search(Job(target_of(Client), case_of()), seed=2, budget=Budget(runs=220)).run()
    assert result.findings == []
    checks, _ = result.tally.as_json()
    assert [name for name in CHECKS if not checks[name]["held"]] == []


def test_the_reference_holds_on_trio_as_well() -> None:
    job = Job(target_of(Client), case_of(backend="trio"))
    assert Search(job, seed=2, budget=Budget(runs=60), phases=("fuzz",)).run().findings == []


@pytest.mark.parametrize(
    ("script", "requests", "seconds"),
    [
        ("429", 2, 2.0),
        ("429(2.5,style=json)*", 3, 5.0),
        ("429(none)*", 3, 3.0),
        ("429(3600)", 1, 0.0),
        ("429cap", 1, 0.0),
        ("429cap(style=json)", 1, 0.0),
        ("504*", 3, 3.0),
        ("529(style=json)*", 3, 3.0),
        ("error", 1, 0.0),
        ("rpc(-32603)", 1, 0.0),
        ("hang", 1, 25.0),
    ],
)
def test_the_reference_sends_again_what_can_help_and_no_more(script: str, requests: int, seconds: float) -> None:
    run = fuzzmcp.check(Client, script)
    assert len(run.requests_of(0)) == requests
    assert run.outcomes[0].ended - run.outcomes[0].started == seconds


def test_the_reference_sends_nothing_again_that_may_have_run() -> None:
    run = fuzzmcp.check(Client, "504", calls=['refund_order(order_id="A1", amount=20.5)'])
    assert len(run.requests_of(0)) == 1


def test_the_reference_is_not_blamed_for_a_change_that_it_was_told_of_too_late() -> None:
    run = fuzzmcp.check(Client, "list:pages+list_changed@0.5,list:block(5)@0.5")
    assert run.probe is not None
    assert run.probe.status == "raised"
    assert run.undelivered


def test_the_reference_gives_up_on_a_catalogue_that_never_stands_still() -> None:
    run = fuzzmcp.check(Client, "list:ok+list_changed*")
    assert "changes faster" in str(run.outcomes[0].error)
    assert run.requests_of(0) == ()


# -- the bugs ---------------------------------------------------------------------------------------------------------


@EACH
def test_the_stored_script_shows_the_bug(planted: Bug) -> None:
    run = fuzzmcp.run(planted.client, planted.script, calls=planted.calls)
    assert planted.check in fuzzmcp.violations(run, checks=[planted.check])


@EACH
def test_the_fixed_twin_passes_the_stored_script(planted: Bug) -> None:
    assert issubclass(planted.fixed_by, Client)
    fuzzmcp.check(planted.fixed_by, planted.script, calls=planted.calls)


@EACH
def test_the_stored_case_is_spelled_as_reports_spell_it(planted: Bug) -> None:
    assert str(Script.parse(planted.script)) == planted.script
    assert tuple(str(Call.parse(call)) for call in planted.calls) == planted.calls


@cache
def classes(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module, by name, as they are written."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


@EACH
def test_a_bug_is_a_small_change_with_a_sentence_about_it(planted: Bug) -> None:
    node = classes(planted.client.__module__)[planted.client.__name__]
    assert ast.get_docstring(node)
    own = node.body[1:]
    assert own, "a bug changes something"
    assert (own[-1].end_lineno or 0) - node.body[0].end_lineno <= LINES_MAX
    assert planted.seen


def test_every_bug_has_a_name_of_its_own_and_is_known() -> None:
    assert {planted.client.__module__ for planted in ZOO.values()} == {theme.__name__ for theme in THEMES}
    assert sum(inspect.getsource(theme).count("\n@bug(") for theme in THEMES) == len(ZOO)
