"""Makes the virtual environments: once, with pip, and so that one framework that cannot be installed stops no other."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from installing import Done, installer, interpreter, reason_of, run

from survey.rows import Environment


@dataclass(frozen=True)
class Ready:
    """An environment as it is now.

    Args:
        python: Its interpreter.
        failures: What could not be installed, by requirement, each with the reason; under the empty name the reason
            why nothing could be.
    """

    python: Path
    failures: dict[str, str] = field(default_factory=dict)

    def why_not(self, requirements: Iterable[str]) -> str | None:
        """Why a client that needs these cannot run here; None where it can."""
        names = ("", *requirements)
        return next((self.failures[name] for name in names if name in self.failures), None)


def ready(
    environment: Environment, requirements: Iterable[str], root: Path, run: Callable[[Sequence[str]], Done] = run
) -> Ready:
    """Make an environment that has these requirements, the SDK and this checkout. What is there already costs nothing.

    All at once, so that the resolver sees everything; where that fails one after the other, and what fails is left out.

    Args:
        environment: Which.
        requirements: What the clients to run need.
        root: The root of the repository.
        run: Runs a command.
    """
    folder = root / environment.folder
    python = interpreter(folder)
    record, project = folder / "installed.json", _fingerprint(root, environment)
    had = _had(record, project)
    wanted = [need for need in dict.fromkeys(requirements) if need not in (had or ())]
    if had is not None and not wanted:
        return Ready(python)
    if not python.exists():
        done = run([sys.executable, "-m", "venv", str(folder)])
        if done.code:
            return Ready(python, {"": f"venv: {reason_of(done)}"})

    def installed(needs: Sequence[str]) -> Done:
        return run([*installer(python), "--editable", str(root), environment.pin, *needs])

    kept, failures = list(had or ()), {}
    done = installed([*kept, *wanted])
    if not done.code:
        kept += wanted
    elif had is None and (not wanted or (done := installed([])).code):
        return Ready(python, {"": reason_of(done)})
    else:
        for need in wanted:
            done = installed([*kept, need])
            if done.code:
                failures[need] = reason_of(done)
            else:
                kept.append(need)
    record.write_text(json.dumps({"project": project, "requirements": kept}, indent=1) + "\n", "utf-8")
    return Ready(python, failures)


def _had(record: Path, project: str) -> tuple[str, ...] | None:
    """What was installed for the project as it is now; None where it was not."""
    try:
        data = json.loads(record.read_text("utf-8"))
        return tuple(data["requirements"]) if data["project"] == project else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _fingerprint(root: Path, environment: Environment) -> str:
    """Changes with what the project itself needs."""
    return hashlib.sha256((root / "pyproject.toml").read_bytes() + environment.pin.encode()).hexdigest()
