"""`fuzz`: a Hypothesis test that is ready to be collected, and obeys the settings of its user."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT
from hypothesis import Phase, example, seed, settings
from hypothesis.errors import DeadlineExceeded, InvalidArgument

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
    # Drawn at random, so enough for the bug to be met: the first that shows it ends the test.
    found = {"database": database, "phases": [Phase.reuse, Phase.generate], "derandomize": False}
    mine = settings(FEW, max_examples=500, **found)

    async def agent(server: Any) -> str:
        async with naive_agent.connect(server) as call_tool:
            return str(await call_tool("get_order", {"order_id": "A1"}))

    failures(mine(fuzz(naive_agent.connect, checks=["spend_cap"], vocabulary=CAPS)))
    keys = set(database.data)
    failures(mine(fuzz(naive_agent.connect, checks=["spend_cap"], vocabulary=CAPS)))
    assert set(database.data) == keys
    failures(mine(fuzz(agent, checks=["spend_cap"], vocabulary=CAPS)))
    assert set(database.data) > keys


# -- time -------------------------------------------------------------------------------------------------------------

DEFAULT = settings(settings.get_profile("default"), database=None, print_blob=False, phases=[Phase.generate])
"""What a user has who has set nothing; a CI sets some of it."""


def counted(runs: list[Any]) -> Any:
    @asynccontextmanager
    async def connect(server: Any) -> Any:
        runs.append(server)
        async with sdk_client.connect(server) as call_tool:
            yield call_tool

    return connect


def busy(seconds: float) -> Any:
    """A client that costs so much of the processor: real time, which no virtual clock shortens."""

    @asynccontextmanager
    async def connect(server: Any) -> Any:
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        async with sdk_client.connect(server) as call_tool:
            yield call_tool

    return connect


def test_a_case_is_run_in_the_body_and_nothing_is_run_while_it_is_drawn() -> None:
    runs: list[Any] = []
    made: list[int] = []
    test: Any = fuzz(counted(runs), checks=["spend_cap"], vocabulary=["429"])
    inner = test.hypothesis.inner_test

    def body(*self: Any, case: Any) -> None:
        assert type(case) is fuzzmcp.Case
        before = len(runs)
        inner(*self, case=case)
        made.append(len(runs) - before)

    test.hypothesis.inner_test = body
    settings(max_examples=5, phases=[Phase.generate])(test)()
    assert made == [1] * 5
    assert len(runs) == 7  # two before anything is drawn


def test_a_slow_client_trips_neither_a_health_check_nor_the_default_deadline() -> None:
    settings(DEFAULT, max_examples=6)(fuzz(busy(0.21), checks=["spend_cap"], vocabulary=["429"]))()


@pytest.mark.parametrize("deadline", [200, timedelta(milliseconds=150)])
def test_an_explicit_deadline_holds(deadline: Any) -> None:
    slow = settings(DEFAULT, max_examples=2, deadline=deadline)(fuzz(busy(0.25), checks=["spend_cap"]))
    assert all(isinstance(error, DeadlineExceeded) for error in failures(slow))


def test_the_deadline_of_a_profile_holds() -> None:
    settings.register_profile("of the user", DEFAULT, deadline=100, max_examples=2)
    slow = settings(settings.get_profile("of the user"))(fuzz(busy(0.25), checks=["spend_cap"]))
    assert all(isinstance(error, DeadlineExceeded) for error in failures(slow))


# -- decorators -------------------------------------------------------------------------------------------------------


def test_what_decorators_say_of_the_test_holds_in_any_order() -> None:
    runs: list[Any] = []
    test = fuzz(counted(runs), checks=["spend_cap"], vocabulary=["429"])
    few = settings(max_examples=3, phases=[Phase.explicit, Phase.generate], database=None)
    few(example(case=fuzzmcp.case_of("hang"))(seed(5)(pytest.mark.slow(test))))()
    assert len(runs) == 2 + 1 + 3
    with pytest.raises(InvalidArgument, match="decorated"):
        settings(max_examples=5)(few(fuzz(sdk_client.connect)))


def test_the_same_seed_draws_the_same_cases() -> None:
    def drawn() -> list[str]:
        cases: list[str] = []
        test: Any = fuzz(sdk_client.connect, checks=["spend_cap"])
        inner = test.hypothesis.inner_test
        test.hypothesis.inner_test = lambda case: (cases.append(str(case)), inner(case=case))[-1]
        settings(max_examples=10, database=None, phases=[Phase.generate])(seed(7)(test))()
        return cases

    assert drawn() == drawn()


def test_bytes_of_another_fuzzer_can_be_tried() -> None:
    runs: list[Any] = []
    test: Any = fuzz(counted(runs), checks=["spend_cap"], vocabulary=CAPS)
    test.hypothesis.fuzz_one_input(b"\1" * 200)
    assert len(runs) == 3


@pytest.mark.parametrize("file", [True, False])
def test_a_command_is_printed_where_it_can_name_the_tools(tmp_path: Path, file: bool) -> None:
    tools: Any = [{"name": "mine", "inputSchema": {"type": "object"}}]
    if file:
        (tmp_path / "mine.json").write_text(json.dumps(tools))
        tools = tmp_path / "mine.json"
    (failed,) = failures(FEW(fuzz(naive_agent.connect, tools=tools, checks=["spend_cap"], vocabulary=CAPS)))
    *_, last = str(failed).splitlines()
    assert last.startswith(
        "again fuzzmcp replay " if file else "again run this test: no command line can name its tools"
    )
