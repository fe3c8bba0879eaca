"""A bug of fuzzmcp's own in a run is told as one, whatever the client does with it: it is never held against it."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from checks.clients import Session, careful, client, plain
from commands import NAIVE, invoke
from hypothesis import given
from hypothesis import strategies as st
from upstream.network import installed

import fuzzmcp
from fuzzmcp import upstream
from fuzzmcp.api import case_of, contract_of
from fuzzmcp.examples import careful_agent, sdk_client
from fuzzmcp.harness.backing_server import BackingServer
from fuzzmcp.harness.observe.leaks import Leaks
from fuzzmcp.harness.observe.stacks import Stacks
from fuzzmcp.harness.run import HarnessError, _Session
from fuzzmcp.harness.server import FakeServer, answers
from fuzzmcp.harness.transports.attribution import WriterAttribution
from fuzzmcp.harness.transports.fake_process import FakeProcess
from fuzzmcp.harness.transports.streams import Inbox
from fuzzmcp.search import Budget, Search
from fuzzmcp.search.job import Job
from fuzzmcp.target import target_of
from harness.test_backing_server import CALL, shop
from harness.test_blocking import loop_thread

both = pytest.mark.parametrize("backend", ["asyncio", "trio"])
over_both = pytest.mark.parametrize("transport", ["memory", "stdio"])
BUG = "a bug of fuzzmcp's own"


async def agent(server: Any) -> Any:
    async with careful_agent.connect(server) as call_tool:
        return await call_tool("get_order", {"order_id": "A1"})


async def shrugging_agent(server: Any) -> str:
    """Takes every exception for an answer, and tries for ever."""
    async with sdk_client.connect(server) as call_tool:
        while True:
            try:
                return str(await call_tool("get_order", {"order_id": "A1"}))
            except Exception:
                await asyncio.sleep(1)


async def starting_agent(server: Any) -> Any:
    """Has a task for its call."""
    import anyio

    async with careful_agent.connect(server) as call_tool, anyio.create_task_group() as tasks:
        tasks.start_soon(call_tool, "get_order", {"order_id": "A1"})


async def chatty(session: Session, tool: str, arguments: dict[str, Any]) -> None:
    """Has no end of things to say."""
    while True:
        await session.notify("notifications/progress")


def broken(monkeypatch: pytest.MonkeyPatch, where: Any, name: str, when: Any = lambda *given: True) -> KeyError:
    """Let a function of fuzzmcp's own raise; returns the exception."""
    whole, bug = getattr(where, name), KeyError(BUG)

    def breaks(*given: Any, **more: Any) -> Any:
        if when(*given):
            raise bug
        return whole(*given, **more)

    monkeypatch.setattr(where, name, breaks)
    return bug


def told(bug: Exception, case: str, play: Any) -> HarnessError:
    """The error that says so, with its cause, where that was raised, and how to see it again."""
    with pytest.raises(HarnessError, match="The client is not to blame") as caught:
        play()
    assert caught.value.__cause__ is bug
    assert bug.__traceback__ is not None
    assert str(caught.value).endswith(f"the case that shows it: {case}")
    gc.collect()  # nothing is left that would complain
    return caught.value


BREAKABLE = {
    "the answer": (answers, "build"),
    "the stacks": (Stacks, "take"),
    "a call's start": (Stacks, "call_started"),
    "the connection": (FakeServer, "connect"),
    "a delivery": (Inbox, "put"),
    "the end": (FakeServer, "finish"),
    "the record": (FakeServer, "unreached"),
}


@both
@over_both
@pytest.mark.parametrize("script", ["429", "429@5"])
@pytest.mark.parametrize("target", [careful_agent.connect, agent])
@pytest.mark.parametrize("what", BREAKABLE)
def test_a_bug_of_our_own_is_no_fault_of_the_client(
    monkeypatch: pytest.MonkeyPatch, what: str, target: Any, script: str, transport: str, backend: str
) -> None:
    case = case_of(script, transport=transport, backend=backend)
    place = (WriterAttribution, "of_request") if what == "the stacks" and transport == "stdio" else BREAKABLE[what]
    told(broken(monkeypatch, *place), repr(case), lambda: fuzzmcp.check(target, case))


@both
def test_a_bug_that_shows_when_a_task_starts(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    case = case_of("429", backend=backend)
    told(broken(monkeypatch, Stacks, "task_started"), repr(case), lambda: fuzzmcp.run(starting_agent, case))


OVERSIGHT = [
    ("hang", client(plain), _Session, "on_idle"),
    ("hang", client(plain), _Session, "give_up"),
    ("ping", client(chatty), _Session, "budget_spent"),
    ("hang+cancel@2", careful_agent.connect, _Session, "caller_cancels"),
    ("429", careful_agent.connect, _Session, "probe"),
    ("429", careful_agent.connect, _Session, "outcome"),
    ("429", careful_agent.connect, Leaks, "look"),
    ("block(5),ok", careful_agent.connect, FakeServer, "unblocked"),
]


@both
@pytest.mark.parametrize(("script", "target", "where", "name"), OVERSIGHT)
def test_a_bug_in_what_watches_over_a_run(
    monkeypatch: pytest.MonkeyPatch, script: str, target: Any, where: Any, name: str, backend: str
) -> None:
    case = case_of(script, backend=backend)
    told(broken(monkeypatch, where, name), repr(case), lambda: fuzzmcp.check(target, case))


@both
@pytest.mark.parametrize("script", ["close", "exit(3)@2", "hang"])
def test_a_bug_in_the_fake_process(monkeypatch: pytest.MonkeyPatch, script: str, backend: str) -> None:
    case = case_of(script, transport="stdio", backend=backend)
    told(broken(monkeypatch, FakeProcess, "exit"), repr(case), lambda: fuzzmcp.run(sdk_client.connect, case))


def test_a_client_that_shrugs_off_every_exception_hides_no_bug_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = broken(monkeypatch, answers, "build", lambda action, asked: asked.tool is not None)
    told(bug, "case_of('429')", lambda: fuzzmcp.run(shrugging_agent, "429"))


def test_a_client_with_a_loop_in_a_thread_is_not_blamed_either(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = broken(monkeypatch, answers, "build")
    told(bug, "case_of('429')", lambda: fuzzmcp.run(loop_thread(client(careful)), "429"))


@both
def test_a_bug_between_the_fake_and_a_real_server_is_ours(monkeypatch: pytest.MonkeyPatch, backend: str) -> None:
    bug = broken(monkeypatch, BackingServer, "call")
    case = "case_of('ok', calls=['price(article=\"tea\")'], tools=<price, fail>, backend='trio')"
    if backend == "asyncio":
        case = case.replace(", backend='trio'", "")
    server = shop()
    told(bug, case, lambda: fuzzmcp.run(sdk_client.connect, "", tools=server, calls=CALL, backend=backend))


def test_what_a_real_server_raises_is_its_answer_and_no_bug() -> None:
    run = fuzzmcp.run(sdk_client.connect, "", tools=shop(), calls=['fail(reason="none")'])
    assert run.outcomes[0].status == "returned"


# -- searches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["sweep", "fuzz"])
@pytest.mark.parametrize("what", ["answer", "delivery"])
def test_a_search_finds_nothing_in_a_bug_of_our_own(monkeypatch: pytest.MonkeyPatch, what: str, phase: str) -> None:
    if what == "answer":
        bug = broken(monkeypatch, answers, "build", lambda action, *_: action.name == "429")
    else:
        bug = broken(monkeypatch, Inbox, "end")
    found: list[Any] = []
    target = target_of(careful_agent.connect)
    job = Job(target, case_of(), contract_of(target))
    search = Search(job, budget=Budget(runs=400), phases=(phase,), on_finding=found.append)
    with pytest.raises(HarnessError, match="case_of") as caught:
        search.run()
    assert caught.value.__cause__ is bug
    assert found == []


def test_the_command_line_asks_for_a_report_and_saves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken(monkeypatch, answers, "build")
    result = invoke("run", NAIVE, "--runs", "50", "--save", str(tmp_path / "found"))
    assert result.exit_code == 3
    assert "This is no finding about your client; please report it with what follows." in result.stderr
    assert "the case that shows it: case_of('ok')" in result.stderr
    assert 'raise bug\nKeyError: "a bug of fuzzmcp' in result.stderr
    assert not (tmp_path / "found").exists()


# -- what is the client's all the same ---------------------------------------------------------------------------------


@asynccontextmanager
async def writes_no_text(server: Any) -> AsyncIterator[Any]:
    async with server.lines() as (_, write):

        async def call_tool(tool: str, arguments: dict[str, Any]) -> None:
            await write.send(object())

        yield call_tool


@both
def test_what_no_stream_takes_is_the_clients_own_error(backend: str) -> None:
    (outcome,) = fuzzmcp.run(writes_no_text, "", backend=backend).outcomes
    assert isinstance(outcome.error, TypeError)


@asynccontextmanager
async def endless(server: Any) -> AsyncIterator[Any]:
    async with server.lines() as (_, write):

        async def call_tool(tool: str, arguments: dict[str, Any]) -> None:
            await write.send('{"jsonrpc": "2.0", "method": "notifications/cancelled"}')
            await call_tool(tool, arguments)

        yield call_tool


def test_a_client_that_calls_itself_for_ever_runs_out_of_its_own_stack() -> None:
    (outcome,) = fuzzmcp.run(endless, "", contract=fuzzmcp.Contract()).outcomes
    assert isinstance(outcome.error, RecursionError) or outcome.status == "unfinished"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["A1", "get_order", "2025-11-25"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["_meta", "x"]), inner, max_size=2),
    max_leaves=4,
)
_NAMES = ("name", "arguments", "_meta", "cursor", "requestId", "protocolVersion", "notifications", "progressToken")
_METHODS = ("initialize", "tools/list", "tools/call", "ping", "notifications/cancelled", "subscriptions/listen", "x")
_FRAMES = st.fixed_dictionaries(
    {"method": st.sampled_from(_METHODS) | _JSON},
    optional={"id": _JSON, "params": _JSON | st.fixed_dictionaries({}, optional=dict.fromkeys(_NAMES, _JSON))},
)


@given(
    frames=st.lists(_FRAMES | _JSON, min_size=1, max_size=4),
    script=st.sampled_from(["", "429+progress", "dup+progress_after", "list_changed", "list:pages", "hang+cancel@2"]),
    protocol=st.sampled_from(["2025-11-25", "2026-07-28"]),
)
def test_whatever_a_client_sends_is_nothing_that_fuzzmcp_fails_of(
    frames: list[Any], script: str, protocol: str
) -> None:
    async def sends(server: Any) -> str:
        async with server.lines() as (_, write):
            for frame in frames:
                await write.send(json.dumps(frame))
        return "sent"

    assert fuzzmcp.run(sends, script, protocol=protocol).outcomes[0].value == "sent"


# -- plain HTTP --------------------------------------------------------------------------------------------------------


def fetch(up: Any) -> int:
    http = installed()
    with http.Client(transport=up.transport(http)) as one:
        return int(one.get("https://backend.test/").status_code)


async def fetch_async(up: Any) -> int:
    http = installed()
    async with http.AsyncClient(transport=up.transport(http)) as one:
        return int((await one.get("https://backend.test/")).status_code)


FETCHES = [(fetch, "asyncio"), (fetch_async, "asyncio"), (fetch_async, "trio")]


@pytest.mark.parametrize(("function", "backend"), FETCHES)
@pytest.mark.parametrize(
    ("where", "name"),
    [(Stacks, "take"), (upstream.answers, "build"), (upstream.server.Upstream, "_take"), (upstream.Upstream, "_note")],
)
def test_a_bug_in_the_fake_backend_is_no_fault_of_its_client(
    monkeypatch: pytest.MonkeyPatch, where: Any, name: str, function: Any, backend: str
) -> None:
    told(broken(monkeypatch, where, name), "Upstream('429')", lambda: upstream.run(function, "429", backend=backend))


@pytest.mark.parametrize(("function", "backend"), FETCHES)
def test_a_body_that_is_no_json_is_whose_it_is(function: Any, backend: str) -> None:
    happened = upstream.run(function, "", ok=object(), backend=backend)
    assert isinstance(happened.outcomes[0].error, TypeError)


@both
def test_a_bug_in_the_fake_backend_of_a_client_is_told_with_the_case(
    monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    bug = broken(monkeypatch, upstream.answers, "build")

    async def both_ways(server: Any, behind: upstream.Upstream) -> int:
        return await fetch_async(behind)

    case = case_of("429", backend=backend)
    told(bug, repr(case), lambda: fuzzmcp.run(both_ways, case))
