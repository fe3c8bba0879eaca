"""What a killed search leaves is the first that the next one tries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.database import InMemoryExampleDatabase

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.examples import naive_agent
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, Search
from fuzzmcp.search.job import Job
from fuzzmcp.search.pending import _KEY, Pending
from fuzzmcp.strategies import cases


@given(cases(crm()))
@settings(suppress_health_check=list(HealthCheck))
def test_a_case_is_kept_as_it_is(case: Case) -> None:
    database = InMemoryExampleDatabase()
    Pending(database, case_of()).add(case)
    assert Pending(database, case_of()).left() == [case]


def test_what_is_settled_is_kept_no_longer() -> None:
    database = InMemoryExampleDatabase()
    pending = Pending(database, case_of())
    pending.add(case_of("429cap"))
    pending.add(case_of("429"))
    pending.settled()
    assert Pending(database, case_of()).left() == []


def test_what_cannot_be_read_is_let_go_of() -> None:
    database = InMemoryExampleDatabase()
    for data in (
        b"",
        b"\xff",
        b"[]",
        b'{"faults": "429kap", "calls": [], "outputs": {}, "schedule": 0}',
        b'{"faults": 3}',
    ):
        database.save(_KEY, data)
    pending = Pending(database, case_of())
    assert pending.left() == []
    pending.settled()
    assert list(database.fetch(_KEY)) == []


def test_a_case_with_a_secret_of_the_users_does_not_get_into_the_database() -> None:
    database = InMemoryExampleDatabase()
    case = case_of("429", calls=[Call("get_order", {"api_key": "hunter2"})])
    Pending(database, case).add(case)
    assert list(database.fetch(_KEY)) == []


def test_values_that_the_search_has_drawn_are_kept_whatever_their_names() -> None:
    database = InMemoryExampleDatabase()
    case = case_of("429", calls=[Call("get_order", {"api_key": "drawn", "sort_key": "asc"})])
    Pending(database, case_of()).add(case)
    assert Pending(database, case_of()).left() == [case]


class Killed(BaseException):
    """What happens to a process at the worst moment."""


@pytest.mark.parametrize("phase", ["sweep", "fuzz"])
def test_a_search_killed_while_it_shrinks_loses_nothing(phase: str) -> None:
    database = InMemoryExampleDatabase()
    killed = search(database, seed=1, phases=(phase,))
    _kill_at_the_next_run_after_a_violation(killed)
    with pytest.raises(Killed):
        killed.run()
    assert killed.result.findings == []
    after = search(database, seed=2, phases=("corpus",))
    after.run()
    assert [str(finding.case.script) for finding in after.result.findings] == ["429cap"]
    assert list(database.fetch(_KEY)) == [], "it is settled now"
    assert search(InMemoryExampleDatabase(), seed=2, phases=("corpus",)).run().findings == []


def test_a_search_that_ends_leaves_nothing() -> None:
    database = InMemoryExampleDatabase()
    assert len(search(database, seed=1, runs=60).run().findings) == 1
    assert list(database.fetch(_KEY)) == []


def search(database: Any, seed: int, runs: int = 300, **options: Any) -> Search:
    job = Job(target_of(naive_agent.connect), case_of(), checks=("spend_cap",))
    return Search(job, seed=seed, budget=Budget(runs), database=database, **options)


def _kill_at_the_next_run_after_a_violation(search: Search) -> None:
    judge, replay = search._judge, search._replay
    seen: list[Any] = []

    def watched(run: Any, **options: Any) -> Any:
        found = judge(run, **options)
        seen.extend(found)
        return found

    def interrupted(case: Case) -> Any:
        if seen:
            raise Killed
        return replay(case)

    search._judge, search._replay = watched, interrupted  # type: ignore[method-assign]
