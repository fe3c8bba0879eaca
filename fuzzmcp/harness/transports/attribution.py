"""For which call a request is, and which place of the client's code sent it.

The context of the running code says so. Where it does not, as in a worker behind a queue, tool and arguments do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fuzzmcp.core.case import Call
from fuzzmcp.core.trace import PROBE, Event, Loop, Site
from fuzzmcp.harness.observe.stacks import CALL, Stacks

Attributed = tuple[int | None, Site | None, Loop | None]
"""The call of a request, the place that sent it, and the place that came back to send it again."""


class CallAttribution:
    """Attributes the requests of one run to calls.

    Args:
        events: What has happened in the run so far; it grows.
        calls: The workload; empty for an agent, whose calls are numbered as they come.
        stacks: Takes the client's code locations.
    """

    def __init__(self, events: Sequence[Event], calls: Sequence[Call], stacks: Stacks) -> None:
        self.events, self.calls, self.stacks = events, calls, stacks
        self._own_calls: dict[str, int] = {}

    def of_request(self, frame: dict[str, Any]) -> Attributed:
        """The call of a request that the running code sends, and where it comes from."""
        call = self.call_of(frame)
        ours = call if frame["method"] == "tools/call" else None
        site, loop = self.stacks.take(ours, context_known=CALL.get() is not None)
        return call, site, loop

    def call_of(self, frame: dict[str, Any]) -> int | None:
        """The call of a request: from its context; an agent's own calls, and lost contexts, by tool and arguments."""
        call = CALL.get()
        params = frame.get("params")
        if frame["method"] != "tools/call" or not isinstance(params, dict):
            return call
        if self.calls and call is not None:
            return call
        tool, arguments = params.get("name"), params.get("arguments") or {}
        if self.calls:
            same = [n for n, c in enumerate(self.calls) if c.tool == tool and dict(c.arguments) == arguments]
            return same[0] if same else None
        return self.own_call(tool, arguments)

    def own_call(self, tool: Any, arguments: Any) -> int:
        """The number of a call that an agent makes by itself."""
        given = sorted(map(repr, arguments.items())) if isinstance(arguments, dict) else arguments  # whatever it sent
        return self._own_calls.setdefault(f"{tool} {given}", len(self._own_calls))

    def forget(self) -> None:
        """Let go of what was recorded."""
        self.events, self._own_calls = (), {}


class WriterAttribution:
    """Attributes the requests of one connection on which one task writes for all calls, as in the SDK's stdio client.

    The context of that task says who opened the connection, not who asks. So a request is told by what it asks for,
    and its stack is looked at only where both agree.
    """

    def __init__(self, run: CallAttribution) -> None:
        self._run, self._opened_by = run, CALL.get()
        self._before: set[int] = set()

    def of_request(self, frame: dict[str, Any]) -> Attributed:
        """The call of a request that the task writes, and where it comes from."""
        run, params = self._run, frame.get("params")
        if frame["method"] != "tools/call" or not isinstance(params, dict):
            return (self._opened_by if self._opened_by in _under_way(run.events) else None), None, None
        tool, arguments = params.get("name"), params.get("arguments") or {}
        if not run.calls:
            return run.own_call(tool, arguments), None, None
        call = call_asking_for(run.events, run.calls, tool, arguments, self._opened_by)
        if call is None or call != self._opened_by:
            return call, None, None
        site, loop = run.stacks.take(call)
        again = loop if call not in self._before else None  # within one connection it is the writer that comes back
        self._before.add(call)
        return call, site, again


def call_asking_for(
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
