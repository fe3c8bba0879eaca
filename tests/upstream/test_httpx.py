"""The transport of httpx and httpx2, sync and async: the library's own answers and exceptions, in virtual time."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from fuzzmcp import upstream
from fuzzmcp.upstream import Happened, HttpRequest, Upstream

from .network import installed, library

URL = "https://backend.test/v1/orders?key=secret"
Fetch = Callable[..., Happened]


@pytest.fixture(params=["httpx sync", "httpx asyncio", "httpx trio", "httpx2 sync", "httpx2 asyncio", "httpx2 trio"])
def fetch(request: pytest.FixtureRequest) -> Fetch:
    """Sends one request after the other, and returns the run with a list of `(status or exception, virtual time)`."""
    name, how = request.param.split()
    http = library(name)

    def drive(script: str | Upstream, times: int = 1, *, limit: float | None = 10.0, **options: Any) -> Happened:
        def sync(up: Upstream) -> list[Any]:
            seen: list[Any] = []
            with http.Client(transport=up.transport(http), timeout=limit) as client:
                for _ in range(times):
                    try:
                        seen.append(client.post(URL, json={"id": 7}))
                    except http.HTTPError as error:
                        seen.append(error)
            return seen

        async def coroutine(up: Upstream) -> list[Any]:
            seen: list[Any] = []
            async with http.AsyncClient(transport=up.transport(name), timeout=limit) as client:
                for _ in range(times):
                    try:
                        seen.append(await client.post(URL, json={"id": 7}))
                    except http.HTTPError as error:
                        seen.append(error)
            return seen

        if how == "sync":
            return upstream.run(sync, script, **options)
        return upstream.run(coroutine, script, backend=how, **options)

    return drive


def names(happened: Happened) -> list[Any]:
    return [getattr(one, "status_code", type(one).__name__) for one in happened.value]


def test_each_request_takes_the_next_step_and_past_the_end_all_is_ok(fetch: Fetch) -> None:
    happened = fetch("429,529*2,504,429cap,error", 7)
    assert names(happened) == [429, 529, 529, 504, 429, 400, 200]
    assert [exchange.status for exchange in happened.requests] == names(happened)
    assert happened.ended == 0
    assert (happened.unreached, happened.undelivered) == ((), ())


def test_a_delayed_answer_comes_at_its_virtual_second(fetch: Fetch) -> None:
    happened = fetch("ok@3.5,429@0.1")
    assert happened.ended == 3.5
    assert (happened.requests[0].at, happened.requests[0].ended) == (0.0, 3.5)


def test_a_hang_ends_with_the_clients_own_timeout(fetch: Fetch) -> None:
    happened = fetch("hang")
    assert names(happened) == ["ReadTimeout"]
    assert happened.ended == 10
    assert happened.requests[0].failure == "timed out"
    assert happened.value[0].request.method == "POST"


def test_an_answer_at_the_very_moment_of_the_timeout_arrives(fetch: Fetch) -> None:
    assert names(fetch("ok@10,ok@10.001", 2)) == [200, "ReadTimeout"]


def test_a_hang_without_any_timeout_proves_that_the_client_waits_for_ever(fetch: Fetch) -> None:
    happened = fetch("hang", limit=None)
    assert (happened.status, happened.idle, happened.ended) == ("unfinished", True, 0)
    assert happened.requests[0].ended is None


def test_a_closed_connection_is_the_librarys_own_error(fetch: Fetch) -> None:
    happened = fetch("close@2")
    assert names(happened) == ["RemoteProtocolError"]
    assert (happened.ended, happened.requests[0].failure) == (2, "closed")


def test_a_truncated_body_is_the_librarys_own_error(fetch: Fetch) -> None:
    happened = fetch("truncated,ok", 2, ok=b"0123456789")
    assert names(happened) == ["RemoteProtocolError", 200]
    assert "5 of 10 bytes" in str(happened.value[0])


def test_a_blocked_server_answers_nothing_until_it_is_free(fetch: Fetch) -> None:
    happened = fetch("ok+block(4),ok+block(7)@1,ok@2", 3)
    assert [exchange.ended for exchange in happened.requests] == [4.0, 4.0, 12.0]


def test_what_http_cannot_carry_is_reported_and_the_request_gets_ok(fetch: Fetch) -> None:
    happened = fetch("drift,429+dup,late", 3)
    assert names(happened) == [200, 429, 200]
    assert happened.undelivered == (
        "drift: plain HTTP cannot carry it",
        "dup: plain HTTP cannot carry it",
        "ok@cancel: a client of plain HTTP that gives up hears nothing more",
    )
    assert [str(exchange.answer) for exchange in happened.requests] == ["ok", "429", "ok"]


def test_a_success_may_be_a_function_of_the_request(fetch: Fetch) -> None:
    def ok(request: HttpRequest) -> Any:
        return [request.number, request.method, request.url, request.headers["content-type"], request.json()]

    happened = fetch("", ok=ok)
    assert happened.value[0].json() == [1, "POST", URL, "application/json", {"id": 7}]


def test_a_plain_success_is_unique_to_its_request(fetch: Fetch) -> None:
    assert [answer.json() for answer in fetch("", 2).value] == [{"ok": True, "request": n} for n in (1, 2)]


def test_a_record_names_the_path_without_what_may_be_a_key(fetch: Fetch) -> None:
    happened = fetch("429")
    assert (happened.requests[0].method, happened.requests[0].path) == ("POST", "/v1/orders")
    assert "secret" not in "".join(happened.lines())


def test_the_same_script_gives_the_same_bytes(fetch: Fetch) -> None:
    def all_of() -> Any:
        happened = fetch("429@1,truncated,504,close,hang,ok+block(3)", 7, hints="date")
        answers = [
            (one.status_code, one.headers.raw, one.content) if hasattr(one, "content") else str(one)
            for one in happened.value
        ]
        return answers, happened.lines()

    assert all_of() == all_of()


@pytest.mark.parametrize("hints", ["seconds", "decimal", "date"])
@pytest.mark.parametrize("before", [0.0, 0.4, 1.0])
def test_a_hint_in_any_form_reads_back_as_the_announced_moment_of_virtual_time(hints: Any, before: float) -> None:
    http = installed()

    def fetch(up: Upstream) -> float:
        time.sleep(before)
        with http.Client(transport=up.transport(http)) as client:
            header = client.get(URL).headers["retry-after"]
        date = email.utils.parsedate_tz(header)
        return float(header) if date is None else email.utils.mktime_tz(date) - time.time()

    happened = upstream.run(fetch, "429(2.5)", hints=hints)
    assert happened.value == pytest.approx(happened.requests[0].hint, abs=1e-6)
    assert 2.5 <= happened.requests[0].hint < 3.5
    assert hints != "decimal" or happened.requests[0].hint == 2.5


def test_a_streamed_answer_reads_as_any_other() -> None:
    http = installed()

    def fetch(up: Upstream) -> Any:
        client = http.Client(transport=up.transport(http))
        with client.stream("GET", URL) as answer:
            return json.loads(b"".join(answer.iter_bytes()))

    assert upstream.run(fetch, "ok").value == {"ok": True, "request": 1}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_requests_at_once_wait_at_once(backend: str) -> None:
    http = installed()

    async def agent(up: Upstream) -> list[int]:
        seen: list[int] = []

        async def one() -> None:
            seen.append((await client.get(URL)).status_code)

        async with http.AsyncClient(transport=up.transport(http)) as client, anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(one)
        return sorted(seen)

    happened = upstream.run(agent, "504@3*3", backend=backend)
    assert (happened.value, happened.ended) == ([504, 504, 504], 3)


def test_a_request_that_its_caller_cancels_says_so() -> None:
    http = installed()

    async def agent(up: Upstream) -> None:
        async with http.AsyncClient(transport=up.transport(http)) as client:
            await asyncio.wait_for(client.get(URL), 2)

    happened = upstream.run(agent, "hang")
    assert (happened.status, happened.ended) == ("raised", 2)
    assert (happened.requests[0].ended, happened.requests[0].failure) == (2, "CancelledError")


def test_a_blocking_client_on_the_loop_is_recorded_with_the_line_that_blocks() -> None:
    http = installed()

    async def agent(up: Upstream) -> int:
        with http.Client(transport=up.transport(http)) as client:
            status: int = client.get(URL).status_code
        return status

    happened = upstream.run(agent, "529@3")
    assert (happened.value, happened.ended) == (529, 3)
    (blocked,) = happened.blocked
    assert (blocked.at, blocked.seconds) == (0, 3)
    assert blocked.where.startswith("test_httpx.py:")
    assert blocked.where.endswith(" agent")


def test_a_blocking_client_on_the_loop_that_waits_for_ever_is_stopped() -> None:
    http = installed()

    async def agent(up: Upstream) -> None:
        with http.Client(transport=up.transport(http), timeout=None) as client:
            client.get(URL)

    happened = upstream.run(agent, "hang")
    assert happened.status == "unfinished"
    assert "never comes" in happened.stopped
