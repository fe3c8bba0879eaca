"""The timeline of a run as data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fuzzmcp import run, violations
from fuzzmcp.core.trace import Run
from fuzzmcp.examples import naive_agent, sdk_client
from fuzzmcp.report.model import Moment
from fuzzmcp.report.timeline import KEPT, folded, timeline


def moments_of(happened: Run) -> tuple[Moment, ...]:
    evidence = [event for violation in violations(happened).values() for event in violation.evidence]
    return timeline(happened, evidence)


def test_requests_carry_their_call_id_place_and_the_loop_that_sent_them_again() -> None:
    first, second = (m for m in moments_of(run(naive_agent.connect, "429cap")) if m.nth and not m.after)
    assert (first.direction, first.method, first.text) == ("->", "tools/call", 'get_order(order_id="A1")')
    assert (first.nth, second.nth) == (1, 2)
    assert first.loop is None
    assert str(first.site).endswith(" ask")
    assert str(second.loop).endswith(" fetch")
    assert second.evidence


@pytest.mark.parametrize(
    ("script", "label", "text"),
    [
        ("429cap", "isError", "spend cap"),
        ("rpc(-32603)", "error -32603", "Internal error"),
        ("drift(total:string)", "drift(total:string)", '"total":"120.5"'),
        ("hang", "hang", "no answer, ever"),
        ("ok+block(30)", "block(30)", "handles nothing"),
        ("notjson", "notjson", "plugins"),
        ("close", "closes the stream", ""),
    ],
)
def test_a_fault_is_told_in_words(script: str, label: str, text: str) -> None:
    told = [m for m in timeline(run(sdk_client.connect, script)) if m.label == label]
    assert told
    assert text in told[0].text
    assert told[0].method == "tools/call"


def test_what_the_caller_and_the_client_do_is_told_too() -> None:
    moments = timeline(run(sdk_client.connect, "hang+cancel@2"))
    assert [m.at for m in moments if m.label == "the caller cancels"] == [2.0]
    assert [m.text for m in moments if m.method == "notifications/cancelled"] in ([], ["request 2"])
    assert any(m.text == "was cancelled" for m in moments)
    assert any(m.label == "the probe call" and m.after for m in moments)


def test_a_moment_is_saved_as_plain_json_without_what_says_nothing() -> None:
    saved = [m.as_json() for m in moments_of(run(naive_agent.connect, "429cap"))]
    assert json.loads(json.dumps(saved)) == saved
    assert all({"at", "direction", "method", "id", "call", "site", "text"} <= set(moment) for moment in saved)
    assert "loop" not in saved[0]
    assert sum("evidence" in moment for moment in saved) == 3


def numbered(count: int, **more: Any) -> list[Moment]:
    return [Moment(float(i), text=str(i), **more) for i in range(count)]


def test_a_fold_keeps_both_ends_and_all_evidence() -> None:
    moments = numbered(20)
    moments[10] = Moment(10.0, text="deed", evidence=True)
    assert [m.text for m in folded(moments, 2, 3)] == ["0", "1", "8 more", "deed", "6 more", "17", "18", "19"]


def test_a_fold_of_a_fold_counts_what_the_first_left_out() -> None:
    once = folded(numbered(100), 5, 5)
    assert [m.text for m in folded(once, 2, 2)] == ["0", "1", "96 more", "98", "99"]


def test_short_timelines_are_not_folded() -> None:
    assert len(folded(numbered(6), 2, 3)) == 6


def test_a_run_of_thousands_of_frames_is_saved_in_part() -> None:
    async def relist(server: Any) -> None:
        from mcp import ClientSession

        async with server.connect() as streams, ClientSession(*streams) as session:
            await session.initialize()
            while True:
                await session.list_tools()

    happened = run(relist)
    assert happened.stopped
    assert len(timeline(happened)) <= KEPT + 1
    assert len(timeline(happened, limit=None)) > 1_000
