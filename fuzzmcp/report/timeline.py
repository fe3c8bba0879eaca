"""The timeline of a run as data: one `Moment` for each event, with the words that a reader needs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from fuzzmcp.checks.interpret import interpret
from fuzzmcp.core.case import Call
from fuzzmcp.core.redact import redacted_text
from fuzzmcp.core.script import OK, Action
from fuzzmcp.core.trace import PROBE, Answer, Event, Outcome, Run, Site
from fuzzmcp.report.escape import harmless, one_line, path_of
from fuzzmcp.report.model import Direction, Moment

KEPT = 400
"""Moments of a saved timeline at most. A page loop has thousands."""


def timeline(run: Run, evidence: Sequence[Event] = (), limit: int | None = KEPT) -> tuple[Moment, ...]:
    """The moments of a run, in order.

    Args:
        run: The run to tell.
        evidence: Events of the run that a violation points at.
        limit: Moments to keep beside the evidence; None for all.
    """
    moments = tuple(_Narrator(run, evidence).moments())
    return moments if limit is None else folded(moments, limit // 2, limit // 2)


def folded(moments: Sequence[Moment], first: int, last: int) -> tuple[Moment, ...]:
    """The first and last moments, and the evidence between them; an `omitted` moment stands for each gap.

    >>> [m.text for m in folded([Moment(0.0, text=str(i)) for i in range(9)], 2, 1)]
    ['0', '1', '6 more', '8']
    """
    if len(moments) <= first + last + 1:
        return tuple(moments)
    ends = {*range(first), *range(len(moments) - last, len(moments))}
    return thinned(moments, ends | {place for place, moment in enumerate(moments) if moment.evidence})


def thinned(moments: Sequence[Moment], kept: Collection[int]) -> tuple[Moment, ...]:
    """The moments at the places `kept`; an `omitted` moment stands for each gap, and counts what is left out there."""
    found: list[Moment] = []
    for place, moment in enumerate(moments):
        if place in kept:
            found.append(moment)
            continue
        count = moment.nth or 1 if moment.kind == "omitted" else 1
        if found and found[-1].kind == "omitted":
            count += found.pop().nth or 1
        found.append(Moment(moment.at, kind="omitted", text=f"{count:,} more", nth=count))
    return tuple(found)


class _Narrator:
    """Turns the events of one run into moments."""

    def __init__(self, run: Run, evidence: Sequence[Event]) -> None:
        self.run = run
        self.evidence = {id(event) for event in evidence}
        self.requests = {event.request: event for event in run.requests}
        self.outcomes = {o.call: o for o in (*run.outcomes, *((run.probe,) if run.probe else ()))}
        self.sent: Counter[int] = Counter()

    def moments(self) -> Iterator[Moment]:
        after = False
        for event in self.run.events:
            after = after or event.kind == "over"
            yield self._moment(event, after)
            if event.kind == "request":
                yield from self._silence(event)

    def _silence(self, request: Event) -> Iterator[Moment]:
        for serial, action in self.run.played:
            if serial == request.request and (text := action.fault.silence):
                yield Moment(
                    _at(request), "", "silence", request.method, call=request.call, label=str(action), text=text
                )

    def _moment(self, event: Event, after: bool) -> Moment:
        direction, method, label, text = self._words(event)
        nth = None
        if event.kind == "request" and event.method == "tools/call" and event.call is not None:
            self.sent[event.call] += 1
            nth = self.sent[event.call]
        return Moment(
            at=_at(event),
            direction=direction,
            kind=event.kind,
            method=harmless(method),
            id=event.frame.get("id") if event.frame else None,
            call=event.call,
            label=one_line(redacted_text(label), 80),
            text=one_line(redacted_text(text)),
            site=_site(event.site),
            loop=_site(event.loop),
            fault=str(event.action) if event.action else None,
            nth=nth,
            evidence=id(event) in self.evidence,
            after=after,
        )

    def _words(self, event: Event) -> tuple[Direction, str, str, str]:
        """Direction, method, label and text of an event."""
        match event.kind:
            case "request" | "notify":
                return "->", event.method, "", _parameters(event)
            case "reply":
                return "->", "", "answers the server", _reply(event)
            case "junk":
                return "->", "", "no JSON-RPC message", event.text
            case "deliver":
                return self._delivered(event)
            case "close":
                asked = self.requests.get(event.request)
                return "<-", asked.method if asked else "", "closes the stream", event.text
            case "open" | "hang_up":
                what = "opens" if event.kind == "open" else "closes"
                return "", "", f"the client {what} connection {event.connection + 1}", event.text
            case "start" | "cancel":
                return (
                    "",
                    "",
                    "the caller cancels" if event.kind == "cancel" else "the caller asks for",
                    self._call(event),
                )
            case "settle":
                outcome = self.outcomes.get(event.call if event.call is not None else 0)
                return "", "", self._call(event), outcome_text(outcome) if outcome else ""
            case _:
                return "", "", "the script is over", ""

    def _delivered(self, event: Event) -> tuple[Direction, str, str, str]:
        asked = self.requests.get(event.request)
        if event.frame is None:
            return "<-", asked.method if asked else "", str(event.action or "a line"), event.text
        if event.answer is None:
            return "<-", event.method, "" if event.method else str(event.action or "a frame"), ""
        return "<-", asked.method if asked else "", _kind(event.answer, event.action), _content(event.answer)

    def _call(self, event: Event) -> str:
        if event.call == PROBE:
            return "the probe call"
        if self.run.role == "agent":
            return "the agent"
        calls = self.run.case.calls
        return str(calls[event.call]) if event.call is not None and event.call < len(calls) else "the call"


def _at(event: Event) -> float:
    return round(event.at, 6)


def _site(site: Site | None) -> str | None:
    return None if site is None else harmless(f"{path_of(site.file)}:{site.line} {site.function}")


def _parameters(event: Event) -> str:
    """The parameters of a request or notification that matter: the call, the cursor, the id that is cancelled."""
    params = (event.frame or {}).get("params")
    if not isinstance(params, dict):
        return ""
    match event.method:
        case "tools/call":
            arguments = params.get("arguments")
            return str(Call(str(params.get("name")), arguments if isinstance(arguments, dict) else {}))
        case "tools/list":
            return f"cursor {params['cursor']!r}" if params.get("cursor") is not None else ""
        case "notifications/cancelled":
            return f"request {params.get('requestId')!r}"
        case _:
            return ""


def _reply(event: Event) -> str:
    error = (event.frame or {}).get("error")
    return f"error {error.get('code')}: {error.get('message')}" if isinstance(error, dict) else "with a result"


def _kind(answer: Answer, action: Action | None) -> str:
    if answer.kind == "execution_error":
        return "isError"
    if answer.kind == "protocol_error":
        return f"error {answer.code}"
    return str(action or OK)


def _content(answer: Answer) -> str:
    if answer.kind == "success" and answer.value_json is not None:
        return answer.value_json
    return answer.text


def outcome_text(outcome: Outcome) -> str:
    """The outcome of a call in a few words, with secrets masked."""
    return redacted_text(_outcome_text(outcome))


def _outcome_text(outcome: Outcome) -> str:
    if outcome.status == "raised":
        error = outcome.exceptions[0] if outcome.exceptions else outcome.error
        return f"raised {type(error).__name__}: {error}".removesuffix(": ")
    if outcome.status != "returned":
        return {"cancelled": "was cancelled", "unfinished": "never settled"}[outcome.status]
    reading = interpret(outcome.value)
    value = reading.text or ("" if reading.structured is None else json.dumps(reading.structured, default=str))
    return ("returned an error: " if reading.says_error else "returned: ") + value if value else "returned"
