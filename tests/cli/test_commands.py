"""The command line: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from commands import NAIVE, ROOT, SDK, in_a_process, invoke, signalled, written

import fuzzmcp
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.faults import FAULTS
from fuzzmcp.harness import sdk

HUNT = ("run", NAIVE, "--runs", "40", "--seed", "1")
NOISY = """
import os
from contextlib import asynccontextmanager
from mcp import ClientSession
print("IMPORTED")

@asynccontextmanager
async def connect(server):
    print("CONNECTED")
    os.write(1, b"RAW\\n")
    async with server.connect() as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session.call_tool
"""


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Any]]:
    """A short search on the naive agent: what came out on the console, and the saved report."""
    file = tmp_path_factory.mktemp("hunt") / "report.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        result = invoke(*HUNT, "--report", f"json={file}")
        return result, json.loads(file.read_text())


PROGRAM = """
import os, sys
from fuzzmcp.cli import main

def run(folder, words):
    os.chdir(folder)
    try:
        main(words)
    except SystemExit as ended:
        print("exit code", ended.code, file=sys.stderr)

run({work!r}, {noisy!r})
os.dup2(2, 1)
run({work!r}, ["replay", "noisy_client:connect", "429"])
run({work!r}, ["stack", "noisy_client:connect", "--runs", "5", "--fault", "429"])
run({hunting!r}, {hunt!r})
"""


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A process that runs a client that prints, in the folder `work`, with its JSON report on stdout; that replays and
    stacks it; and then repeats the short search in the checkout. The folder above `work` has the report of that.
    """
    folder = tmp_path_factory.mktemp("process")
    work = folder / "work"
    work.mkdir()
    written(work, "noisy_client", NOISY)
    hunt = [*HUNT, "--no-save", "--report", f"json={folder / 'again.json'}"]
    noisy = ["run", "noisy_client:connect", "--runs", "5", "--check", "spend_cap", "--verbose", "--report", "json=-"]
    code = PROGRAM.format(hunting=str(ROOT), hunt=hunt, work=str(work), noisy=noisy)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONHASHSEED"] = "8" if os.environ.get("PYTHONHASHSEED") == "7" else "7"
    environment.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=120), folder


# -- the group ---------------------------------------------------------------------------------------------------------


def test_help_and_version_answer_without_loading_anything_heavy() -> None:
    code = "import sys, fuzzmcp.cli; print({'hypothesis', 'mcp', 'rich', 'anyio', 'jsonschema'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
    assert invoke("--version").stdout == f"fuzzmcp {fuzzmcp.__version__}\n"
    for arguments in ((), ("--help",)):
        result = invoke(*arguments)
        assert result.exit_code == 0
        assert all(name in result.stdout for name in ("run", "replay", "faults", "checks", "tools"))


def test_python_m_fuzzmcp_is_the_same_command() -> None:
    result = in_a_process("--version")
    assert (result.returncode, result.stdout) == (0, f"fuzzmcp {fuzzmcp.__version__}\n")


# -- run ---------------------------------------------------------------------------------------------------------------


def test_findings_end_with_exit_code_1_and_the_whole_report(hunt: tuple[Result, dict[str, Any]]) -> None:
    result, _ = hunt
    assert result.exit_code == 1
    assert "FAULTS=429cap" in result.stdout
    assert "again fuzzmcp replay examples/naive_agent.py:connect 429cap\n" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert "findings" in last
    assert last.endswith("seed 1")


def test_progress_goes_to_stderr_as_plain_lines_where_there_is_no_terminal(hunt: tuple[Result, dict[str, Any]]) -> None:
    result, _ = hunt
    assert [line.partition(":")[0] for line in result.stderr.splitlines()][:3] == ["calibrate", "sweep", "fuzz"]
    assert "runs/s" not in result.stdout.splitlines()[0]


def test_the_json_report_has_every_key_of_the_format(hunt: tuple[Result, dict[str, Any]]) -> None:
    _, report = hunt
    top = {"version", "client", "seed", "runs", "seconds", "virtual_seconds", "findings", "checks", "faults"}
    assert top <= set(report)
    assert (report["version"], report["client"], report["seed"]) == (1, NAIVE, 1)
    finding = {"check", "faults", "calls", "minimal", "deterministic", "fingerprint", "message", "requests", "case"}
    event = {"at", "direction", "method", "id", "call", "site", "text"}
    for found in report["findings"]:
        assert finding <= set(found)
        assert all(event <= set(moment) for moment in found["requests"])
        assert any(moment.get("evidence") for moment in found["requests"])
    assert list(report["checks"]) == list(CHECKS)
    assert all(set(counts) == {"held", "violated", "not_exercised"} for counts in report["checks"].values())
    assert report["faults"]["429cap"]["reactions"]["sent again"] > 0


def test_the_replay_command_of_every_finding_shows_its_violation_again(hunt: tuple[Result, dict[str, Any]]) -> None:
    result, report = hunt
    assert report["findings"]
    for finding in report["findings"]:
        assert f"again {finding['replay']}\n" in result.stdout
        program, *arguments = shlex.split(finding["replay"])
        assert program == "fuzzmcp"
        replayed = invoke(*arguments)
        assert replayed.exit_code == 1, replayed.output
        last = replayed.stdout.splitlines()[-1]
        assert finding["check"] in last.partition("violated: ")[2].partition(" · ")[0].split(", ")
        assert finding["message"] in " ".join(replayed.stdout.split())


def test_a_replay_command_repeats_the_options_that_the_case_does_not_tell(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    asked = ("--max-requests", "9", "--max-requests", "get_order=1")
    options = ("--tools", "fuzzmcp/core/catalogue/crm.json", *asked, "--protocol", "2025-06-18", "--check")
    invoke("run", NAIVE, "--runs", "40", *options, "request_budget", "--report", f"json={file}")
    (finding, *_) = json.loads(file.read_text())["findings"]
    assert "the contract allows 1: naive_agent.py:" in finding["message"]
    _, *arguments = shlex.split(finding["replay"])
    assert arguments[-8:] == ["--protocol", "2025-06-18", "--tools", "fuzzmcp/core/catalogue/crm.json", *asked]
    assert finding["message"] in invoke(*arguments).stdout


def test_nothing_found_is_exit_code_0() -> None:
    result = invoke("run", SDK, "--runs", "10", "--check", "spend_cap", "--seed", "3")
    assert (result.exit_code, result.stdout.splitlines()[-1].partition(" · ")[0]) == (0, "nothing found")
    assert "violated" in result.stdout


def test_a_client_that_prints_spoils_neither_the_json_on_stdout_nor_the_folder(
    process: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    result, folder = process
    assert json.loads(result.stdout)["version"] == 1
    assert all(word in result.stderr for word in ("IMPORTED", "CONNECTED", "RAW", "seed 0"))
    assert [path.name for path in (folder / "work").iterdir()] == ["noisy_client.py"]


def test_no_folder_of_hypothesis_is_left_where_it_is_started(
    process: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    result, folder = process
    codes = [line.split()[-1] for line in result.stderr.splitlines() if line.startswith("exit code")]
    assert codes == ["0", "0", "0", "1"], result.stderr
    assert [path.name for path in (folder / "work").iterdir()] == ["noisy_client.py"]


def test_the_same_seed_gives_the_same_json_but_for_the_seconds(
    hunt: tuple[Result, dict[str, Any]], process: tuple[subprocess.CompletedProcess[str], Path]
) -> None:
    _, report = hunt
    again = json.loads((process[1] / "again.json").read_text())
    assert again | {"seconds": 0} == report | {"seconds": 0}


def test_what_a_client_prints_is_swallowed_unless_asked_for(tmp_path: Path) -> None:
    client = written(tmp_path, "noisy_client", NOISY.replace('os.write(1, b"RAW\\n")', ""))
    assert "CONNECTED" not in invoke("replay", f"{client}:connect", "ok").output
    assert "CONNECTED" in invoke("replay", f"{client}:connect", "ok", "--verbose").output


def test_ctrl_c_ends_with_the_report_of_what_was_found(tmp_path: Path) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    result = invoke("run", signalled(tmp_path, "SIGINT", connection=25), "--runs", "2000", "--seed", "1")
    assert result.exit_code == 1
    assert "interrupted in the phase 'sweep'" in result.stdout
    assert "finding" in result.stdout.splitlines()[-1]


def test_ctrl_c_while_progress_is_drawn_also_ends_with_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    from fuzzmcp.report.terminal import live

    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(live._Lines, "__call__", pressed)
    result = invoke("run", NAIVE, "--runs", "2000")
    assert result.exit_code == 130, "an interrupted search has not shown that there is nothing"
    assert "interrupted" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("nothing found")


def test_ctrl_c_outside_of_a_search_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fuzzmcp.search.job.load", pressed)
    assert invoke("run", NAIVE).exit_code == 130


def test_the_contract_beside_the_client_holds_and_the_command_line_overrides_it(tmp_path: Path) -> None:
    source = (ROOT / "examples/naive_agent.py").read_text()
    source += "\nimport fuzzmcp\ncontract = fuzzmcp.Contract(max_requests=6)\n"
    client = written(tmp_path, "client_with_contract", source)
    assert "request_budget" not in invoke("replay", f"{client}:connect", "error*").stdout.splitlines()[-1]
    result = invoke("replay", f"{client}:connect", "error*", "--max-requests", "5")
    assert "request_budget" in result.stdout.splitlines()[-1]
    assert "cost 6 requests; the contract allows 5" in result.stdout


def test_accept_names_the_exceptions_that_may_come_out() -> None:
    ask = ("replay", NAIVE, "error*", "--check", "expected_errors")
    assert invoke(*ask).exit_code == 0
    assert invoke(*ask, "--accept", "RuntimeError").exit_code == 0
    refused = invoke(*ask, "--accept", "ToolFailed")
    assert refused.exit_code == 1
    assert "raised RuntimeError" in refused.stdout


def test_a_server_object_gives_catalogue_and_answers(tmp_path: Path) -> None:
    library = "mcp.server import MCPServer" if sdk.MAJOR >= 2 else "mcp.server.fastmcp import FastMCP as MCPServer"
    source = f"from {library}\nserver = MCPServer('demo')\n@server.tool()\ndef add(a: int) -> int:\n    return a + 1\n"
    server = written(tmp_path, "demo_server", source)
    result = invoke("replay", SDK, "ok", "--tools", f"{server}:server", "--call", "add(a=41)")
    assert result.exit_code == 0, result.output
    assert f"{server}:server (1 tool)" in " ".join(result.stdout.split())
    assert "42" in result.stdout


def test_the_search_runs_on_trio_too() -> None:
    result = invoke("run", SDK, "--runs", "5", "--backend", "trio", "--check", "spend_cap")
    assert result.exit_code == 0, result.output


# -- replay ------------------------------------------------------------------------------------------------------------


def test_a_replay_that_holds_prints_the_outcomes_and_exits_0() -> None:
    result = invoke("replay", "examples/careful_agent.py:connect", "429cap")
    assert result.exit_code == 0, result.output
    assert 'get_order(order_id="A1")  after 0.000 s  returned an error: API rate limit' in result.stdout
    assert "the probe call  after" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("nothing violated · ")


def test_a_replay_that_is_violated_prints_a_finding_and_exits_1() -> None:
    result = invoke("replay", NAIVE, "429cap")
    assert result.exit_code == 1
    assert "get_order was sent again 1.0 s after its spend cap was reached\n" in result.stdout
    assert "◀ the second request" in result.stdout
    assert "opens connection" not in result.stdout


def test_trace_prints_the_whole_timeline() -> None:
    lines = invoke("replay", NAIVE, "429cap", "--trace").stdout.splitlines()
    assert any("→  initialize " in line for line in lines)
    assert any("the script is over" in line for line in lines)
    assert any("client closes connection 1" in line for line in lines)


def test_a_fault_that_never_fired_says_that_it_proves_nothing() -> None:
    result = invoke("replay", NAIVE, "ok,ok,hang")
    assert result.exit_code == 0
    assert "'hang' was never reached" in result.stdout
    assert "this proves nothing" in result.stdout
    undelivered = invoke("replay", NAIVE, "drift(nosuch>other)")
    assert "not delivered: drift(nosuch>other)" in undelivered.stdout
    assert "this proves nothing" not in invoke("replay", NAIVE, "429,list:hang").stdout


def test_a_fault_that_keeps_the_client_from_connecting_is_judged() -> None:
    result = invoke("replay", NAIVE, "init:hang", "--deadline", "1m")
    assert result.exit_code == 1
    assert "the client never got ready" in result.stdout


# -- the vocabulary ----------------------------------------------------------------------------------------------------


def test_faults_lists_the_whole_vocabulary_and_explains_each_row() -> None:
    listed = invoke("faults").stdout
    for fault in FAULTS:
        assert fault.name in listed
        explained = invoke("faults", fault.name)
        assert explained.exit_code == 0
        assert explained.stdout.startswith(f"{fault.name}  {fault.role}: {fault.summary}\n")
        assert "example" in explained.stdout
    assert invoke("faults", "late").stdout == invoke("faults", "ok").stdout


def test_checks_lists_every_check_and_explains_each() -> None:
    listed = invoke("checks").stdout
    for name, check in CHECKS.items():
        assert name in listed
        explained = " ".join(invoke("checks", name).stdout.split())
        assert check.demands in explained
        assert check.advice in explained


def test_several_checks_can_be_named_at_once() -> None:
    result = invoke("run", NAIVE, "--runs", "5", "--checks", "spend_cap, survives", "--skip", "survives")
    assert "spend_cap" in result.stdout
    assert "survives" not in result.stdout
    assert "retry_after" not in result.stdout


def test_findings_are_saved_as_they_are_found_and_the_report_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    client = "fuzzmcp.examples.naive_agent:connect"
    result = invoke("run", client, "--runs", "40", "--check", "spend_cap", "--save", "found")
    (file,) = sorted(Path("found").iterdir())
    assert f"again fuzzmcp replay {client} found/{file.name}\n" in result.stdout
    assert f"saved found/{file.name}\n" in result.stdout
    assert invoke("replay", client, str(file)).exit_code == 1
    assert 'note = "get_order was sent again 1.0 s after its spend cap was reached"' in file.read_text()


def test_nothing_is_saved_when_nothing_is_found_or_nobody_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    client = "fuzzmcp.examples.naive_agent:connect"
    found = invoke("run", client, "--runs", "24", "--check", "no_pointless_retry", "--no-save")
    assert found.exit_code == 1, "what is found is not saved"
    invoke("run", client, "--runs", "5", "--check", "never_blocks", "--save", "found")
    assert list(tmp_path.iterdir()) == []
