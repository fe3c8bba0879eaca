"""For which call a request is that the SDK's stdio client writes.

Its writer is one task for all calls: what its context says is who opened the connection, not who asks. So a request is
told by what it asks for, and its stack is looked at only where both agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fuzzmcp.core.case import Call
from fuzzmcp.core.trace import PROBE, Event, Loop, Site
from fuzzmcp.harness.observe.stacks import CALL

if TYPE_CHECKING:
    from fuzzmcp.harness.transports.wire import MemoryWire

Asker = tuple[int | None, Site | None, Loop | None]


class Askers:
    """Those who ask for something over one connection of the SDK's stdio client."""

    def __init__(self, wire: MemoryWire) -> None:
        self._wire, self._opened_by = wire, CALL.get()
        self._before: set[int] = set()

    def who_asks(self, frame: dict[str, Any]) -> Asker:
        """The call that a request is for, the place that sent it, and the place that sent for it again."""
        params = frame.get("params")
        if frame["method"] != "tools/call" or not isinstance(params, dict):
            return (self._opened_by if self._opened_by in _under_way(self._wire.events) else None), None, None
        tool, arguments = params.get("name"), params.get("arguments") or {}
        if not self._wire.calls:
            return self._wire.own_call(tool, arguments), None, None
        call = call_that_asks(self._wire.events, self._wire.calls, tool, arguments, self._opened_by)
        if call is None or call != self._opened_by:
            return call, None, None
        site, loop = self._wire.stacks.take(call)
        again = loop if call not in self._before else None  # within one connection it is the writer that comes back
        self._before.add(call)
        return call, site, again


def call_that_asks(
    events: Sequence[Event], calls: Sequence[Call], tool: Any, arguments: Any, opened_by: int | None = None
) -> int | None:
    """The call that asks a tool for something: of several equal ones the one that may have reason to.

    Args:
        events: What has happened so far.
        calls: The workload.
        tool: The tool's name.
        arguments: What it is asked.
        opened_by: The call that has opened the connection, which comes first.
    """
    under_way = _under_way(events)
    if PROBE in under_way:  # whatever else is under way was given up
        return PROBE
    same = [n for n, c in enumerate(calls) if c.tool == tool and dict(c.arguments) == arguments]
    if opened_by in same and opened_by in under_way:
        return opened_by
    answered = {event.request for event in events if event.answer is not None}
    sent = [(event.call, event.request) for event in events if event.kind == "request" and event.method == "tools/call"]

    def rank(call: int) -> tuple[bool, bool, int]:
        own = [request for one, request in sent if one == call]
        return call not in under_way, bool(own) and own[-1] not in answered, len(own)

    return min(same, key=rank, default=None)


def _under_way(events: Sequence[Event]) -> set[int | None]:
    """The calls that have begun and not ended."""
    started = {event.call for event in events if event.kind == "start"}
    return started - {event.call for event in events if event.kind == "settle"}
