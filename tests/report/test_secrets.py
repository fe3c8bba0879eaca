"""No secret gets into a report or a case file, whatever way it takes."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import invoke, written
from mcp import ClientSession

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call
from fuzzmcp.core.contract import Contract
from fuzzmcp.harness.target import target_of
from fuzzmcp.report.build import report_of
from fuzzmcp.report.formats import FORMATS
from fuzzmcp.report.model import Subject
from fuzzmcp.search import Budget, Search, campaign
from fuzzmcp.search.job import Job

SECRET = "Sw0rdfish"
STRING = {"type": "string"}
TOOLS = [
    {
        "name": "login",
        "inputSchema": {"type": "object", "properties": {"user": STRING, "api_key": STRING}},
        "outputSchema": {"type": "object", "properties": {"api_key": STRING, "token": STRING}, "required": ["token"]},
    }
]
CALL = f'login(user="ann", api_key="{SECRET}")'


@asynccontextmanager
async def connect(server: Any) -> Any:
    """Sends again what it should not, and tells its secret in exceptions, logs and prints."""
    async with server.connect() as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            import logging

            for _ in range(2):
                logging.getLogger("client").warning("Authorization: Bearer %s", arguments["api_key"])
                result = await session.call_tool(tool, arguments)
                if not getattr(result, "is_error", getattr(result, "isError", False)):
                    return result
            raise RuntimeError(f"refused: api_key={arguments['api_key']}")

        yield call


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("cases")
    search = Search(
        Job(target_of(connect), case_of(calls=[CALL], tools=TOOLS)),
        budget=Budget(40),
        on_finding=lambda finding: (campaign.keep(folder, finding), None)[1],
    )
    result = search.run()
    return report_of(Subject("client:connect"), 0, result, Contract(), search.base), folder


def test_the_secret_is_really_on_the_wire(found: tuple[Any, Path]) -> None:
    report, _ = found
    run = fuzzmcp.run(connect, "error", calls=[CALL], tools=TOOLS)
    assert SECRET in str(run.requests_of(0)[0].frame)
    assert "no_pointless_retry" in {finding.check for finding in report.findings}


@pytest.mark.parametrize("kind", FORMATS)
def test_no_report_tells_it(kind: str, found: tuple[Any, Path]) -> None:
    text = FORMATS[kind].written(found[0])
    assert SECRET not in text
    assert "redacted" in text or kind == "junit"


def test_no_case_file_tells_it_and_each_can_still_be_replayed(found: tuple[Any, Path]) -> None:
    from fuzzmcp.search.corpus import case_files, read, replayed

    files = case_files([found[1]])
    assert files
    for file in files:
        assert SECRET not in file.read_text()
        saved = read(file, given=[Call.parse(CALL)])
        assert replayed(saved, Job(target_of(connect), saved.case)).status == "still fails"


@asynccontextmanager
async def picky(server: Any) -> Any:
    """Breaks its promise only for those who are logged in: no sample value shows it."""
    async with connect(server) as call:

        async def guarded(tool: str, arguments: dict[str, Any]) -> Any:
            return await call(tool, arguments) if arguments.get("api_key") == SECRET else {"token": "none"}

        yield guarded


def test_a_finding_that_needs_the_secret_is_saved_without_it_and_found_again_with_it(tmp_path: Path) -> None:
    from fuzzmcp.search.corpus import CaseFileError, case_files, read

    base = case_of(calls=[CALL], tools=TOOLS)
    job = Job(target_of(picky), base, checks=("no_pointless_retry",))
    plan = campaign.Plan(job, seed=1, budget=Budget(60), folder=tmp_path, max_findings=1, canary=False)
    assert len(campaign.run_campaign(plan).files) == 1
    (file,) = case_files([tmp_path])
    assert SECRET not in file.read_text()
    assert 'withheld = ["calls[0].arguments.api_key"]' in file.read_text()
    with pytest.raises(CaseFileError, match="--call 'login"):
        read(file)
    (again,) = campaign.run_campaign(plan).replays
    assert (again.status, again.saved.case.calls) == ("still fails", base.calls)


def test_the_console_tells_it_neither(tmp_path: Path) -> None:
    source = Path(__file__).read_text()
    client = written(tmp_path, "leaky_client", source[: source.index("@pytest.fixture")])
    options = ("--tools", f"{client}:TOOLS", "--call", CALL)
    for result in (
        invoke("replay", f"{client}:connect", "error*", "--trace", *options),
        invoke("run", f"{client}:connect", "--runs", "20", *options),
    ):
        assert result.exit_code == 1, result.output
        assert "login" in result.output
        assert SECRET not in result.output
