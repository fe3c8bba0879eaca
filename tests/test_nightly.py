"""The workflow that ships as an example: it is YAML, and its command is one that fuzzmcp takes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT, invoke

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")


@pytest.fixture
def steps() -> list[dict[str, Any]]:
    workflow = yaml.safe_load((ROOT / "examples" / "nightly.yml").read_text())
    return workflow["jobs"]["fuzz"]["steps"]  # type: ignore[no-any-return]


def test_its_command_runs_a_campaign(
    steps: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    Path("pyproject.toml").write_text('[tool.fuzzmcp]\nclient = "fuzzmcp.examples.naive_agent:connect"\n')
    (command,) = [step["run"] for step in steps if "fuzzmcp campaign" in step.get("run", "")]
    program, *words = shlex.split(command)
    result = invoke(*words, "--runs", "40", "--check", "spend_cap", "--no-canary")
    assert (program, result.exit_code) == ("fuzzmcp", 1)
    assert {path.name for path in Path().glob("fuzzmcp.*")} == {
        f"fuzzmcp.{e}" for e in ("json", "html", "xml", "sarif")
    }
    assert [path.suffix for path in Path(".fuzzmcp/found").iterdir()] == [".toml"]
    assert "429cap" in Path("summary.md").read_text()


def test_what_it_keeps_and_uploads_is_what_the_command_writes(steps: list[dict[str, Any]]) -> None:
    uploaded = next(step for step in steps if "upload-artifact" in step.get("uses", ""))["with"]["path"].split()
    assert uploaded == ["fuzzmcp.*", ".fuzzmcp/found"]
    assert next(step for step in steps if "actions/cache" in step.get("uses", ""))["with"]["path"] == ".fuzzmcp"
