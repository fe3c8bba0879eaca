"""What fuzzmcp finds, what it shrinks to, and what it does not cry about: the zoo of planted bugs as a benchmark.

    make bench BUGS=RetriesSpendCap,IgnoresRetryAfter SEEDS=5

Each bug is searched for with each seed until its check has a finding. Parts: `finds` (the search), `peace` (false
reports of the reference, of the fixed twins and of the careful agent), `baselines` (uniform random faults without
shrinking; the sweep alone) and `ablation` (the search without drawn interleavings, and without its last pass).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from typing import Any

from benchmark.figures import Find, as_json, row, summary, table
from benchmark.searches import UNIFORM, find, peace
from fuzzmcp.examples import careful_agent
from fuzzmcp.examples.zoo import ZOO
from fuzzmcp.examples.zoo.reference import Client

PARTS = {
    "finds": ("search",),
    "baselines": (UNIFORM, "sweep alone"),
    "ablation": ("fuzz alone", "fuzz without interleavings", "without interleavings", "without last pass"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the parts asked for; exit code 1 when a bug was missed or a client without bugs was accused."""
    options = _parser().parse_args(arguments)
    bugs = options.bugs.split(",") if options.bugs else list(ZOO)
    unknown = [name for name in bugs if name not in ZOO]
    if unknown:
        _parser().error(f"no such bug: {', '.join(unknown)}")
    parts = options.parts.split(",")
    report: dict[str, Any] = {"machine": machine(), "seeds": options.seeds, "budget": options.budget}
    failed = False
    with ProcessPoolExecutor(options.workers) as pool:
        for part in [part for part in PARTS if part in parts]:
            seeds = options.seeds if part == "finds" else min(options.seeds, options.few)
            for method in PARTS[part]:
                finds = list(_finds(pool, bugs, method, seeds, options.budget))
                report[method] = {"summary": summary(finds), "bugs": [row(bug, _of(bug, finds)) for bug in bugs]}
                _say(f"\n== {method}\n{table(report[method]['bugs'])}\n{json.dumps(as_json(summary(finds)))}")
                failed = failed or (part == "finds" and any(f.script is None for f in finds))
        if "peace" in parts:
            report["peace"] = list(_peace(pool, bugs, options.cases))
            failed = failed or any(entry["findings"] for entry in report["peace"])
    print(json.dumps(as_json(report), indent=2))
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bugs", default="", help="names with commas between; all of them by default")
    parser.add_argument("--seeds", type=int, default=30, help="searches for each bug")
    parser.add_argument("--few", type=int, default=5, help="searches for each bug in baselines and ablation")
    parser.add_argument("--budget", type=int, default=2_000, help="runs of one search")
    parser.add_argument("--cases", type=int, default=20_000, help="runs with each client that has no bug")
    parser.add_argument("--parts", default="finds,peace,baselines,ablation", help="what to measure")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser


def _finds(pool: Any, bugs: list[str], method: str, seeds: int, budget: int) -> Iterator[Find]:
    jobs = [pool.submit(find, bug, method, seed, budget) for seed in range(1, seeds + 1) for bug in bugs]
    for done, job in enumerate(jobs, 1):
        if done % 50 == 0:
            _say(f"{method}: {done} of {len(jobs)} searches")
        yield job.result()


def _of(bug: str, finds: Iterable[Find]) -> list[Find]:
    return [found for found in finds if found.bug == bug]


def _peace(pool: Any, bugs: list[str], runs: int) -> Iterator[dict[str, Any]]:
    """The reference and the careful agent on both loops, the twins on one."""
    twins = dict.fromkeys(ZOO[bug].fixed_by for bug in bugs)
    clients = [(client, "asyncio") for client in (Client, *twins)]
    clients += [(Client, "trio"), (careful_agent.connect, "asyncio"), (careful_agent.connect, "trio")]
    jobs = [(*pair, pool.submit(_peaceful, *pair, runs)) for pair in dict.fromkeys(clients)]
    for client, backend, job in jobs:
        entry = {"client": f"{client.__module__}:{client.__qualname__}", "backend": backend, **job.result()}
        _say(json.dumps(entry))
        yield entry


def _peaceful(client: Any, backend: str, runs: int) -> dict[str, Any]:
    result = peace(client, 1, runs, backend)
    found = [f"{finding.check}: {finding.case.script}: {finding.violation.message}" for finding in result.findings]
    checks, _ = result.tally.as_json()
    return {"runs": result.runs, "findings": found, "never_held": [n for n, c in checks.items() if not c["held"]]}


def machine() -> dict[str, Any]:
    """Where the figures come from."""
    packages = {name: version(name) for name in ("mcp", "hypothesis", "anyio")}
    return {"python": platform.python_version(), "processor": platform.machine(), "cores": os.cpu_count(), **packages}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
