"""Run the clients that people use, and write the page about them.

    make clients
    make clients CLIENTS=fastmcp,langchain RUNS=400 SEED=1

A client is named as in `fuzzmcp.clients`, or by one of its rows (`fastmcp-mcp1`). What is known of the others stays.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime, timezone
from pathlib import Path

from fuzzmcp.report.escape import counted
from survey import environments, verdicts
from survey.cases import save_true
from survey.driving import Budget, Processes, survey
from survey.page import page
from survey.results import Result, store, stored
from survey.rows import Row, UnknownClient, chosen, rows_of

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "examples" / "clients"
AT_ONCE = 2
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for and write the page, which also says of each client that could not be run why."""
    parser = _parser()
    options = parser.parse_args(arguments)
    rows = rows_of()
    try:
        wanted = () if options.page else chosen(filter(None, options.clients.split(",")), rows)
        known = verdicts.read(PLACE / "verdicts.toml")
    except (UnknownClient, verdicts.VerdictError) as error:
        parser.error(str(error))
    # A shell that starts a command in the background lets it ignore SIGINT, and its processes inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    code = _run(wanted, Budget(options.runs, options.seed, options.seconds)) if wanted else 0
    write(rows, known)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", default="", help="names with commas between; all of them by default")
    parser.add_argument("--runs", type=int, default=Budget.runs, help="runs of each search")
    parser.add_argument("--seed", type=int, default=Budget.seed, help="seed of each search")
    parser.add_argument("--seconds", type=float, default=Budget.seconds, help="real seconds that a search may take")
    parser.add_argument("--page", action="store_true", help="run nothing: only write the page and the cases again")
    return parser


def _run(rows: Sequence[Row], budget: Budget) -> int:
    """Run the rows, two at a time, and store each result as soon as it is there; 130 when interrupted."""
    processes = Processes()
    date = datetime.now(timezone.utc).date().isoformat()
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        ready = _environments(rows)
        jobs = []
        for row in rows:
            why = ready[row.environment.name].why_not(row.adapter.requires)
            if why is None:
                jobs.append(pool.submit(_timed, row, ready[row.environment.name].python, budget, date, processes))
            else:
                _keep(Result(row.name, date, budget.seed, budget.runs, failure=f"not installed: {why}"))
        for job in as_completed(jobs):
            result, seconds = job.result()
            _keep(result, seconds)
    except KeyboardInterrupt:
        _say("interrupted: what is done is kept")
        return INTERRUPTED
    finally:
        processes.stop()
        pool.shutdown(cancel_futures=True)
    return 0


def _environments(rows: Sequence[Row]) -> dict[str, environments.Ready]:
    """Each environment that these rows need, one after the other."""
    found = {}
    for place in dict.fromkeys(row.environment for row in rows):
        needs = sorted({need for row in rows if row.environment is place for need in row.adapter.requires})
        began = time.monotonic()
        _say(f"{place.folder}: {', '.join((place.pin, *needs))}")
        found[place.name] = environments.ready(place, needs, ROOT)
        _say(f"{place.folder}: ready after {time.monotonic() - began:.0f} s")
        for need, why in found[place.name].failures.items():
            _say(f"{place.folder}: {need or 'the SDK'} could not be installed: {why}")
    return found


def _timed(row: Row, python: Path, budget: Budget, date: str, processes: Processes) -> tuple[Result, float]:
    _say(f"{row.name}: started")
    began = time.monotonic()
    try:
        result = survey(row, python, budget, date, processes)
    except Exception as error:  # whatever it is, the other clients go on
        reason = f"{type(error).__name__}: {error}"
        result = Result(row.name, date, budget.seed, budget.runs, failure=reason)
    return result, time.monotonic() - began


def _keep(result: Result, seconds: float = 0.0) -> None:
    store(PLACE / "results", result)
    if result.failure is not None:
        _say(f"{result.row}: {result.failure}")
        return
    broken = ", ".join(name for name, status in result.checks.items() if status == "violated")
    found = f"{counted(len(result.findings), 'finding')}: {broken}" if broken else "nothing found"
    _say(f"{result.row}: {seconds:.0f} s, {found}" + (f" ({result.note})" if result.note else ""))


def write(rows: Sequence[Row], known: Iterable[verdicts.Verdict]) -> None:
    """Write the page and the cases, and say what nobody has looked at."""
    known = tuple(known)
    results = stored(PLACE / "results", [row.name for row in rows])
    (PLACE / "README.md").write_text(page(rows, results, known), "utf-8")
    all_seen = verdicts.seen(rows, results, known)
    for path in save_true(PLACE / "cases", all_seen, results):
        _say(f"saved {path.relative_to(ROOT)}")
    for one in all_seen:
        if one.verdict is None:
            _say(f"not looked at: {one.row.name}: {one.found.check}: {one.found.faults}: {one.found.message}")
    for verdict in verdicts.unused(known, all_seen):
        _say(f"a verdict is said of nothing: {', '.join(verdict.clients)}: {verdict.check}: {verdict.why}")
    _say(f"wrote {(PLACE / 'README.md').relative_to(ROOT)}")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")  # in one piece: two threads say things
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
