"""Makes the environments of old versions: the library as it was, and fuzzmcp beside it without asking whether it fits.

What fuzzmcp needs is installed but for the SDK, which is the library's own affair.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

INSTALL_SECONDS = 1_800
"""Real seconds that one run of pip may take."""


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, and all that it printed."""

    code: int
    output: str = ""


@dataclass(frozen=True)
class Ready:
    """An environment: its interpreter, and why it cannot be used, or None."""

    python: Path
    failure: str | None = None


def run(command: Sequence[str]) -> Done:
    """Run a command to its end."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=INSTALL_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Done(1, f"not done after {INSTALL_SECONDS:,} s")
    except OSError as error:
        return Done(1, f"{command[0]}: {error.strerror}")
    return Done(done.returncode, done.stdout)


def ready(folder: Path, requirements: Sequence[str], root: Path, run: Callable[[Sequence[str]], Done] = run) -> Ready:
    """Make an environment that has these requirements, and this checkout beside them. One that is there costs nothing.

    With uv where it is to be had, which is many times quicker, else with pip.

    Args:
        folder: Where.
        requirements: What pip is asked for.
        root: The root of the repository.
        run: Runs a command.
    """
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    record, wanted = folder / "installed.json", [*requirements, *beside(root)]
    if _had(record) == wanted:
        return Ready(python)
    uv = shutil.which("uv")
    if uv:
        made, install = ["--without-pip"], [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        made, install = [], [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    commands = [
        [sys.executable, "-m", "venv", "--clear", *made, str(folder)],
        [*install, *wanted],
        [*install, "--no-deps", "--editable", str(root)],
    ]
    for command in commands:
        done = run(command)
        if done.code:
            return Ready(python, f"not installed: {reason_of(done)}")
    record.write_text(json.dumps(wanted, indent=1) + "\n", "utf-8")
    return Ready(python)


def beside(root: Path) -> list[str]:
    """What fuzzmcp itself needs, without the SDK."""
    project = tomlkit.parse((root / "pyproject.toml").read_text("utf-8")).unwrap()["project"]
    return [need for need in project["dependencies"] if not need.startswith("mcp>")]


def _had(record: Path) -> list[str] | None:
    try:
        found = json.loads(record.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, list) else None


def reason_of(done: Done) -> str:
    """The last line that says something, and the exit code.

    >>> reason_of(Done(1, "Collecting x\\nERROR: No matching distribution found for x\\n"))
    'No matching distribution found for x (exit code 1)'
    """
    lines = [line.strip() for line in done.output.splitlines() if line.strip()] or ["it said nothing"]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return f"{(errors or lines)[-1][:300]} (exit code {done.code})"
