"""What the command line says to bad input, and to clients that cannot be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from commands import NAIVE, ROOT, invoke, written

from fuzzmcp.cli.usage import Commands, Duration
from fuzzmcp.core.drift import DriftError
from fuzzmcp.core.errors import BadValue, FuzzmcpError
from fuzzmcp.harness.backing_server import BackingServerError
from fuzzmcp.harness.run import HarnessError
from fuzzmcp.harness.target import TargetError


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rn", NAIVE), "no such command 'rn'; did you mean 'run'?"),
        (("run", NAIVE, "--sed", "1"), "no such option '--sed'; did you mean '--seed'?"),
        (("run",), "Missing argument 'CLIENT'."),
        (("run", NAIVE, "--runs", "0"), "Invalid value for '--runs': 0 is not in the range x>=1."),
        (
            ("run", NAIVE, "--time", "5x"),
            "Invalid value for '--time': expected a time such as 30s, 5m or 1h, found '5x'",
        ),
        (
            ("run", NAIVE, "--protocol", "2025-11-26"),
            "Invalid value for '--protocol': unknown protocol version '2025-11-26'; did you mean '2025-11-25'?",
        ),
        (
            ("run", NAIVE, "--backend", "tri"),
            "Invalid value for '--backend': unknown backend 'tri'; did you mean 'trio'?",
        ),
        (("run", NAIVE, "--check", "spendcap"), "--check: unknown check 'spendcap'; did you mean 'spend_cap'?"),
        (("run", NAIVE, "--skip", "wire_vald"), "--skip: unknown check 'wire_vald'; did you mean 'wire_valid'?"),
        (("run", NAIVE, "--check", "cancels", "--skip", "cancels"), "--skip: no check is left to ask"),
        (("run", NAIVE, "--report", "jsn=x"), "--report: unknown kind of report 'jsn'; did you mean 'json'?"),
        (("run", NAIVE, "--report", "json="), "--report: expected json=FILE, or json=- for stdout"),
        (("run", NAIVE, "--report", "json=/no/such/x"), "--report: cannot write to '/no/such/x'"),
        (("run", NAIVE, "--call", "get_ordr()"), "unknown tool 'get_ordr'; did you mean 'get_order'?"),
        (
            ("run", NAIVE, "--call", "get_order(order_id=A1)"),
            "call 'get_order(order_id=A1)', character 20: expected a JSON value",
        ),
        (("run", NAIVE, "--tools", "nosuch.json"), "nosuch.json: cannot be read:"),
        (("run", NAIVE, "--tools", "pyproject.toml"), "pyproject.toml: not JSON:"),
        (("run", NAIVE, "--tools", "nosuch:server"), "--tools: cannot import nosuch: No module named 'nosuch'"),
        (("run", NAIVE, "--tools", f"{NAIVE}"), "--tools: function is no MCP server:"),
        (("faults", "hnag"), "unknown fault 'hnag'; did you mean 'hang'?"),
        (("checks", "spendcap"), "unknown check 'spendcap'; did you mean 'spend_cap'?"),
        (("tools",), "Missing argument 'COMMAND...'."),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_with_the_nearest_name_and_exit_code_2(arguments: tuple[str, ...], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fuzzmcp: {message}")
    assert result.stdout == ""


@pytest.mark.parametrize("script", ["429,hnag@3", "ok@x", "list:429", "hang(", "\x1b[2J"])
def test_a_bad_script_is_shown_with_a_caret_under_the_place(script: str) -> None:
    result = invoke("replay", NAIVE, script)
    assert result.exit_code == 2
    line, shown, caret = result.stderr.splitlines()
    assert line.startswith("fuzzmcp: script, character ")
    assert caret.strip() == "^"
    position = int(line.partition("character ")[2].partition(":")[0]) - 1
    assert "\x1b" not in result.stderr
    assert caret.index("^") == 2 + position
    assert shown[2:].startswith(script[:position])


def test_a_bad_script_names_the_nearest_fault() -> None:
    assert "unknown fault 'hnag'; did you mean 'hang'?" in invoke("replay", NAIVE, "429,hnag").stderr


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ({"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "strin"}}}}, "invalid schema"),
        ({"name": "t", "inputSchema": {"type": "object", "$ref": "https://x.y/z"}}, "external $ref 'https://x.y/z'"),
        ({"inputSchema": {"type": "object"}}, "a tool is an object with a 'name'"),
    ],
)
def test_a_bad_tools_file_names_tool_and_path(tmp_path: Path, tool: dict[str, Any], words: str) -> None:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": [tool]}))
    result = invoke("run", NAIVE, "--tools", str(file))
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert words in line
    assert "tools/0" in line


# -- clients that cannot be run ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module:connect", "cannot import no_such_module"),
        ("no/such.py:connect", "there is no file no/such.py"),
        ("examples/naive_agent.py:conect", "has no 'conect'; did you mean 'connect'?"),
        ("examples/naive_agent.py:ATTEMPTS", "is no client"),
        ("examples/naive_agent.py", "names no client: expected MODULE:ATTR or PATH.py:ATTR"),
    ],
)
@pytest.mark.parametrize("command", [("run",), ("replay",)])
def test_a_name_that_leads_to_no_client_is_exit_code_3(command: tuple[str], name: str, words: str) -> None:
    result = invoke(*command, name, *(["ok"] if command == ("replay",) else []))
    assert result.exit_code == 3
    (line,) = result.stderr.splitlines()
    assert words in line


@pytest.mark.parametrize("last", ["value = 1 / 0", "import sys; sys.exit(4)", "raise BaseException"])
def test_a_client_that_fails_on_import_shows_its_own_traceback(tmp_path: Path, last: str) -> None:
    client = written(tmp_path, "failing_import", f"def f():\n    {last}\nf()\n")
    result = invoke("run", f"{client}:connect")
    assert result.exit_code == 3
    assert "the client's own traceback:" in result.stderr
    assert f'File "{client}", line 2, in f' in result.stderr
    assert "fuzzmcp/" not in result.stderr.replace(str(tmp_path), "")
    assert "importlib" not in result.stderr


BROKEN = """
from contextlib import asynccontextmanager
from mcp import ClientSession

@asynccontextmanager
async def fails(server):
    async with server.connect() as streams, ClientSession(*streams) as session:
        await session.initialize()
        raise RuntimeError("no [bold]key[/bold]")
        yield

@asynccontextmanager
async def yields_the_session(server):
    async with server.connect() as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session

async def agent(server):
    raise KeyError("model")
"""


@pytest.mark.parametrize("arguments", [("run", "--runs", "20"), ("replay", "429")])
@pytest.mark.parametrize(
    ("attribute", "words", "place"),
    [
        ("fails", "RuntimeError: no [bold]key[/bold]", "line 9, in fails"),
        ("yields_the_session", "TypeError: a client yields call_tool, async (tool, arguments); this one yields: ", ""),
        ("agent", "KeyError: 'model'", "broken_client.py:19 agent"),
    ],
)
def test_a_client_that_fails_without_any_fault_is_no_finding(
    tmp_path: Path, arguments: tuple[str, ...], attribute: str, words: str, place: str
) -> None:
    client = written(tmp_path, "broken_client", BROKEN)
    command, *rest = arguments
    result = invoke(command, f"{client}:{attribute}", *rest)
    assert result.exit_code == 3, result.output
    assert "the client fails before the first call, with no fault at all: " + words in result.stderr
    assert place in result.stderr
    assert "fuzzmcp/harness/run.py" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("error", [HarnessError("bookkeeping is off"), RuntimeError("a bug")])
def test_a_failure_of_fuzzmcp_itself_says_whose_fault_it_is(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def drive(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("fuzzmcp.search.job.drive", drive)
    result = invoke("run", NAIVE, "--runs", "5")
    assert result.exit_code == 3
    assert (
        result.stderr.splitlines()[0].endswith("please report it with what follows.")
        or "itself failed" in result.stderr
    )
    assert str(error) in result.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadValue("skip", "no check is left to ask"), 2),
        (DriftError("no such edit", 3), 2),
        (BackingServerError("its tools cannot be listed"), 2),
        (TargetError("no such client"), 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_error_of_ours_is_one_line_and_says_the_exit_code(error: FuzzmcpError, code: int) -> None:
    @click.command()
    def fails() -> None:
        raise error

    commands = Commands(commands={"fails": fails})
    result = CliRunner().invoke(commands, ["fails"])
    assert (result.exit_code, result.stderr) == (code, f"fuzzmcp: {error}\n")


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3_600), ("1h30m", 5_400), ("500ms", 0.5), ("2.5", 2.5)]
)
def test_times_are_written_as_people_write_them(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-1s", "1e3s", "s", "1 s", "9999999999h", "5 minutes"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="expected a time such as 30s, 5m or 1h"):
        Duration().convert(text, None, None)
