"""Runs one row in its environment: a search, then the main faults one by one, each in a process with a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzmcp.cli.usage import FOUND, INTERRUPTED, NOTHING_FOUND
from fuzzmcp.core.errors import CANNOT_RUN
from fuzzmcp.report import load
from survey.reactions import FAULTS
from survey.results import Reaction, Result, reaction_of, searched
from survey.rows import Row

REACTIONS = Path(__file__).with_name("reactions.py")
REACTION_SECONDS = 180
NO_TELEMETRY = {
    "DO_NOT_TRACK": "1",
    "AGNO_TELEMETRY": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "MCP_USE_ANONYMIZED_TELEMETRY": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}
GRACE = 20
"""Real seconds in which a search that is told to stop writes down what it has."""


@dataclass(frozen=True)
class Budget:
    """How much to try: runs and seed of the search, and the real seconds after which it is cut short."""

    runs: int = 400
    seed: int = 1
    seconds: float = 600


@dataclass(frozen=True)
class Ended:
    """A process that has ended: exit code, or None where it was stopped at its time limit."""

    code: int | None
    stdout: str
    stderr: str


class Processes:
    """The processes that are running, so that Ctrl-C can end them: they have process groups of their own."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, command: Sequence[str], folder: Path, seconds: float) -> Ended:
        """Run a command to its end; after `seconds` it is interrupted, and killed if it goes on."""
        with self._lock:
            if self._stopped:
                return Ended(None, "", "")
            try:
                process = subprocess.Popen(
                    command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True, errors="replace", start_new_session=True, env=_environment(),
                )  # fmt: skip
            except OSError as error:
                return Ended(CANNOT_RUN, "", f"{command[0]}: {error.strerror}")
            self._running.add(process)
        try:
            code: int | None = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                out, err = process.communicate(timeout=seconds)
                code = process.returncode
            if code is None:
                _signal(process, signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    out, err = process.communicate(timeout=GRACE)
            _signal(process, signal.SIGKILL)
            if process.returncode is None:
                out, err = process.communicate()
            return Ended(code, out, err)
        finally:
            with self._lock:
                self._running.discard(process)

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[str], number: int) -> None:
    """To the whole group: a client may have started processes of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _environment() -> dict[str, str]:
    """Ours, without what would change how the client behaves or what it prints, and with nobody told of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FUZZMCP", "MAKE"))}
    kept.pop("GITHUB_STEP_SUMMARY", None)
    return {**kept, **NO_TELEMETRY, "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def survey(row: Row, python: Path, budget: Budget, date: str, processes: Processes) -> Result:
    """Run one row.

    Args:
        row: The client, and where it runs.
        python: The interpreter of its environment.
        budget: How much to try.
        date: What to write down as the day.
        processes: Where its processes are known.
    """
    result: dict[str, Any] = {"row": row.name, "date": date, "seed": budget.seed, "runs": budget.runs}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packages = ",".join(map(package_of, row.adapter.requires))
        command = [str(python), str(REACTIONS), row.adapter.client, *row.options, "--packages", packages]
        seen = processes.run(command, folder, REACTION_SECONDS)
        head, lines = _read(seen.stdout)
        result |= head
        asked = ["--runs", str(budget.runs), "--seed", str(budget.seed), "--no-save", "--report", "json=report.json"]
        command = [str(python), "-m", "fuzzmcp", "run", row.adapter.client, *row.options, *asked]
        done = processes.run(command, folder, budget.seconds)
        file = folder / "report.json"
        if done.code not in (NOTHING_FOUND, FOUND, INTERRUPTED, None) or not file.is_file():
            return Result(**result, failure=_why(done, budget.seconds))
        result |= searched(load.load(file))
    missing = sum(map(len, FAULTS.values())) - len(lines)
    if missing:
        more = f"{missing} faults were not tried: {_why(seen, REACTION_SECONDS)}"
        result["note"] = "; ".join(filter(None, (result["note"], more)))
    return Result(**result, reactions=tuple(lines))


def package_of(requirement: str) -> str:
    """The name of the package in a requirement.

    >>> package_of("pydantic-ai-slim[mcp]>=2")
    'pydantic-ai-slim'
    """
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _read(text: str) -> tuple[dict[str, Any], list[Reaction]]:
    """The versions and the reactions in what `reactions` printed; it may have been stopped in the middle of a line."""
    lines = list(_parsed(text))
    return (lines[0] if lines else {}), list(map(reaction_of, lines[1:]))


def _parsed(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _why(ended: Ended, seconds: float) -> str:
    """Why a process did not do what it should."""
    if ended.code is None:
        return f"not done after {seconds:,.0f} s"
    lines = [line.strip() for line in ended.stderr.splitlines() if line.strip()] or ["it said nothing"]
    told = [line.removeprefix("fuzzmcp: ") for line in lines if line.startswith("fuzzmcp: ")]  # before a traceback
    return f"{(told or lines)[-1][:300]} (exit code {ended.code})"
