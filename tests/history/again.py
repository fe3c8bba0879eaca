"""Search both versions of each pair, and write the page about them.

    make history
    make history PAIRS=mcp-log-freezes,mcp-close-unnoticed SEEDS=3

What is known of the other pairs stays.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import datetime, timezone
from pathlib import Path
from threading import Event

from fuzzmcp import __version__
from fuzzmcp.core.spelling import meant
from history.driving import drive
from history.environments import Ready, ready
from history.page import page
from history.pairs import BY_NAME, PAIRS, Pair
from history.results import Half, Result, store, stored

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "examples" / "clients"
AT_ONCE = 2
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for and write the page; 1 when a pair was not told apart, 130 when interrupted."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = [name for name in options.pairs.split(",") if name] or list(BY_NAME)
    for name in names:
        if name not in BY_NAME:
            parser.error(f"no such pair: '{name}'" + meant(name, BY_NAME))
    code = 0
    if not options.page:
        code = _run([BY_NAME[name] for name in names], range(1, options.seeds + 1), options.at_once)
    results = stored(PLACE / "history", BY_NAME)
    PLACE.mkdir(parents=True, exist_ok=True)
    (PLACE / "HISTORY.md").write_text(page(PAIRS, results), "utf-8")
    _say(f"wrote {(PLACE / 'HISTORY.md').relative_to(ROOT)}")
    if code:
        return code
    return int(any(name not in results or not results[name].told_apart(BY_NAME[name]) for name in names))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make history", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", default="", help="names with commas between; all of them by default")
    parser.add_argument("--seeds", type=int, default=3, help="searches of each version")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="pairs that are searched at the same time")
    parser.add_argument("--page", action="store_true", help="run nothing: only write the page again")
    return parser


def _run(pairs: Sequence[Pair], seeds: Sequence[int], at_once: int) -> int:
    """Install, then search; each result is kept as soon as it is there."""
    pool, stopped = ThreadPoolExecutor(at_once), Event()
    try:
        made = _environments(pairs, pool)
        jobs = {pool.submit(_result, pair, made, seeds, stopped): pair for pair in pairs}
        for job in as_completed(jobs):
            pair, result = jobs[job], job.result()
            store(PLACE / "history", result)
            _say(f"{pair.name}: {_summary(pair, result)}")
    except KeyboardInterrupt:
        stopped.set()  # the running processes have heard it too; nothing is started behind them
        _say("interrupted: what is done is kept")
        return INTERRUPTED
    finally:
        pool.shutdown(cancel_futures=True)
    return 0


def _environments(pairs: Sequence[Pair], pool: ThreadPoolExecutor) -> dict[str, Future[Ready]]:
    """Each environment that these pairs need, once; pairs of the same version share one."""
    made: dict[str, Future[Ready]] = {}
    for pair in pairs:
        for version in (pair.affected, pair.fixed):
            folder = folder_of(pair, version)
            if folder not in made:
                made[folder] = pool.submit(_made, folder, pair.requirements(version))
    return made


def folder_of(pair: Pair, version: str) -> str:
    """The name of the environment."""
    return f".venv-history-{pair.package}-{version}"


def _made(folder: str, requirements: Sequence[str]) -> Ready:
    found = ready(ROOT / folder, requirements, ROOT)
    _say(f"{folder}: {found.failure or 'ready'}")
    return found


def _result(pair: Pair, made: dict[str, Future[Ready]], seeds: Sequence[int], stopped: Event) -> Result:
    versions = (pair.affected, pair.fixed)
    halves = [_half(pair, made[folder_of(pair, version)].result(), seeds, stopped) for version in versions]
    date = datetime.now(timezone.utc).date().isoformat()
    return Result(pair.name, date, __version__, platform.python_version(), *halves)


def _half(pair: Pair, environment: Ready, seeds: Sequence[int], stopped: Event) -> Half:
    if stopped.is_set():
        return Half(failure="interrupted")
    if environment.failure is not None:
        return Half(failure=environment.failure)
    try:
        return drive(pair, environment.python, seeds)
    except Exception as error:  # whatever it is, the other pairs go on
        return Half(failure=f"{type(error).__name__}: {error}")


def _summary(pair: Pair, result: Result) -> str:
    told = []
    for version, half in ((pair.affected, result.affected), (pair.fixed, result.fixed)):
        if half.failure is not None:
            told.append(f"{version} {half.failure}")
            continue
        seconds = ", ".join(f"{search.seconds:.0f} s" for search in half.searches)
        told.append(f"{version} {half.found(pair)} of {len(half.searches)} ({seconds}; replay {half.replayed})")
    return f"{'told apart' if result.told_apart(pair) else 'NOT told apart'}: {'; '.join(told)}"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")  # in one piece: two threads say things
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
