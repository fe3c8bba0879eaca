"""The adapter of requests, with urllib3's own retries above it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fuzzmcp import upstream
from fuzzmcp.upstream import Happened, HttpRequest, Upstream

from .network import library

URL = "https://backend.test/v1/orders?key=secret"


@pytest.fixture
def requests() -> Any:
    return library("requests")


def drive(
    requests: Any, script: str, times: int = 1, *, retries: Any = 0, limit: float | None = 10, **options: Any
) -> Happened:
    def fetch(up: Upstream) -> list[Any]:
        seen: list[Any] = []
        with requests.Session() as session:
            session.mount("https://", up.adapter(max_retries=retries))
            for _ in range(times):
                try:
                    seen.append(session.post(URL, json={"id": 7}, timeout=limit))
                except requests.RequestException as error:
                    seen.append(error)
        return seen

    return upstream.run(fetch, script, **options)


def names(happened: Happened) -> list[Any]:
    return [getattr(one, "status_code", None) or type(one).__name__ for one in happened.value]


def test_each_fault_is_what_requests_makes_of_it(requests: Any) -> None:
    happened = drive(requests, "429,429cap,504,529@2,hang,close,truncated,error", 9)
    failures = ["ReadTimeout", "ConnectionError", "ChunkedEncodingError"]
    assert names(happened) == [429, 429, 504, 529, *failures, 400, 200]
    assert happened.ended == 12
    assert [exchange.failure for exchange in happened.requests[4:6]] == ["timed out", "closed"]


def test_headers_and_bodies_arrive(requests: Any) -> None:
    (answer,) = drive(requests, "429(7)").value
    assert answer.headers["retry-after"] == "7"
    assert answer.json()["error"]["type"] == "rate_limit_error"


def test_a_success_may_be_a_function_of_the_request(requests: Any) -> None:
    def ok(request: HttpRequest) -> Any:
        return [request.number, request.method, request.url, request.json()]

    (answer,) = drive(requests, "", ok=ok).value
    assert answer.json() == [1, "POST", URL, {"id": 7}]


def test_a_hang_without_a_timeout_waits_for_ever(requests: Any) -> None:
    happened = drive(requests, "hang", limit=None)
    assert (happened.status, happened.idle) == ("unfinished", True)


def test_the_retries_of_urllib3_are_a_layer_that_is_seen(requests: Any) -> None:
    retry = library("urllib3").Retry(3, status_forcelist=[429, 529], allowed_methods=None, backoff_factor=1)
    limited = drive(requests, "429*", retries=retry)
    assert len(limited.requests) == 4
    assert limited.waits_of() == (2.0, 2.0, 2.0)
    assert str(limited.stack_of()).endswith(" urlopen ×4")
    assert drive(requests, "529*", retries=retry).waits_of() == (0.0, 2.0, 4.0)
    assert names(drive(requests, "close,429,ok", retries=retry)) == [200]


def test_plain_http_and_a_proxy_of_the_environment_end_in_the_upstream_too(
    requests: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.test:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")

    def fetch(up: Upstream) -> list[int]:
        with requests.Session() as session:
            for scheme in ("http://", "https://"):
                session.mount(scheme, up.adapter())
            return [session.get(f"{scheme}://backend.test:8080/a").status_code for scheme in ("http", "https")]

    happened = upstream.run(fetch, "504")
    assert happened.value == [504, 200]
    assert [exchange.path for exchange in happened.requests] == ["/a", "/a"]


def test_a_body_that_is_read_in_pieces_arrives_whole(requests: Any) -> None:
    def fetch(up: Upstream) -> Any:
        with requests.Session() as session:
            session.mount("https://", up.adapter())
            return session.post(URL, data=(part for part in (b'["a",', b"1]"))).json()

    assert upstream.run(fetch, ok=lambda request: request.json()).value == ["a", 1]


def test_the_time_that_requests_measures_is_not_the_time_of_this_machine(requests: Any) -> None:
    def fetch(up: Upstream) -> float:
        with requests.Session() as session:
            session.mount("https://", up.adapter())
            began = time.monotonic()
            session.get(URL)
            return time.monotonic() - began

    assert upstream.run(fetch, "ok@3600").value == 3600
