"""Whose request it is that the SDK's stdio client writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.core.case import Call
from fuzzmcp.core.trace import PROBE, Answer, Event
from fuzzmcp.harness.transports.attribution import call_asking_for

A1, A2 = Call("get_order", {"order_id": "A1"}), Call("get_order", {"order_id": "A2"})
OK = Answer("success")


def started(*calls: int) -> list[Event]:
    return [Event(0.0, "start", call=call) for call in calls]


def settled(call: int) -> Event:
    return Event(1.0, "settle", call=call)


def sent(call: int, serial: int) -> Event:
    frame = {"jsonrpc": "2.0", "id": serial, "method": "tools/call"}
    return Event(0.5, "request", call=call, request=serial, frame=frame)


def answered(serial: int) -> Event:
    return Event(0.7, "deliver", request=serial, answer=OK)


def asks(events: list[Event], calls: tuple[Call, ...], call: Call = A1, opened_by: int | None = None) -> int | None:
    return call_asking_for(events, calls, call.tool, call.arguments, opened_by)


def test_tool_and_arguments_tell() -> None:
    assert asks(started(0, 1), (A1, A2), A2) == 1
    assert asks(started(0), (A1,), A2) is None


def test_of_equal_calls_the_one_that_is_under_way() -> None:
    assert asks([*started(0, 1), settled(0)], (A1, A1)) == 1


def test_of_equal_calls_at_once_the_one_that_has_not_asked_yet() -> None:
    assert asks([*started(0, 1), sent(0, 1)], (A1, A1)) == 1


def test_of_equal_calls_at_once_the_one_that_may_ask_again() -> None:
    assert asks([*started(0, 1), sent(0, 1), sent(1, 2), answered(2)], (A1, A1)) == 1


def test_the_call_that_opened_the_connection_comes_first_while_it_lasts() -> None:
    assert asks([*started(0, 1), sent(1, 1)], (A1, A1), opened_by=1) == 1
    assert asks([*started(0, 1), settled(1)], (A1, A1), opened_by=1) == 0
    assert asks(started(0, 1), (A1, A2), A2, opened_by=0) == 1


def test_what_comes_during_the_probe_is_the_probe_s() -> None:
    assert asks(started(0, PROBE), (A1,)) == PROBE


@given(st.lists(st.sampled_from([A1, A2]), min_size=1, max_size=4).map(tuple), st.sets(st.integers(0, 3)))
def test_it_is_a_call_asking_for_for_just_that_or_none(calls: tuple[Call, ...], ended: set[int]) -> None:
    events = [*started(*range(len(calls))), *(settled(n) for n in sorted(ended) if n < len(calls))]
    found = asks(events, calls)
    assert (found is None) == (A1 not in calls)
    assert found is None or calls[found] == A1
