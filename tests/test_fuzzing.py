"""`fuzz`: a Hypothesis test that is ready to be collected, and obeys the settings of its user."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT
from hypothesis import Phase, example, settings

import fuzzmcp
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import CaseError
from fuzzmcp.examples import careful_agent, naive_agent, sdk_client
from fuzzmcp.fuzzing import fuzz
from fuzzmcp.harness import sdk
from fuzzmcp.harness.target import TargetError
from fuzzmcp.search.readiness import CannotRun

CAPS = ["429cap"]
FEW = settings(max_examples=20, phases=(Phase.generate, Phase.shrink), print_blob=False)

test_a_careful_client = settings(max_examples=10)(fuzzmcp.fuzz(careful_agent.connect))


class TestAsAnAttribute:
    test_a_careful_client_on_trio = settings(max_examples=5)(fuzzmcp.fuzz(careful_agent.connect, backend="trio"))


def failures(test: Any) -> list[BaseException]:
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        test()
    error = caught.value
    return list(getattr(error, "exceptions", (error,)))


def test_a_failure_is_the_shrunk_case_with_the_command_that_replays_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (failed,) = failures(FEW(fuzz(naive_agent.connect, checks=["spend_cap"], vocabulary=CAPS)))
    assert isinstance(failed, CHECKS["spend_cap"].failure)
    text = str(failed)
    assert text.startswith("spend_cap: get_order was sent again 1.0 s after its spend cap was reached\n")
    assert 'FAULTS=429cap   get_order(order_id="A1")\n' in text
    assert "◀ the second request\n" in text
    assert "again fuzzmcp replay fuzzmcp.examples.naive_agent:connect 429cap" in text
    notes = "\n".join(getattr(failed, "__notes__", ()))
    assert "case=case_of('429cap')" in notes
    assert "inputSchema" not in notes


def test_each_check_shrinks_by_itself() -> None:
    two = ["spend_cap", "no_pointless_retry"]
    found = failures(
        settings(FEW, max_examples=60)(fuzz(naive_agent.connect, checks=two, vocabulary=["429cap", "error"]))
    )
    scripts = {error.check: str(error).partition("FAULTS=")[2].split()[0] for error in found}  # type: ignore[attr-defined]
    assert scripts == {"spend_cap": "429cap", "no_pointless_retry": "error"}


@pytest.mark.parametrize("examples", [2, 5])
def test_the_settings_of_the_user_hold(examples: int) -> None:
    runs = []

    async def agent(server: Any) -> str:
        runs.append(server)
        async with sdk_client.connect(server) as call_tool:
            return str(await call_tool("get_order", {"order_id": "A1"}))

    mine = settings(max_examples=examples, phases=[Phase.generate], database=None)
    mine(fuzz(agent, checks=["spend_cap"]))()
    assert len(runs) == examples + 2  # before that it is shown that the agent runs without any fault


def test_examples_can_be_given() -> None:
    tried = example(case=fuzzmcp.case_of("429cap"))(fuzz(naive_agent.connect, checks=["spend_cap"]))
    (failed,) = failures(settings(phases=[Phase.explicit])(tried))
    assert isinstance(failed, fuzzmcp.CheckFailed)


def test_the_contract_the_tools_and_the_protocol_are_those_that_are_given(tmp_path: Path) -> None:
    tool = {"name": "mine", "inputSchema": {"type": "object"}}
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"tools": [tool]}))
    contract = fuzzmcp.Contract(
        max_requests=1, deadline=50, accepts=("ToolFailed", OSError), max_requests_per_tool={"mine": 1}
    )
    test = fuzz(
        naive_agent.connect,
        tools=file,
        checks=["request_budget"],
        contract=contract,
        vocabulary=["error"],
        protocol="2025-06-18",
    )
    (failed,) = failures(FEW(test))
    again = str(failed).splitlines()[-1]
    assert f" --protocol 2025-06-18 --tools {file} --deadline 50 --max-requests 1 --max-requests mine=1" in again
    assert again.endswith("--accept ToolFailed --accept OSError")
    assert str(failed).startswith("request_budget: mine cost ")


def test_a_server_object_gives_the_answers() -> None:
    library: Any = pytest.importorskip("mcp.server" if sdk.MAJOR >= 2 else "mcp.server.fastmcp")
    server = getattr(library, "MCPServer" if sdk.MAJOR >= 2 else "FastMCP")("demo")
    asked: list[int] = []

    @server.tool()  # type: ignore[untyped-decorator,unused-ignore]
    def add(a: int) -> int:
        asked.append(a)
        return a + 1

    settings(FEW, max_examples=5)(fuzz(sdk_client.connect, tools=server, vocabulary=["429"], checks=["spend_cap"]))()
    assert asked


def test_a_client_that_cannot_run_says_so_with_its_own_exception() -> None:
    @asynccontextmanager
    async def broken(server: Any) -> Any:
        raise OSError("no key")
        yield

    with pytest.raises(CannotRun, match="with no fault at all: OSError: no key") as caught:
        fuzz(broken)()
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"checks": ["spendcap"]}, ValueError, "unknown check 'spendcap'; did you mean 'spend_cap'?"),
        ({"vocabulary": ["hnag"]}, ValueError, "hnag"),
        ({"protocol": "2025-11-26"}, CaseError, "unknown protocol version '2025-11-26'"),
        ({"backend": "tri"}, CaseError, "unknown backend 'tri'"),
    ],
)
def test_a_mistake_is_an_error_where_the_test_is_made(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words.replace("?", r"\?")):
        fuzz(sdk_client.connect, **options)
    with pytest.raises(TargetError):
        fuzz(3)


def test_two_tests_of_two_clients_keep_their_examples_apart() -> None:
    from hypothesis.database import InMemoryExampleDatabase

    database = InMemoryExampleDatabase()
    mine = settings(FEW, database=database, phases=[Phase.reuse, Phase.generate], derandomize=False)

    async def agent(server: Any) -> str:
        async with naive_agent.connect(server) as call_tool:
            return str(await call_tool("get_order", {"order_id": "A1"}))

    failures(mine(fuzz(naive_agent.connect, checks=["spend_cap"], vocabulary=CAPS)))
    keys = set(database.data)
    failures(mine(fuzz(naive_agent.connect, checks=["spend_cap"], vocabulary=CAPS)))
    assert set(database.data) == keys
    failures(mine(fuzz(agent, checks=["spend_cap"], vocabulary=CAPS)))
    assert set(database.data) > keys


def test_no_run_is_made_under_the_deadline_of_the_body() -> None:
    """The first runs of a process import its libraries, and a busy machine may hold any run up."""
    runs: list[Any] = []
    made: list[int] = []

    @asynccontextmanager
    async def counted(server: Any) -> Any:
        runs.append(server)
        async with sdk_client.connect(server) as call_tool:
            yield call_tool

    test: Any = fuzz(counted, checks=["spend_cap"], vocabulary=["429"])
    inner = test.hypothesis.inner_test

    def body(*self: Any, case: Any) -> None:
        before = len(runs)
        inner(*self, case=case)
        made.append(len(runs) - before)

    test.hypothesis.inner_test = body
    settings(max_examples=5, phases=[Phase.generate])(test)()
    assert made == [0] * 5
    assert len(runs) == 7  # two before anything is drawn
