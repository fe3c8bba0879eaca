"""What the checks want to know of a run, derived once: which answer met which request, and who gave up when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from fuzzmcp.checks.interpret import interpret
from fuzzmcp.checks.timeouts import gave_up
from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.faults import ANSWERS
from fuzzmcp.core.script import Action, Step
from fuzzmcp.core.trace import PROBE, Event, Outcome, Reading, Run

HELD: Literal["held"] = "held"
NOT_EXERCISED: Literal["not exercised"] = "not exercised"


@dataclass(frozen=True)
class Violation:
    """A broken demand: one sentence, the call it is about, and the events that show it (the last one is the deed).

    `exception` is the type of the exception that broke it, by name, where one did: another type is another bug.
    """

    message: str
    evidence: tuple[Event, ...] = ()
    call: int | None = None
    exception: str = ""


Verdict = Violation | Literal["held", "not exercised"]


def shortened(text: str) -> str:
    """The text, of a long one its beginning with an ellipsis."""
    return text if len(text) <= 120 else text[:119].rstrip() + "…"


def held_if(exercised: bool) -> Literal["held", "not exercised"]:
    """The verdict of a check that found nothing wrong."""
    return HELD if exercised else NOT_EXERCISED


@dataclass(frozen=True)
class Exchange:
    """One request of the client and what came back for it.

    `settled_by` is the first response that carries its id as sent. `nearly_by` is a response that only a lenient client
    takes for its own (the id as a string, the answer in a batch): it proves nothing either way. `fault` is the scripted
    answer that the request met, or None; `step` the step that it took, also where its answer never came to be sent.
    """

    request: Event
    settled_by: Event | None
    nearly_by: Event | None
    fault: Action | None
    step: Step | None
    cancelled_by: Event | None

    @property
    def at(self) -> float:
        return self.request.at

    @property
    def kind(self) -> str:
        """How the answer must be taken, or the empty string where none settled the request."""
        return self.settled_by.answer.kind if self.settled_by and self.settled_by.answer else ""

    @property
    def id(self) -> Any:
        return self.request.frame["id"] if self.request.frame else None


@dataclass(frozen=True)
class Facts:
    """One run, seen through its exchanges."""

    run: Run

    @cached_property
    def position(self) -> dict[int, int]:
        """Place of each event in the run, by the identity of the event."""
        return {id(event): i for i, event in enumerate(self.run.events)}

    def before(self, one: Event, other: Event) -> bool:
        """Whether `one` happened before `other`, also at the same moment."""
        return self.position[id(one)] < self.position[id(other)]

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All requests of the client, in order."""
        answers: dict[int, Event] = {}
        nearly: dict[int, Event] = {}
        cancels: dict[tuple[int, str], Event] = {}
        faults: dict[int, Action] = {}
        requests = {e.request: e for e in self.run.requests}
        for event in self.run.events:
            if event.kind == "deliver" and event.answer is not None and event.request in requests:
                asked = requests[event.request].frame or {}
                same = event.frame is not None and _same_id(event.frame.get("id"), asked.get("id"))
                place = answers if same else nearly
                if not event.answer.foreign:
                    place.setdefault(event.request, event)  # type: ignore[arg-type]
            elif event.kind == "notify" and event.method == "notifications/cancelled" and event.frame:
                params = event.frame.get("params")
                name = params.get("requestId") if isinstance(params, dict) else None
                cancels.setdefault((event.connection, repr(name)), event)
        steps = dict(self.run.steps)
        for serial, action in self.run.played:
            if action.name in ANSWERS:
                faults[serial] = action
        return tuple(
            Exchange(
                request,
                answers.get(serial),  # type: ignore[arg-type]
                nearly.get(serial),  # type: ignore[arg-type]
                faults.get(serial),  # type: ignore[arg-type]
                steps.get(serial),  # type: ignore[arg-type]
                cancels.get((request.connection, repr((request.frame or {}).get("id")))),
            )
            for serial, request in requests.items()
        )

    @cached_property
    def tool_calls(self) -> dict[int, tuple[Exchange, ...]]:
        """The `tools/call` exchanges of each call, in order: not the probe, nor what is sent behind the call's end."""
        grouped: dict[int, list[Exchange]] = {}
        settled = {e.call: e for e in self.run.events if e.kind == "settle" and self.run.role == "client"}
        for exchange in self.exchanges:
            call = exchange.request.call
            if exchange.request.method != "tools/call" or call is None or call == PROBE:
                continue
            if call not in settled or self.before(exchange.request, settled[call]):
                grouped.setdefault(call, []).append(exchange)
        return {call: tuple(found) for call, found in grouped.items()}

    def heard(self, exchange: Exchange, following: Exchange | None = None) -> Event | None:
        """The answer, if the client still waited for it: it had neither cancelled the request nor sent `following`."""
        settled, cancel = exchange.settled_by, exchange.cancelled_by
        if settled is None or (cancel is not None and cancel.at <= settled.at):
            return None
        return None if following is not None and self.before(following.request, settled) else settled

    def in_turn(self) -> Iterator[tuple[int, Exchange, Exchange | None]]:
        """Each `tools/call` exchange with the next one of the same call, None behind the last."""
        for call, exchanges in self.tool_calls.items():
            for first, second in zip(exchanges, (*exchanges[1:], None), strict=True):
                yield call, first, second

    @cached_property
    def outcomes(self) -> dict[int, Outcome]:
        return {outcome.call: outcome for outcome in self.run.outcomes}

    @cached_property
    def readings(self) -> dict[int, Reading]:
        """What each returned value says."""
        return {o.call: interpret(o.value) for o in self.run.outcomes if o.status == "returned"}

    @cached_property
    def faulty(self) -> bool:
        """Whether any part of the script really happened."""
        return bool(self.run.played)

    @cached_property
    def played_names(self) -> frozenset[str]:
        return frozenset(action.name for _, action in self.run.played)

    def tool(self, exchange: Exchange) -> Tool | None:
        """The tool that a `tools/call` request names."""
        params = (exchange.request.frame or {}).get("params")
        return self.run.case.tool(str(params.get("name"))) if isinstance(params, dict) else None

    def title(self, call: int) -> str:
        """How a sentence names a call."""
        if call == PROBE:
            return "the probe call"
        if self.run.role == "client" and call < len(self.run.case.calls):
            return self.run.case.calls[call].tool
        exchanges = self.tool_calls.get(call)
        params = (exchanges[0].request.frame or {}).get("params") if exchanges else None
        return str(params.get("name", "the call")) if isinstance(params, dict) else "the agent"

    def final(self, call: int) -> Exchange | None:
        """The last `tools/call` exchange of a call."""
        exchanges = self.tool_calls.get(call)
        return exchanges[-1] if exchanges else None

    def outcome_of(self, call: int) -> Outcome | None:
        """The outcome that a call had a part in: an agent's run is one outcome for all its calls."""
        return self.outcomes.get(0 if self.run.role == "agent" else call)

    def in_time(self, exchange: Exchange, outcome: Outcome) -> bool:
        """Whether the answer came while the client still waited for it; at the very moment of giving up it did not."""
        if exchange.settled_by is None:
            return False
        at = exchange.settled_by.at
        cancel = exchange.cancelled_by
        if cancel is not None and cancel.at <= at:
            return False
        if outcome.status == "cancelled" or outcome.ended < at:
            return False
        if outcome.status == "unfinished" and outcome.ended <= at and not self.run.idle:  # just given up by the harness
            return False
        tie = at > exchange.at and outcome.ended <= at
        return not (tie and (self.timed_out(outcome) or self._hung_up_at(exchange, at)))

    def timed_out(self, outcome: Outcome) -> bool:
        """Whether the client gave the call up because it took too long."""
        if outcome.status != "raised":
            return False
        agent = self.run.role == "agent"  # one outcome for all its calls
        answered = [e for e in self.run.events if e.kind == "deliver" and (agent or e.call == outcome.call)]
        return gave_up(outcome.exceptions, answered)

    def _hung_up_at(self, exchange: Exchange, at: float) -> bool:
        """Whether the client closed the request's connection at that very moment: who was first, nobody can tell."""
        connection = exchange.request.connection
        return any(e.kind == "hang_up" and e.connection == connection and e.at == at for e in self.run.events)


def _same_id(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def seconds(value: float) -> str:
    """A duration for a sentence."""
    return f"{value:.1f} s" if value >= 0.05 or value == 0 else f"{value:.3f} s"
