"""Who gave up: the client, or a server that says that something behind it did."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
from typing import Any

import anyio
import httpx
import pytest
from mcp import ErrorData
from mcp.shared import exceptions

from fuzzmcp.checks.timeouts import gave_up
from fuzzmcp.core.trace import Answer, Event

from .clients import NOT_EXERCISED, Session, client, failed, judged, text_of, violated

ERROR = getattr(exceptions, "MCPError", None) or exceptions.McpError  # type: ignore[attr-defined]


def mcp_error(code: int, message: str = "no") -> Exception:
    error: Exception = ERROR.__new__(ERROR)
    error.error = ErrorData(code=code, message=message)  # type: ignore[attr-defined]
    return error


def said(text: str, code: int | None = None) -> Event:
    """An answer of the server."""
    frame = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}], "isError": True}}
    return Event(5.0, "deliver", frame=frame, answer=Answer("execution_error", text=text, code=code))


def raised_from(cause: BaseException, error: Exception) -> Exception:
    error.__cause__ = cause
    return error


def group(*members: Exception) -> BaseException:
    """A group of exceptions, on any Python."""
    error = Exception("several")
    error.exceptions = members  # type: ignore[attr-defined]
    return error


class SessionTimeout(Exception):
    """As a library may call its own."""


class Slow(SessionTimeout):
    """One of a kind."""


BACKEND = "timeout_error: the request to the backend timed out"


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        asyncio.TimeoutError(),
        concurrent.futures.TimeoutError(),
        httpx.ReadTimeout("no answer"),
        httpx.PoolTimeout("no connection"),
        SessionTimeout(),
        Slow("no answer"),
        mcp_error(408),
        mcp_error(-32001),
        raised_from(TimeoutError(), RuntimeError("the tool failed")),
        raised_from(raised_from(mcp_error(408), ValueError()), RuntimeError("the tool failed")),
        group(ValueError(), raised_from(TimeoutError(), RuntimeError())),
        RuntimeError("Timed out while waiting for response to ClientRequest. Waited 5.0 seconds."),
        RuntimeError("Request 'tools/call' timed out"),
        RuntimeError("Timeout of 5 s"),
    ],
    ids=repr,
)
def test_a_timeout_is_known_whatever_the_server_has_said_of_timeouts(error: Exception) -> None:
    assert gave_up([error], [])
    assert gave_up([ValueError(), error], [said("no order"), said(BACKEND)])


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no order"),
        asyncio.CancelledError(),
        RuntimeError(BACKEND),
        RuntimeError(f"get_order failed: {BACKEND} (504)"),
        RuntimeError("the request to the backend timed out"),
        RuntimeError("gave up: backend timed out!"),
        RuntimeError("timed out"),
        SessionTimeout(BACKEND),
        raised_from(RuntimeError(BACKEND), ValueError("failed")),
        mcp_error(-32001, "refused"),
    ],
    ids=repr,
)
def test_what_the_server_has_said_is_no_timeout_of_the_client(error: Exception) -> None:
    assert not gave_up([error], [said("busy", code=-32001), said(BACKEND)])


def test_a_quoted_answer_is_still_the_servers() -> None:
    text = json.dumps({"error": {"message": 'order "A1" timed out\nin the backend'}})
    assert not gave_up([RuntimeError(f"failed: {text}")], [said(text)])
    assert not gave_up(
        [RuntimeError('order "A1" timed out\nin the backend')], [said('order "A1" timed out\nin the backend')]
    )


def test_causes_that_lead_in_a_circle_have_an_end() -> None:
    one, other = RuntimeError(), RuntimeError()
    one.__cause__, other.__cause__ = other, one
    assert not gave_up([one], [])


@pytest.mark.parametrize("text", ["x" * 2_000_000, "x " * 1_000_000, "timed out " * 20_000])
def test_an_answer_of_any_size_is_looked_through_soon(text: str) -> None:
    assert not gave_up([RuntimeError(text)], [said(text)])


# -- judged ------------------------------------------------------------------------------------------------------------


async def confuses(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
    """Raises what belongs into the result, with the code of a protocol error."""
    result = await session.call(tool, arguments)
    if failed(result):
        error = RuntimeError(text_of(result))
        error.code = -32603  # type: ignore[attr-defined]
        raise error
    return result


LATE = ["504", "504@5", "529@5", 'error("the request timed out upstream")', 'error("the request timed out upstream")@5']


@pytest.mark.parametrize("script", LATE)
def test_a_client_that_raises_what_the_server_said_is_judged_however_late_that_came(script: str) -> None:
    violated("error_channels", client(confuses), script)


WRAPPED = [TimeoutError("too late"), RuntimeError("the call timed out"), SessionTimeout(), mcp_error(408)]


@pytest.mark.parametrize("error", WRAPPED, ids=repr)
@pytest.mark.parametrize("script", ["504@5", "529@5", "ok@5"])
def test_a_client_that_gives_up_at_the_very_moment_of_the_answer_is_not_judged_by_it(
    script: str, error: Exception
) -> None:
    async def hasty(session: Session, tool: str, arguments: dict[str, Any]) -> Any:
        with anyio.move_on_after(5):
            await session.call(tool, arguments)
        raise error

    for check in ("error_channels", "valid_accepted"):
        assert judged(check, client(hasty), script) == NOT_EXERCISED
