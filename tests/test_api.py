"""The public functions."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from checks.clients import client, plain, retrying

import fuzzmcp
from fuzzmcp import Call, Case, CheckFailed, Contract, Script, ScriptError
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import CaseError
from fuzzmcp.core.catalogue import tools
from fuzzmcp.core.catalogue.tools import ToolsError
from fuzzmcp.examples import careful_agent, naive_agent, sdk_client
from fuzzmcp.harness.target import TargetError

hasty = client(retrying(1.0))


def test_every_public_name_is_there_and_documented() -> None:
    for name in fuzzmcp.__all__:
        assert getattr(fuzzmcp, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fuzzmcp.nothing  # noqa: B018


def test_a_name_that_is_none_is_told_by_its_nearest() -> None:
    with pytest.raises(AttributeError, match=re.escape("no attribute 'chekc'; did you mean 'check'?")):
        fuzzmcp.chekc  # noqa: B018
    with pytest.raises(AttributeError, match=re.escape("did you mean 'strategies'?")):
        fuzzmcp.strategy  # noqa: B018
    assert not hasattr(fuzzmcp, "annotation")


def test_dir_lists_what_is_public_and_nothing_else() -> None:
    listed = {name for name in dir(fuzzmcp) if not name.startswith("__")}
    assert listed == {*fuzzmcp.__all__, "clients", "strategies", "upstream"}
    assert "__version__" in dir(fuzzmcp)


LIGHT = "print(sorted({'mcp', 'hypothesis', 'anyio', 'rich', 'pytest'} & set(sys.modules)))"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (f"import sys, fuzzmcp; dir(fuzzmcp); {LIGHT}", "[]\n"),
        ("import fuzzmcp; print(fuzzmcp.strategies.cases.__name__)", "cases\n"),
        ("import fuzzmcp; print(fuzzmcp.upstream.Upstream.__name__)", "Upstream\n"),
        ("import fuzzmcp; print(fuzzmcp.clients.__name__)", "fuzzmcp.clients\n"),
    ],
    ids=["import", "strategies", "upstream", "clients"],
)
def test_importing_it_is_light_and_its_packages_are_imported_when_they_are_used(program: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == printed


def test_a_traceback_guesses_once() -> None:
    done = subprocess.run([sys.executable, "-c", "import fuzzmcp; fuzzmcp.chekc"], capture_output=True, text=True)
    assert done.stderr.lower().count("did you mean") == 1


# -- case_of ----------------------------------------------------------------------------------------------------------


def test_a_case_from_nothing_calls_the_first_tool_with_its_sample_arguments() -> None:
    case = fuzzmcp.case_of()
    assert list(map(str, case.calls)) == ['get_order(order_id="A1")']
    assert (str(case.script), case.protocol, case.backend, case.changed) == ("ok", "2025-11-25", "asyncio", None)
    assert case.tools == tools.crm()


def test_calls_can_be_written_in_three_ways() -> None:
    written = ['get_order(order_id="A1")@0.5', ("get_order", {"order_id": "A1"}), Call("get_order", {"order_id": "A1"})]
    made = fuzzmcp.case_of(calls=written).calls
    assert [call.arguments for call in made] == [{"order_id": "A1"}] * 3
    assert [call.at for call in made] == [0.5, None, None]


def test_a_script_can_be_given_as_text_or_ready_made() -> None:
    assert fuzzmcp.case_of("429").script == fuzzmcp.case_of(Script.parse("429")).script


def test_only_a_script_that_announces_a_change_brings_a_second_catalogue() -> None:
    assert fuzzmcp.case_of("429").changed is None
    changed = fuzzmcp.case_of("ok+list_changed").changed
    assert changed is not None
    assert changed != tools.crm()


def test_tools_can_be_a_file_or_definitions(tmp_path: Path) -> None:
    definition = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    path = tmp_path / "tools.json"
    path.write_text('{"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}')
    assert fuzzmcp.case_of(tools=str(path)).tools[0].name == "echo"
    assert fuzzmcp.case_of(tools=path).tools[0].name == "echo"
    assert fuzzmcp.case_of(tools=[definition]).calls[0].tool == "echo"
    run = fuzzmcp.run(client(plain), "", tools=[definition])
    assert run.outcomes[0].status == "returned"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"script": "hnag"}, ScriptError),
        ({"calls": ["get_order("]}, CaseError),
        ({"calls": ["no_such_tool()"]}, CaseError),
        ({"protocol": "2024-01-01"}, CaseError),
        ({"backend": "curio"}, CaseError),
        ({"tools": "/no/such/file.json"}, ToolsError),
        ({"tools": []}, ToolsError),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_a_value_error_before_anything_runs(
    options: dict[str, Any], error: type[Exception]
) -> None:
    started: list[Any] = []

    async def agent(server: Any) -> None:
        started.append(server)

    with pytest.raises(error) as caught:
        fuzzmcp.run(agent, **options)
    assert isinstance(caught.value, ValueError)
    assert not started


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(TargetError):
        fuzzmcp.run(7, "429")


# -- run, violations, check -------------------------------------------------------------------------------------------


def test_a_whole_case_can_be_run_as_it_is() -> None:
    case = Case(calls=(Call("get_order", {"order_id": "A9"}),), script=Script.parse("429"), backend="trio")
    assert fuzzmcp.run(hasty, case).case is case


@pytest.mark.parametrize(
    "beside",
    [
        {"calls": ["nonsense("]},
        {"calls": []},
        {"protocol": "2026-07-28"},
        {"protocol": "2025-11-25"},
        {"transport": "memory"},
        {"backend": "trio"},
        {"backend": "asyncio"},
    ],
    ids=str,
)
def test_what_a_whole_case_says_itself_is_refused_beside_it(beside: dict[str, Any]) -> None:
    (name,) = beside
    told = f"{name}: a whole case says that itself: change it by dataclasses.replace(case, {name}=…)"
    for act in (fuzzmcp.run, fuzzmcp.check):
        with pytest.raises(TypeError, match=re.escape(told)):
            act(hasty, Case(), **beside)


def test_another_catalogue_beside_a_whole_case_is_refused_but_not_a_contract() -> None:
    with pytest.raises(TypeError, match="tools: a whole case has its own catalogue"):
        fuzzmcp.run(hasty, Case(), tools=[{"name": "echo", "inputSchema": {"type": "object"}}])
    fuzzmcp.check(hasty, Case(), contract=Contract(), checks=["spend_cap"], quiet=True)


def test_what_stands_beside_a_script_still_counts() -> None:
    case = fuzzmcp.run(hasty, "429", backend="trio", protocol="2025-06-18", transport="stdio").case
    assert (case.backend, case.protocol, case.transport) == ("trio", "2025-06-18", "stdio")
    case = fuzzmcp.run(hasty, "429").case
    assert (case.backend, case.protocol, case.transport) == ("asyncio", "2025-11-25", "memory")


def test_violations_are_those_checks_that_were_broken() -> None:
    found = fuzzmcp.violations(fuzzmcp.run(hasty, "429cap"))
    assert set(found) == {"spend_cap"}
    assert fuzzmcp.violations(fuzzmcp.run(hasty, "429cap"), checks=["retry_after"]) == {}
    assert fuzzmcp.violations(fuzzmcp.run(hasty, "")) == {}


def test_check_fails_with_the_class_and_the_sentence_of_the_check() -> None:
    with pytest.raises(CHECKS["spend_cap"].failure, match="spend_cap: get_order was sent again") as caught:
        fuzzmcp.check(hasty, "429cap")
    assert isinstance(caught.value, CheckFailed)
    assert isinstance(caught.value, AssertionError)
    assert caught.value.violation.call == 0


def test_check_returns_the_run_where_nothing_was_broken() -> None:
    assert fuzzmcp.check(client(plain), "429cap").outcomes[0].status == "returned"


def test_check_asks_only_the_checks_that_are_named() -> None:
    assert fuzzmcp.check(hasty, "429cap", checks=["retry_after"]).played
    with pytest.raises(AssertionError):
        fuzzmcp.check(hasty, "429cap", checks=["spend_cap"])


def test_check_goes_by_the_contract_that_is_given() -> None:
    eager = client(retrying(1.0, 2.0, 4.0, 8.0))
    with pytest.raises(AssertionError, match="request_budget"):
        fuzzmcp.check(eager, "529*")
    fuzzmcp.check(eager, "529*", contract=Contract(max_requests=5))


contract = Contract(max_requests=1)


def test_the_contract_beside_a_client_is_the_one_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def agent(server: Any) -> Any:
        async with client(retrying(1.0))(server) as call:
            return await call("get_order", {"order_id": "A1"})

    with pytest.raises(AssertionError, match="the contract allows 1"):
        fuzzmcp.check(agent, "529")


@pytest.mark.parametrize("field", ["deadline", "max_requests", "grace", "max_frames", "shutdown"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_contract_that_promises_nothing_possible_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"contract: {field} must be above 0"):
        Contract(**{field: value})


# -- the examples -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "check"),
    [
        ("429cap", "spend_cap"),
        ("429", "retry_after"),
        ("drift(order_id>orderId)", "drift_caught"),
        ("error*5", "request_budget"),
        ("error", "no_pointless_retry"),
        ("529*3", "backoff"),
        ("list_changed", "relists"),
    ],
)
def test_the_naive_agent_breaks_what_it_is_said_to_break(script: str, check: str) -> None:
    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")'] if check == "relists" else None
    assert check in fuzzmcp.violations(fuzzmcp.run(naive_agent.connect, script, calls=calls))


SCRIPTS = ["429cap", "429", "529*", "drift", "hang", "close", "list_changed", "list:hang", "late", "strid", "batch"]


@pytest.mark.parametrize(
    "script", [*SCRIPTS, "hang+cancel@2", "error", "rpc(-32603)", "list:fresh_loop", "ping", "dup"]
)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_careful_agent_keeps_its_promises(script: str, backend: str) -> None:
    calls = ['get_order(order_id="A1")', 'refund_order(order_id="A1", amount=20.5)@0', "find_customer()"]
    run = fuzzmcp.run(careful_agent.connect, script, calls=calls, backend=backend)
    assert fuzzmcp.violations(run, fuzzmcp.api.contract_of(careful_agent.connect)) == {}


def test_the_bare_sdk_loses_a_result_when_the_list_behind_it_fails() -> None:
    assert "valid_accepted" in fuzzmcp.violations(fuzzmcp.run(sdk_client.connect, "list:rpc(-32603)"))


@pytest.mark.parametrize(
    ("checks", "message"),
    [(["spendcap"], "unknown check 'spendcap'; did you mean 'spend_cap'?"), ("spend_cap", "expected a list of checks")],
)
def test_a_check_that_is_none_is_told_by_its_nearest_name(checks: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        fuzzmcp.check(plain, "429cap", checks=checks)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("transport", ["memory", "stdio"])
@pytest.mark.parametrize("outer", ["asyncio", "trio"])
def test_a_coroutine_on_any_loop_can_check_a_client_and_go_on(outer: str, transport: str, backend: str) -> None:
    async def test() -> None:
        run = fuzzmcp.check(careful_agent.connect, "429", transport=transport, backend=backend)
        assert run.outcomes[0].status == "returned"
        with pytest.raises(fuzzmcp.CheckFailed):
            fuzzmcp.check(sdk_client.connect, "list:rpc(-32603)", transport=transport, backend=backend)
        await anyio.sleep(0.001)

    anyio.run(test, backend=outer)
    gc.collect()  # a loop that was left broken says so now


def test_a_run_that_breaks_several_promises_fails_by_the_first_and_tells_of_all() -> None:
    script, contract = "429*9", Contract(max_requests=2)
    broken = fuzzmcp.violations(fuzzmcp.run(naive_agent.connect, script, contract=contract), contract)
    first, *others = broken
    assert others
    with pytest.raises(CheckFailed) as caught:
        fuzzmcp.check(naive_agent.connect, script, contract=contract)
    assert type(caught.value) is CHECKS[first].failure
    head, *lines = str(caught.value).splitlines()
    assert head == f"{first}: {broken[first].message}"
    assert lines == [f"also {name}: {broken[name].message}" for name in others]
    assert list(caught.value.others) == others
    with pytest.raises(CheckFailed) as one:
        fuzzmcp.check(naive_agent.connect, script, contract=contract, checks=[first])
    assert (str(one.value), one.value.others) == (head, {})
