"""The saved report is data: it needs nothing else of fuzzmcp."""

from __future__ import annotations

import subprocess
import sys


def test_the_data_of_a_report_knows_neither_checks_nor_runs_nor_writers() -> None:
    code = "import sys, fuzzmcp.report.model; print(*(name for name in sys.modules if name.startswith('fuzzmcp.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) == {"fuzzmcp.core", "fuzzmcp.core.package", "fuzzmcp.report", "fuzzmcp.report.model"}
