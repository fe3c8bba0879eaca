"""The progress of a search: one live line on a terminal, plain lines anywhere else.

Nothing here has a thread or reads a clock. It draws only when the search reports, so it cannot disturb a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fuzzmcp.report.escape import counted, duration
from fuzzmcp.search.result import Budget, Progress

_EVERY = 10.0
"""Seconds between two plain lines of one phase."""
_BAR = 24


@contextmanager
def show_progress(budget: Budget, console: Console, *, live: bool) -> Iterator[Callable[[Progress], None]]:
    """Show progress while the block runs.

    Args:
        budget: The runs and seconds after which the search ends.
        console: The terminal.
        live: Redraw one line. Otherwise print a line at each change of phase and every ten seconds.

    Yields:
        A function to call with each `Progress`.
    """
    if not live:
        yield _Lines(budget, console)
        return
    # The client's prints are the harness's business: were they redirected here as well, each would undo the other.
    with Live(
        console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as area:
        yield lambda progress: area.update(_drawn(progress, budget, console.width), refresh=True)


@dataclass
class _Lines:
    budget: Budget
    console: Console
    phase: str = ""
    last: float = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.phase == self.phase and progress.seconds - self.last < _EVERY:
            return
        self.phase, self.last = progress.phase, progress.seconds
        self.console.print(f"{progress.phase or 'start'}: {_facts(progress, self.budget)}", soft_wrap=True)


def _drawn(progress: Progress, budget: Budget, width: int) -> Table:
    grid = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=1.0, completed=_share(progress, budget), width=min(max(width - 70, 5), _BAR))
    grid.add_row(Text(f"{progress.phase:9}", "bold"), bar, Text(_facts(progress, budget), no_wrap=True))
    return grid


def _share(progress: Progress, budget: Budget) -> float:
    """The used part of the budget, from 0 to 1: the larger one of the parts of runs and of time."""
    by_runs = progress.runs / budget.runs if budget.runs else 0.0
    by_time = progress.seconds / budget.seconds if budget.seconds else 0.0
    return min(max(by_runs, by_time), 1.0)


def _facts(progress: Progress, budget: Budget) -> str:
    rate = progress.runs / progress.seconds if progress.seconds > 0 else 0.0
    share = _share(progress, budget)
    left = progress.seconds / share - progress.seconds if share else None
    parts = [counted(progress.runs, "run"), f"{rate:,.0f} runs/s", counted(progress.findings, "finding")]
    if left is not None:
        parts.append(f"{duration(left)} left" if left >= 1 else "finishing")
    return " · ".join(parts)
