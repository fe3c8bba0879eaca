"""What one client does for the main faults."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any

import pytest
from anyio import create_task_group

from fuzzmcp.core.faults import why_inapplicable
from fuzzmcp.core.protocol import METHODS, TRANSPORTS, VERSIONS
from fuzzmcp.core.script import Script
from fuzzmcp.examples.careful_agent import connect as careful
from fuzzmcp.examples.naive_agent import connect as naive
from fuzzmcp.examples.sdk_client import connect as sdk
from survey.reactions import FAULTS, main, reaction, versions

SCRIPTS = [script for group in FAULTS.values() for script in group]


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_is_spelled_as_reports_spell_it_and_can_happen(script: str) -> None:
    parsed = Script.parse(script)
    assert str(parsed) == script
    step = parsed.steps[0]
    assert step.method in METHODS
    names, places = [action.name for action in step.actions], list(product(VERSIONS, TRANSPORTS))
    assert any(all(why_inapplicable(name, step.method, *place) is None for name in names) for place in places)


def test_what_only_a_pipe_can_break_happens_over_one_alone() -> None:
    assert reaction(patient, "exit")["status"] == "not reached"
    assert reaction(patient, "exit", transport="stdio")["status"] == "raised"


def test_no_script_stands_twice() -> None:
    assert len(set(SCRIPTS)) == len(SCRIPTS)


def test_an_exception_has_type_and_text() -> None:
    seen = reaction(sdk, "rpc(-32603)*")
    assert (seen["status"], seen["text"], seen["requests"]) == ("raised", "Internal error", 1)
    assert seen["error"].lower() == "mcperror"


def test_a_returned_error_keeps_its_flag_and_a_result_has_none() -> None:
    assert reaction(sdk, "error")["flag"] is True
    assert reaction(sdk, "ok@5")["flag"] is False


@asynccontextmanager
async def texts_only(server: Any) -> AsyncIterator[Any]:
    async with patient(server) as call_tool:

        async def call(tool: str, arguments: dict[str, Any]) -> str:
            return "\n".join(block.text for block in (await call_tool(tool, arguments)).content)

        yield call


def test_text_without_a_flag_is_the_answer_or_something_else() -> None:
    right, wrong = reaction(texts_only, "ok@5"), reaction(texts_only, "error")
    assert (right["flag"], right["answered"]) == (None, True)
    assert (wrong["flag"], wrong["answered"]) == (None, False)


def test_retries_are_counted_and_take_virtual_time() -> None:
    seen = reaction(naive, "429*")
    assert seen["requests"] > 1
    assert seen["seconds"] > 0


def test_a_timeout_is_seen_with_its_time_and_its_cancellation() -> None:
    seen = reaction(careful, "hang")
    assert (seen["status"], seen["cancels"], seen["endless"]) == ("raised", True, False)
    assert seen["seconds"] > 0


@asynccontextmanager
async def patient(server: Any) -> AsyncIterator[Any]:
    from mcp import ClientSession

    async with server.connect() as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session.call_tool


def test_waiting_for_ever_is_endless_and_what_fuzzmcp_cancels_at_the_end_is_not_the_clients_doing() -> None:
    seen = reaction(patient, "hang")
    assert (seen["status"], seen["endless"], seen["cancels"]) == ("unfinished", True, False)


def test_an_answer_that_waits_for_a_cancellation_that_never_comes_is_a_hang() -> None:
    assert reaction(patient, "late")["status"] == "unfinished"


def test_connecting_that_fails_or_never_ends_is_told_apart() -> None:
    failed, endless = reaction(patient, "init:rpc(-32603)"), reaction(patient, "init:hang")
    assert (failed["status"], failed["endless"], failed["text"]) == ("no connection", False, "Internal error")
    assert (endless["status"], endless["endless"]) == ("no connection", True)


@asynccontextmanager
async def grouped(server: Any) -> AsyncIterator[Any]:
    async with patient(server) as call_tool:

        async def call(tool: str, arguments: dict[str, Any]) -> None:
            async with create_task_group() as outer:
                outer.start_soon(inner, tool, arguments)

        async def inner(tool: str, arguments: dict[str, Any]) -> None:
            async with create_task_group() as group:
                group.start_soon(call_tool, tool, arguments)

        yield call


def test_the_members_of_an_exception_group_are_named_however_deep() -> None:
    seen = reaction(grouped, "rpc(-32603)")
    assert seen["error"].lower() == "exceptiongroup(mcperror)"
    assert seen["text"] == "Internal error"


def test_a_script_for_a_request_that_is_never_sent_is_not_reached() -> None:
    assert reaction(sdk, "discover:hang")["status"] == "not reached"


def test_what_is_not_installed_has_no_version() -> None:
    assert list(versions(["mcp", "no-such-package"])) == ["mcp"]


def test_the_program_prints_a_line_for_the_versions_and_one_for_each_script(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzzmcp.examples.sdk_client:connect", "--packages", "anyio"]) == 0
    head, *lines = map(json.loads, capfd.readouterr().out.splitlines())
    assert {"mcp", "fuzzmcp", "anyio"} == set(head["packages"])
    assert [line["faults"] for line in lines] == SCRIPTS
    assert all(line["status"] != "not run" for line in lines)
