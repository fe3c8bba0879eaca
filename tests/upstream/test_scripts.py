"""Any script gives each request an answer, and what it cannot give is reported."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzmcp import upstream
from fuzzmcp.core.protocol import METHODS
from fuzzmcp.core.script import Script
from fuzzmcp.strategies.scripts import scripts
from fuzzmcp.upstream import Happened, Upstream
from fuzzmcp.upstream.answers import HINTS, why_undeliverable

from .network import installed

http = installed()


def fetched(script: Script, times: int, hints: Any) -> tuple[Happened, list[Any]]:
    def fetch(up: Upstream) -> list[Any]:
        seen: list[Any] = []
        with http.Client(transport=up.transport(http), timeout=30) as client:
            for _ in range(times):
                try:
                    answer = client.get("https://backend.test/")
                    seen.append((answer.status_code, answer.headers.raw, answer.content))
                except (http.ReadTimeout, http.RemoteProtocolError) as error:
                    seen.append((type(error).__name__, str(error)))
        return seen

    happened = upstream.run(fetch, script, hints=hints)
    assert happened.status == "returned", happened.error
    return happened, happened.value


@given(scripts(methods=tuple(METHODS), max_steps=6), st.integers(0, 8), st.sampled_from(HINTS))
def test_any_script_gives_an_answer_or_a_report(script: Script, times: int, hints: Any) -> None:
    happened, seen = fetched(script, times, hints)
    assert len(seen) == len(happened.requests) == times
    reports = "\n".join(happened.undelivered + happened.unreached)
    for number, exchange in enumerate(happened.requests):
        step = script.step_for("call", number)[1]
        for action in step.actions:
            if why_undeliverable(action) is not None:
                assert str(action) in reports
        if why_undeliverable(step.answer) is None:
            assert exchange.answer == step.answer
        assert exchange.ended is not None
        assert (exchange.status is None) == (exchange.failure != "")
    for step in script.steps:
        if step.method != "call":
            assert str(step) in reports
    steps = dict.fromkeys(place for n in range(times) if (place := script.step_for("call", n)[0]) is not None)
    left = [str(s) for place, s in enumerate(script.steps) if s.method == "call" and place not in steps]
    assert list(happened.unreached) == left


@settings(max_examples=20)
@given(scripts(methods=("call",), max_steps=6), st.sampled_from(HINTS))
def test_the_same_script_gives_the_same_bytes(script: Script, hints: Any) -> None:
    first, again = fetched(script, 6, hints), fetched(script, 6, hints)
    assert first[1] == again[1]
    assert first[0].lines() == again[0].lines()


@given(scripts(methods=("call",), max_steps=6), st.sampled_from(HINTS))
def test_no_answer_comes_before_its_time_and_a_hint_is_what_the_header_says(script: Script, hints: Any) -> None:
    happened, seen = fetched(script, 6, hints)
    for exchange, answer in zip(happened.requests, seen, strict=True):
        assert exchange.ended is not None
        late = exchange.answer.at if isinstance(exchange.answer.at, float) else 0.0
        assert exchange.ended - exchange.at >= min(late, 30) - 1e-9
        header = dict(answer[1]).get(b"retry-after") if exchange.status and len(answer) == 3 else None
        assert (header is None) == (exchange.hint is None)
        if hints == "decimal" and exchange.hint is not None and header is not None:
            assert float(header) == exchange.hint
