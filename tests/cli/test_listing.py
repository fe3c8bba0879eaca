"""The catalogue of a real server, by `fuzzmcp tools`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import Result
from commands import ROOT, SDK, invoke, written


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)


SERVER = """
import json, sys
mode = sys.argv[1]
if mode == "dies":
    sys.exit("no API key")
properties = {"a": {"type": ["string", "null"], "default": None}}
tools = [{"name": name, "inputSchema": {"type": "object", "properties": properties}} for name in ("first", "second")]
if mode == "invalid":
    tools[1]["inputSchema"] = {"type": "object", "properties": {"a": {"type": "strin"}}}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "demo", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked.get("method") == "tools/list" and mode != "silent":
        cursor = (asked.get("params") or {}).get("cursor")
        result = {"tools": [tools[1 if cursor else 0]]}
        if mode == "loop" or not cursor:
            result["nextCursor"] = "2"
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def served(folder: Path, mode: str, *options: str) -> Result:
    return invoke("tools", *options, "--", sys.executable, written(folder, "stdio_server", SERVER), mode)


def test_tools_prints_a_catalogue_over_all_pages_that_run_accepts(tmp_path: Path) -> None:
    result = served(tmp_path, "good")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    catalogue = json.loads(result.stdout)
    assert [tool["name"] for tool in catalogue["tools"]] == ["first", "second"]
    assert catalogue["tools"][0]["inputSchema"]["properties"]["a"]["default"] is None
    file = tmp_path / "tools.json"
    file.write_text(result.stdout)
    replayed = invoke("replay", SDK, "ok", "--tools", str(file))
    assert "tools (2 tools)" in replayed.stdout
    assert replayed.exit_code == 0, replayed.output


def test_tools_warns_of_a_cursor_that_repeats_and_of_a_schema_that_is_none(tmp_path: Path) -> None:
    looping = served(tmp_path, "loop")
    assert looping.exit_code == 0
    assert looping.stderr.startswith("fuzzmcp: warning: the server repeats the cursor '2'")
    invalid = served(tmp_path, "invalid")
    assert invalid.exit_code == 0
    assert json.loads(invalid.stdout)["tools"][1]["name"] == "second"
    assert "warning: this catalogue cannot be used as it is: tools: tools/1 (second)" in invalid.stderr


def test_tools_says_in_one_sentence_why_there_is_no_catalogue(tmp_path: Path) -> None:
    missing = invoke("tools", "--", "no-such-command-anywhere")
    assert (missing.exit_code, missing.stderr) == (3, "fuzzmcp: there is no command 'no-such-command-anywhere'\n")
    dead = served(tmp_path, "dies")
    assert dead.exit_code == 3
    assert dead.stderr.splitlines()[0] == "fuzzmcp: the server ended before it had listed its tools"
    assert "no API key" in dead.stderr
    silent = served(tmp_path, "silent", "--timeout", "1s")
    assert silent.exit_code == 3
    assert silent.stderr.splitlines()[0] == "fuzzmcp: the server did not list its tools within 1 s"
