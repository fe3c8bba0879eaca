"""The workflow of continuous integration: it calls make, on every Python that is supported, and may write nothing."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from commands import ROOT
from packaging.specifiers import SpecifierSet

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


@pytest.fixture
def workflow() -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))  # type: ignore[no-any-return]


def runs(workflow: dict[str, Any]) -> list[tuple[str, str]]:
    """The Python and the command of each machine: a row of the matrix."""
    (job,) = workflow["jobs"].values()
    matrix = job["strategy"]["matrix"]
    rows = [(python, targets) for python in matrix["python"] for targets in matrix["targets"]]
    rows += [(row["python"], row["targets"]) for row in matrix["include"]]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    return [(python, each.replace("${{ matrix.targets }}", targets)) for python, targets in rows for each in commands]


def test_every_command_is_a_make_target_that_exists(workflow: dict[str, Any]) -> None:
    for _, command in runs(workflow):
        program, *words = shlex.split(command)
        assert program == "make"
        for word in words:
            name, is_variable, _ = word.partition("=")
            assert re.search(rf"^{re.escape(name)}{' [?:]?=' if is_variable else ':'}", MAKEFILE, re.M), word


def test_the_suite_runs_on_every_python_that_is_supported(workflow: dict[str, Any]) -> None:
    pythons = {python for python, command in runs(workflow) if command == "make suite"}
    (named,) = re.findall(r"^PYTHONS \?= (.*)$", MAKEFILE, re.M)
    assert pythons == set(named.replace("python", "").split())
    (oldest,) = re.findall(r'^requires-python = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    assert all(python in SpecifierSet(oldest) for python in pythons)


def test_lint_types_and_the_demo_run_too(workflow: dict[str, Any]) -> None:
    words = {word for _, command in runs(workflow) for word in shlex.split(command)}
    assert {"lint", "types", "demo"} <= words


def test_its_actions_name_a_version_and_it_may_only_read(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert "permissions" not in job
        assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)
