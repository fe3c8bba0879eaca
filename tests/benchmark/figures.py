"""Figures of many searches: pure functions from finds to rows."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

RESAMPLES = 1_000


@dataclass(frozen=True)
class Find:
    """How one search for one planted bug ended.

    Args:
        bug: Name of the bug.
        method: `search`, or the name of a baseline.
        seed: Of the search.
        exposed: Runs until its check was first violated; None where that never was.
        seconds: Real seconds until then.
        script: The final script, with its calls, or None where there is no finding.
        known: Whether that is the stored one.
        runs: Runs of the whole search.
        delivered: Scripted faults that really happened.
        scripted: Scripted faults in all.
    """

    bug: str
    method: str
    seed: int
    exposed: int | None
    seconds: float | None
    script: str | None
    known: bool
    runs: int
    delivered: int
    scripted: int


@dataclass(frozen=True)
class Row:
    """What many searches for one bug say. A median is infinite when half of them missed it."""

    bug: str
    found: int
    searches: int
    runs: float
    runs_interval: tuple[float, float]
    seconds: float
    known: int
    scripts: int
    shrinking: float


def row(bug: str, finds: Sequence[Find]) -> Row:
    """Sum up the searches for one bug.

    >>> row("B", [Find("B", "search", 1, 20, 0.2, "429", True, 25, 9, 10)]).known
    1
    """
    exposures = [math.inf if find.exposed is None else float(find.exposed) for find in finds]
    met = [find for find in finds if find.script is not None]
    return Row(
        bug=bug,
        found=len(met),
        searches=len(finds),
        runs=statistics.median(exposures),
        runs_interval=interval(exposures),
        seconds=statistics.median(math.inf if find.seconds is None else find.seconds for find in finds),
        known=sum(find.known for find in met),
        scripts=len({find.script for find in met}),
        shrinking=statistics.median([find.runs - (find.exposed or 0) for find in met] or [math.inf]),
    )


def interval(values: Sequence[float], share: float = 0.95) -> tuple[float, float]:
    """A bootstrap interval of the median; missed searches count as infinite, that is as censored.

    >>> interval([3.0, 3.0, 3.0])
    (3.0, 3.0)
    """
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    edge = (1 - share) / 2
    return medians[math.floor(edge * RESAMPLES)], medians[math.ceil((1 - edge) * RESAMPLES) - 1]


def summary(finds: Sequence[Find]) -> dict[str, Any]:
    """The figures of one method over all bugs."""
    bugs = sorted({find.bug for find in finds})
    met = [find for find in finds if find.script is not None]
    exposures = [math.inf if find.exposed is None else float(find.exposed) for find in finds]
    return {
        "bugs": len(bugs),
        "bugs_found_by_every_seed": sum(all(f.script is not None for f in finds if f.bug == bug) for bug in bugs),
        "searches": len(finds),
        "found": len(met),
        "median_runs_to_exposure": statistics.median(exposures),
        "interval": interval(exposures),
        "known_script_share": round(sum(find.known for find in met) / len(met), 4) if met else None,
        "bugs_with_one_script": sum(len({f.script for f in met if f.bug == bug}) == 1 for bug in bugs),
        "delivered_share": share((find.delivered, find.scripted) for find in finds),
    }


def share(pairs: Iterable[tuple[int, int]]) -> float | None:
    """The first numbers over the second ones, all in all; None of nothing.

    >>> share([(1, 2), (2, 2)])
    0.75
    """
    pairs = list(pairs)
    whole = sum(second for _, second in pairs)
    return round(sum(first for first, _ in pairs) / whole, 4) if whole else None


def as_json(value: Any) -> Any:
    """A row or figure as JSON knows it: what is infinite becomes None."""
    if isinstance(value, float):
        return None if math.isinf(value) else round(value, 3)
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return as_json(asdict(value)) if isinstance(value, (Find, Row)) else value


def table(rows: Iterable[Row]) -> str:
    """Rows as text, the slowest to find first."""
    head = f"{'bug':32} {'found':>7} {'runs (95 %)':>20} {'seconds':>8} {'known':>7} {'scripts':>7} {'shrinking':>9}"
    lines = [head]
    for r in sorted(rows, key=lambda r: (-r.runs, r.bug)):
        spread = f"{_short(r.runs)} ({_short(r.runs_interval[0])}-{_short(r.runs_interval[1])})"
        found, known = f"{r.found}/{r.searches}", f"{r.known}/{r.found}"
        seconds = "missed" if math.isinf(r.seconds) else f"{r.seconds:.2f}"
        lines.append(
            f"{r.bug:32} {found:>7} {spread:>20} {seconds:>8} {known:>7} {r.scripts:>7} {_short(r.shrinking):>9}"
        )
    return "\n".join(lines)


def _short(value: float) -> str:
    return "missed" if math.isinf(value) else f"{value:.0f}"
