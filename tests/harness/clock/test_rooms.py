"""The modules of the clock import only downwards, and code outside of the clock imports the package alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import fuzzmcp.harness.clock

CLOCK = "fuzzmcp.harness.clock"
FOLDER = Path(fuzzmcp.harness.clock.__file__).parent
ROOT = FOLDER.parents[2]


def imported(path: Path) -> Iterator[str]:
    """The full names that a file imports anywhere, those for a type checker alone too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules_of_the_clock(path: Path) -> set[str]:
    names = {name.removeprefix(CLOCK).split(".")[1] for name in imported(path) if name.startswith(CLOCK + ".")}
    return names & {module.stem for module in FOLDER.glob("*.py")}


def test_no_two_modules_of_the_clock_need_each_other() -> None:
    needs = {path.stem: modules_of_the_clock(path) for path in FOLDER.glob("*.py")}
    assert "thread_scheduler" in list(TopologicalSorter(needs).static_order()), "a circle would have raised CycleError"


def test_code_outside_of_the_clock_imports_the_package_and_none_of_its_modules() -> None:
    folders = [ROOT / "fuzzmcp", ROOT / "strategies", ROOT / "examples"]
    outside = [path for folder in folders for path in folder.rglob("*.py") if path.parent != FOLDER]
    assert {str(path): modules for path in outside if (modules := modules_of_the_clock(path))} == {}
