"""How the code is laid out: few rooms, each of them in the wheel. Who may import what is checked by `make lint`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import ROOT

PACKAGE = ROOT / "fuzzmcp"


def packages(folder: Path, name: str) -> set[str]:
    """The packages below a folder, by the names that their modules are imported by."""
    found = {path.parent.relative_to(folder).parts for path in folder.rglob("__init__.py")}
    return {".".join((name, *parts)) for parts in found}


def test_at_most_nine_packages_and_six_modules_lie_directly_in_the_package() -> None:
    rooms = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    loose = sorted(path.name for path in PACKAGE.glob("*.py"))
    assert len(rooms) <= 9, rooms
    assert len(loose) <= 6, loose


def test_every_package_is_listed_for_the_wheel() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    (listed,) = re.findall(r"^packages = \[(.*?)^\]", text, re.M | re.S)
    there = packages(PACKAGE, "fuzzmcp")
    mapped = packages(ROOT / "strategies", "fuzzmcp.strategies") | packages(ROOT / "examples", "fuzzmcp.examples")
    assert set(re.findall(r'"([\w.]+)"', listed)) == there | mapped


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_holds_more_than_an_idea(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 550
