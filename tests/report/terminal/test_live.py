"""Progress."""

from __future__ import annotations

import io

from rich.console import Console

from fuzzmcp.report.terminal.live import show_progress
from fuzzmcp.search.result import Budget, Progress


def drawn(*reports: Progress, budget: Budget, live: bool, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=live, highlight=False)
    with show_progress(budget, console, live=live) as on_progress:
        for report in reports:
            on_progress(report)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_plain_lines_come_at_changes_of_phase_and_every_ten_seconds() -> None:
    reports = [
        Progress("sweep", 10, 0, 1.0, None),
        Progress("sweep", 50, 1, 9.0, None),
        Progress("sweep", 70, 1, 11.5, None),
        Progress("fuzz", 80, 2, 12.0, None),
    ]
    assert drawn(*reports, budget=Budget(runs=160), live=False).splitlines() == [
        "sweep: 10 runs · 10 runs/s · 0 findings · 15.0 s left",
        "sweep: 70 runs · 6 runs/s · 1 finding · 14.8 s left",
        "fuzz: 80 runs · 7 runs/s · 2 findings · 12.0 s left",
    ]


def test_time_left_is_the_nearer_end_of_runs_and_time() -> None:
    line = drawn(Progress("fuzz", 100, 0, 10.0, 50.0), budget=Budget(runs=1_000, seconds=20.0), live=False)
    assert "10.0 s left" in line
    over = drawn(Progress("fuzz", 1_100, 0, 10.0, 0.0), budget=Budget(runs=1_000), live=False)
    assert "finishing" in over


def test_the_live_line_fits_80_columns_and_is_wiped_at_the_end() -> None:
    report = Progress("calibrate", 12_345, 12, 83.0, 217.0)
    text = drawn(report, budget=Budget(runs=None, seconds=300.0), live=True, width=80)
    assert "12,345 runs · 149 runs/s · 12 findings · 3 min 37 s left" in text
    assert text.endswith("\x1b[2K")
    assert "\x1b[?25h" in text
