"""The configuration on the command line: what it stands in for, what goes before it, and how it is shown."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from commands import ROOT, invoke

from fuzzmcp.checks import CHECKS
from fuzzmcp.cli import main
from fuzzmcp.cli.options import budget_of, take_defaults
from fuzzmcp.cli.run import run
from fuzzmcp.core.faults import BY_NAME

CLIENT = (ROOT / "examples/naive_agent.py").read_text()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a naive client, and the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.path", os.sys.path[:])  # type: ignore[attr-defined]
    (tmp_path / "configured_client.py").write_text(CLIENT)
    return tmp_path


def configured(text: str) -> None:
    Path("pyproject.toml").write_text(f'[tool.fuzzmcp]\nclient = "configured_client.py:connect"\n{text}')


# -- the client --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_the_client_of_the_configuration_is_run_when_none_is_named() -> None:
    configured("")
    result = invoke("run", "--runs", "40", "--seed", "1", "--check", "spend_cap")
    assert result.exit_code == 1, result.output
    assert "again fuzzmcp replay configured_client.py:connect 429cap\n" in result.stdout


def test_from_a_folder_below_it_is_named_as_one_would_name_it_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured("")
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    result = invoke("run", "--runs", "40", "--seed", "1", "--check", "spend_cap")
    assert "again fuzzmcp replay ../configured_client.py:connect 429cap\n" in result.stdout


def test_a_module_beside_the_configuration_is_found_from_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configured("")
    (project / "pyproject.toml").write_text('[tool.fuzzmcp]\nclient = "configured_client:connect"\n')
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert invoke("run", "--runs", "5", "--check", "spend_cap").exit_code == 0


@pytest.mark.usefixtures("project")
def test_without_any_client_the_error_shows_both_ways_to_name_one() -> None:
    result = invoke("run")
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line == (
        "fuzzmcp: Missing argument 'CLIENT'. Name it, as in 'fuzzmcp run my_client.py:connect', or once for all in "
        'pyproject.toml, under [tool.fuzzmcp]: client = "my_client.py:connect"'
    )
    Path("fuzzmcp.toml").write_text("runs = 3\n")
    assert 'once for all in fuzzmcp.toml: client = "my_client.py:connect"' in invoke("run").stderr


# -- which goes before which -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_the_command_line_goes_before_the_configuration_and_that_before_the_contract_beside_the_client() -> None:
    def budget(*arguments: str) -> str:
        client = "configured_client.py:connect"
        result = invoke("replay", client, "error*", "--check", "request_budget", *arguments)
        return result.stdout.partition("the contract allows ")[2][:1]

    Path("configured_client.py").write_text(CLIENT + "\nimport fuzzmcp\ncontract = fuzzmcp.Contract(max_requests=3)\n")
    configured("")
    assert budget() == "3"
    configured("[tool.fuzzmcp.contract]\nmax_requests = 2\n")
    assert budget() == "2"
    assert budget("--max-requests", "1") == "1"
    assert budget("--max-requests", "get_order=1", "--max-requests", "refund_order=3") == "1"
    configured("[tool.fuzzmcp.contract]\nmax_requests_per_tool = { get_order = 2 }\n")
    assert budget("--max-requests", "1") == "2"
    assert budget("--max-requests", "refund_order=1") == "2"


@pytest.mark.usefixtures("project")
def test_checks_of_the_command_line_replace_those_of_the_configuration() -> None:
    def asked(*arguments: str) -> list[str]:
        result = invoke("run", "--runs", "10", *arguments, "--report", "json=-")
        return list(json.loads(result.stdout)["checks"])

    configured('checks = ["backoff", "cancels"]\nskip = ["cancels"]\n')
    assert asked() == ["backoff"]
    assert asked("--check", "cancels") == ["cancels"]
    assert asked("--skip", "backoff") == ["cancels"]


@pytest.mark.usefixtures("project")
def test_protocol_backend_seed_calls_and_tools_come_from_the_configuration() -> None:
    tool = {"name": "ping_it", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    Path("mine.json").write_text(json.dumps({"tools": [tool]}))
    configured(
        "protocol = '2025-06-18'\nbackend = 'trio'\nseed = 5\nruns = 3\ntools = 'mine.json'\ncalls = ['ping_it(n=2)']\n"
    )
    report = json.loads(invoke("run", "--report", "json=-").stdout)
    assert (report["protocol"], report["backend"], report["seed"]) == ("2025-06-18", "trio", 5)
    assert report["catalogue"] == "mine"
    assert report["runs"] < 10
    assert json.loads(invoke("run", "--seed", "6", "--report", "json=-").stdout)["seed"] == 6


@pytest.mark.usefixtures("project")
def test_a_replay_command_leaves_out_what_the_configuration_says_and_names_what_goes_before_it() -> None:
    configured("protocol = '2025-06-18'\n[tool.fuzzmcp.contract]\ndeadline = 50\n")
    hunt = ("run", "--runs", "40", "--check", "spend_cap")
    again = "again fuzzmcp replay configured_client.py:connect 429cap"
    assert f"{again} --protocol 2025-06-18\n" in invoke(*hunt).stdout
    other = invoke(*hunt, "--protocol", "2025-11-25", "--deadline", "40")
    assert f"{again} --protocol 2025-11-25 --deadline 40\n" in other.stdout
    saved = invoke(*hunt, "--protocol", "2025-11-25", "--deadline", "40", "--save", "found")
    assert "replay configured_client.py:connect found/spend_cap-c8ce5282.toml --deadline 40\n" in saved.stdout
    assert invoke("replay", "found/spend_cap-c8ce5282.toml", "--deadline", "40").exit_code == 1


@pytest.mark.usefixtures("project")
def test_a_replay_command_spells_the_calls_where_the_configuration_names_others() -> None:
    configured("""calls = ['find_customer(query="x")', 'get_order(order_id="A1")']""")
    hunt = ("run", "--runs", "60", "--check", "spend_cap")
    (again,) = [line for line in invoke(*hunt).stdout.splitlines() if line.startswith("again")]
    _, *words = shlex.split(again.removeprefix("again "))
    assert "--call" in words
    assert invoke(*words).exit_code == 1


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("typed", "budget"),
    [
        ((), (500, 60.0)),
        (("--runs", "7"), (7, None)),
        (("--time", "5s"), (None, 5.0)),
        (("--runs", "7", "--time", "5s"), (7, 5.0)),
    ],
)
def test_a_budget_on_the_command_line_is_the_whole_budget(typed: tuple[str, ...], budget: tuple[Any, Any]) -> None:
    configured('runs = 500\ntime = "1m"\n')
    with main.make_context("fuzzmcp", ["run", *typed]) as above:
        above.invoked_subcommand = "run"
        take_defaults(above, run)
        with run.make_context("run", list(typed), parent=above) as context:
            assert budget_of(context, context.params["runs"], context.params["seconds"]) == budget


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sede = 3", "pyproject.toml, line 3: tool.fuzzmcp.sede: unknown key; did you mean 'seed'?"),
        ("runs = 'x'", "pyproject.toml, line 3: tool.fuzzmcp.runs: expected a whole number above 0, found 'x'"),
        (
            "checks = ['spendcap']",
            "pyproject.toml, line 3: tool.fuzzmcp.checks: unknown check 'spendcap'; did you mean 'spend_cap'?",
        ),
        ("skip = ['backof']", "pyproject.toml, line 3: tool.fuzzmcp.skip: unknown check 'backof'; did you mean"),
        ("calls = ['get_ordr()']", "pyproject.toml, line 3: tool.fuzzmcp.calls: unknown tool 'get_ordr'; did you"),
        ("calls = ['x(']", "pyproject.toml, line 3: tool.fuzzmcp.calls: call 'x(', character 3: expected name"),
        ("tools = 'no.json'", "pyproject.toml, line 3: tool.fuzzmcp.tools: no.json: cannot be read:"),
        ("tools = 'nosuch:server'", "pyproject.toml, line 3: tool.fuzzmcp.tools: cannot import nosuch:"),
        ("]", "pyproject.toml, line 3: not TOML: "),
    ],
)
@pytest.mark.parametrize("command", [("run",), ("run", "configured_client.py:connect", "--runs", "1", "--seed", "1")])
def test_a_mistake_is_one_line_with_its_place_and_exit_code_2(
    command: tuple[str, ...], text: str, message: str
) -> None:
    configured(text)
    result = invoke(*command)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"fuzzmcp: {message}")


@pytest.mark.usefixtures("project")
def test_what_needs_no_configuration_works_beside_a_broken_one() -> None:
    configured("sede = 3")
    for arguments in (("--help",), ("run", "--help"), ("config", "--help"), ("faults",), ("checks", "backoff")):
        assert invoke(*arguments).exit_code == 0
    assert invoke("config").exit_code == 2


@pytest.mark.usefixtures("project")
def test_the_error_about_a_value_of_the_command_line_does_not_blame_the_configuration() -> None:
    configured("calls = ['get_order(order_id=\"A1\")']\nchecks = ['backoff']\n")
    assert invoke("run", "--call", "get_ordr()").stderr.startswith("fuzzmcp: unknown tool 'get_ordr'")
    assert invoke("run", "--check", "backof").stderr.startswith("fuzzmcp: --check: unknown check 'backof'")


# -- fuzzmcp config ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_config_prints_each_value_and_where_it_comes_from() -> None:
    configured('skip = ["backoff", "cancels"]\n\n[tool.fuzzmcp.contract]\naccept = ["ToolFailed"]\ndeadline = "1m"\n')
    result = invoke("config")
    assert result.exit_code == 0, result.output
    lines = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines() if line}
    assert result.stdout.startswith("pyproject.toml [tool.fuzzmcp]\n\n")
    assert lines["client"] == ["configured_client.py:connect", "pyproject.toml:2"]
    assert lines["skip"] == ["backoff,", "cancels", "pyproject.toml:3"]
    assert lines["contract.deadline"] == ["60", "pyproject.toml:7"]
    assert lines["contract.accepts"] == ["ToolFailed", "pyproject.toml:6"]
    assert lines["protocol"] == ["2025-11-25", "default"]
    assert lines["contract.max_requests"] == ["4", "default"]


@pytest.mark.usefixtures("project")
def test_config_says_that_fuzzmcp_toml_goes_before_pyproject_toml() -> None:
    configured("")
    Path("fuzzmcp.toml").write_text("seed = 3\n")
    first, second, *_ = invoke("config").stdout.splitlines()
    assert first == "fuzzmcp.toml"
    assert second == "[tool.fuzzmcp] in pyproject.toml is not read: fuzzmcp.toml goes before it"


@pytest.mark.usefixtures("project")
def test_config_without_a_file_says_so_and_prints_the_defaults() -> None:
    first, *_ = invoke("config").stdout.splitlines()
    assert (
        first
        == "no configuration: neither fuzzmcp.toml nor [tool.fuzzmcp] in pyproject.toml, here or in a folder above"
    )


@pytest.mark.usefixtures("project")
def test_config_as_json_has_the_same_values_with_their_places() -> None:
    configured("runs = 12\n")
    data = json.loads(invoke("config", "--json").stdout)
    assert data["file"] == "pyproject.toml"
    assert data["values"]["runs"] == {"value": 12, "from": "pyproject.toml", "line": 3, "key": "tool.fuzzmcp.runs"}
    assert data["values"]["contract.deadline"] == {"value": 300.0, "from": "default"}
    shown = [line.split()[0] for line in invoke("config").stdout.splitlines() if line]
    assert list(data["values"]) == shown[1:-1]


# -- completion --------------------------------------------------------------------------------------------------------


def completions(*arguments: str, incomplete: str) -> list[str]:
    complete = ShellComplete(main, {}, "fuzzmcp", "_FUZZMCP_COMPLETE")
    return [item.value for item in complete.get_completions(list(arguments), incomplete)]


def test_the_shell_completes_commands_options_and_names() -> None:
    assert completions(incomplete="co") == ["config"]
    assert completions("run", incomplete="--pro") == ["--protocol"]
    assert completions("run", "--protocol", incomplete="2026") == ["2026-07-28"]
    assert completions("run", "--backend", incomplete="") == ["asyncio", "trio"]
    assert completions("checks", incomplete="") == list(CHECKS)
    for words in (("replay",), ("minimize",), ("report",), ("run",), ("run", "--tools"), ("campaign", "--save")):
        (item,) = ShellComplete(main, {}, "fuzzmcp", "_FUZZMCP_COMPLETE").get_completions(list(words), "re")
        assert item.type in ("file", "dir")
    assert completions("faults", incomplete="lat") == ["late"]
    assert completions("faults", incomplete="") == [*BY_NAME, "late"]
    for option in ("--check", "--skip"):
        assert completions("run", option, incomplete="re") == [name for name in CHECKS if name.startswith("re")]


@pytest.mark.usefixtures("project")
def test_the_shell_completes_beside_a_broken_configuration() -> None:
    Path("fuzzmcp.toml").write_text("sede = 3\n")
    assert completions("run", "--check", incomplete="spend") == ["spend_cap"]
    assert completions("run", "--check", incomplete="finishes,spend") == ["finishes,spend_cap"]
