"""Makes the environments of old versions: the library as it was, and fuzzmcp beside it without asking whether it fits.

What fuzzmcp needs is installed but for the SDK, which is the library's own affair.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from installing import Done, installer, interpreter, reason_of, run


@dataclass(frozen=True)
class Ready:
    """An environment: its interpreter, and why it cannot be used, or None."""

    python: Path
    failure: str | None = None


def ready(folder: Path, requirements: Sequence[str], root: Path, run: Callable[[Sequence[str]], Done] = run) -> Ready:
    """Make an environment that has these requirements, and this checkout beside them. One that is there costs nothing.

    With uv where it is to be had, which is many times quicker, else with pip.

    Args:
        folder: Where.
        requirements: What pip is asked for.
        root: The root of the repository.
        run: Runs a command.
    """
    python = interpreter(folder)
    record, wanted = folder / "installed.json", [*requirements, *beside(root)]
    if _had(record) == wanted:
        return Ready(python)
    install = installer(python)
    made = [] if install[0] == str(python) else ["--without-pip"]
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
