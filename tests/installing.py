"""Environments for other versions and frameworks: commands that are run to their end, and whoever installs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS = 1_800
"""Real seconds that one run of pip may take."""


@dataclass(frozen=True)
class Done:
    """How a command ended: its exit code, and all that it printed."""

    code: int
    output: str = ""


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


def interpreter(folder: Path) -> Path:
    """The Python of a virtual environment."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def installer(python: Path) -> list[str]:
    """The command that installs for this interpreter: uv where it is to be had, many times quicker, else its pip."""
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", str(python)]
    return [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]


def reason_of(done: Done) -> str:
    """The last line that says something, and the exit code.

    >>> reason_of(Done(1, "Collecting x\\nERROR: No matching distribution found for x\\n"))
    'No matching distribution found for x (exit code 1)'
    """
    lines = [line.strip(" \t│×╰▶─>") for line in done.output.splitlines()]
    lines = [line for line in lines if line] or ["it said nothing"]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return f"{(errors or lines)[-1][:300]} (exit code {done.code})"
