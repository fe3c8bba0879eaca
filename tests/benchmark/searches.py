"""One search for one planted bug, by fuzzmcp and by what it is compared with."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

from benchmark.figures import Find
from fuzzmcp.api import case_of, contract_of
from fuzzmcp.checks import Violation, judge
from fuzzmcp.core.case import Case
from fuzzmcp.core.script import OK, Action, Script, Step
from fuzzmcp.examples.zoo import ZOO, Bug
from fuzzmcp.harness.run import drive
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, Result, Search
from fuzzmcp.search.findings import Tally
from fuzzmcp.search.job import Job
from fuzzmcp.search.minimize import with_script
from fuzzmcp.search.sweep import answers, extras, workloads

OPTIONS: dict[str, dict[str, Any]] = {
    "search": {},
    "sweep alone": {"phases": ("calibrate", "sweep")},
    "fuzz alone": {"phases": ("calibrate", "fuzz")},
    "fuzz without interleavings": {"phases": ("calibrate", "fuzz"), "interleave": False},
    "without interleavings": {"interleave": False},
    "without last pass": {"last_pass": False},
}
"""The search, and the search without one of its parts."""
UNIFORM = "uniform"
METHODS = (*OPTIONS, UNIFORM)


def find(bug: str, method: str, seed: int, budget: int) -> Find:
    """Search for a planted bug until its check has a finding, or the budget of runs is spent."""
    planted = ZOO[bug]
    return _uniform(planted, seed, budget) if method == UNIFORM else _searched(planted, method, seed, budget)


def _searched(planted: Bug, method: str, seed: int, budget: int) -> Find:
    search = Search(
        Job(target_of(planted.client), case_of(), contract_of(planted.client)),
        seed=seed,
        budget=Budget(runs=budget),
        until=lambda finding: finding.check == planted.check,
        **OPTIONS[method],
    )
    result = search.run()
    finding = next((finding for finding in result.findings if finding.check == planted.check), None)
    exposed = result.exposed.get(planted.check)
    return Find(
        planted.name,
        method,
        seed,
        exposed.runs if exposed else None,
        exposed.seconds if exposed else None,
        spelling(finding.case) if finding else None,
        finding is not None and known(planted, finding.case),
        result.runs,
        *_delivered(result.tally),
    )


def _uniform(planted: Bug, seed: int, budget: int) -> Find:
    """Faults drawn uniformly, on workloads drawn uniformly, and no shrinking: what a first fuzzer would do."""
    draw, base, tally = random.Random(seed), case_of(), Tally()
    target, contract = target_of(planted.client), contract_of(planted.client)
    loads, steps = workloads(base), [*_steps("call", base.protocol), *_steps("list", base.protocol)]
    began = time.perf_counter()
    for number in range(1, budget + 1):
        drawn = tuple(draw.choice(steps) for _ in range(draw.randint(1, 4)))
        case = with_script(draw.choice(loads), Script(drawn))
        run = drive(case, target, contract.limits, quiet=True)
        verdicts = judge(run, contract, [planted.check])
        tally.add(run, verdicts)
        if isinstance(verdicts[planted.check], Violation):
            seconds = time.perf_counter() - began
            end = spelling(case), known(planted, case), number
            return Find(planted.name, UNIFORM, seed, number, seconds, *end, *_delivered(tally))
    return Find(planted.name, UNIFORM, seed, None, None, None, False, budget, *_delivered(tally))


def _steps(method: str, protocol: str) -> list[Step]:
    plain = [Step(answer, method=method) for answer in answers(method, protocol)]
    beside = [Step(Action("ok"), (extra,), method) for extra in extras(method, protocol)]
    late = [Step(replace(OK, at=at), method=method) for at in (1.0, 10.0, 60.0, 3600.0)]
    return plain + beside + late


def spelling(case: Case) -> str:
    """A final script with its calls: what one bug should end in, whatever the seed."""
    return f"{case.script} | {' ; '.join(map(str, case.calls))}"


def known(planted: Bug, case: Case) -> bool:
    """Whether a case is the stored one."""
    return (str(case.script), tuple(map(str, case.calls))) == (planted.script, planted.calls)


def _delivered(tally: Tally) -> tuple[int, int]:
    delivered = sum(tally.injected.values())
    return delivered, delivered + sum(tally.undelivered.values()) + tally.unreached


def peace(client: Any, seed: int, runs: int, backend: str) -> Result:
    """What a search finds in a client that has no bug: nothing, or it cries wolf."""
    job = Job(target_of(client), case_of(backend=backend), contract_of(client))
    return Search(job, seed=seed, budget=Budget(runs=runs)).run()
