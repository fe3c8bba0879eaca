"""How retry layers multiply: each transient fault kept up for ever, and the mix of them that costs most.

One layer alone is seen by one fault. Where layers retry different faults, only a mix makes them multiply; Hypothesis
looks for the one that costs most requests. Pure but for the runs, which the caller drives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from fuzzmcp.case import Case
from fuzzmcp.layers import Attempt, Layer, Stack, attempts_of, stack_of
from fuzzmcp.script import Script, ScriptError, Step
from fuzzmcp.trace import Run

TRANSIENT = ("429", "529", "504", "hang", "close", "rpc(-32603)")
"""What a client may well send again."""
RUNS = 300
"""Mixes that are tried at most, where nobody says otherwise."""
_HINTED = ("429", "429(5)")
"""Two rate limits that name different waits: who waits as told waits for both."""
_LONGEST = 24
"""Steps that a mix is drawn of; it then begins anew, up to `_STEPS`."""
_STEPS = 64
_PATIENCE = 60
"""Mixes, or a tenth of all if that is more, that may cost no more than the worst before them: then none is run."""
_EPSILON = 1e-6


@dataclass(frozen=True)
class CallCost:
    """What one call cost.

    Attributes:
        call: Its number.
        title: The tool and its arguments.
        attempts: Its requests.
        stack: The layers that sent them.
        seconds: Virtual seconds from the first request to the end of the call.
        cut: The run was cut short, so that the call would have cost more.
        waits_for_ever: The call never ended, though nothing was left that could happen.
    """

    call: int
    title: str
    attempts: tuple[Attempt, ...]
    stack: Stack
    seconds: float
    cut: bool = False
    waits_for_ever: bool = False

    @property
    def requests(self) -> int:
        return self.stack.requests

    @property
    def said(self) -> str:
        """`12 requests`, or `more than 12 requests`."""
        noun = "request" if self.requests == 1 and not self.cut else "requests"
        return f"{'more than ' if self.cut else ''}{self.requests:,} {noun}"


@dataclass(frozen=True)
class Seen:
    """What one script cost, call by call; none where the client sent no call at all."""

    script: Script
    costs: tuple[CallCost, ...]
    played: bool = True

    @property
    def worst(self) -> CallCost | None:
        """The first of the calls that cost most."""
        return max(self.costs, key=lambda cost: (cost.requests, cost.cut), default=None)

    @property
    def requests(self) -> int:
        return self.worst.requests if self.worst else 0


@dataclass(frozen=True)
class Advice:
    """Which layer to keep, and which to switch off.

    Attributes:
        keep: The layer that waits as a rate limit says, or else the innermost.
        off: The others.
        obeys: Whether the kept one waits as it is told; None where no rate limit showed it.
    """

    keep: Layer
    off: tuple[Layer, ...]
    obeys: bool | None


@dataclass(frozen=True)
class Exploration:
    """What was seen of one client.

    Attributes:
        singles: Each fault kept up for ever.
        mix: The worst mix, where one costs more than every single fault.
        tried: Mixes that were run.
        advice: None where no layers stack.
    """

    singles: tuple[Seen, ...]
    mix: Seen | None
    tried: int
    advice: Advice | None

    @property
    def all(self) -> tuple[Seen, ...]:
        return self.singles + ((self.mix,) if self.mix else ())

    @property
    def worst(self) -> Seen:
        """What cost most: the mix, or the first such single fault."""
        return self.mix or max(self.singles, key=_weight)


def endless(fault: str) -> Script:
    """A fault, kept up for ever.

    Args:
        fault: Its name, with what a script may say of it; a `*` behind it changes nothing.

    Raises:
        ScriptError: It is no fault that a tool call can meet.

    >>> str(endless("429(5)"))
    '429(5)*'
    """
    script = Script.parse(fault.rstrip("* ") + "*")
    (step, *more) = script.steps or (Step(),)
    if more or step.method != "call" or step.plain:
        raise ScriptError("expected one fault that a tool call meets, such as 429 or hang", fault, 0)
    return script


def seen(run: Run) -> Seen:
    """What each call of a run cost."""
    numbers = dict.fromkeys(e.call for e in run.requests if e.method == "tools/call" and e.call is not None)
    costs = (_cost(run, call) for call in numbers if call >= 0)
    return Seen(run.case.script, tuple(cost for cost in costs if cost.requests), bool(run.played))


def _cost(run: Run, call: int) -> CallCost:
    attempts = attempts_of(run, call)
    outcomes = {outcome.call: outcome for outcome in run.outcomes}
    outcome = outcomes.get(0 if run.role == "agent" else call)
    unfinished = outcome is None or outcome.status == "unfinished"
    last = attempts[-1].ended if attempts else 0.0
    end = outcome.ended if outcome is not None and run.role == "client" else last
    return CallCost(
        call,
        _title(run, call),
        attempts,
        stack_of(attempts),
        round(max(end - attempts[0].at, 0.0), 6) if attempts else 0.0,
        cut=bool(run.stopped) or (unfinished and not run.idle),
        waits_for_ever=unfinished and run.idle,
    )


def _title(run: Run, call: int) -> str:
    if run.role == "client" and call < len(run.case.calls):
        return str(run.case.calls[call])
    params = (run.requests_of(call)[0].frame or {}).get("params")
    return str(params.get("name")) if isinstance(params, dict) else "the call"


def explore(
    drive: Callable[[Case], Run],
    base: Case,
    faults: Sequence[Script] = (),
    *,
    runs: int = RUNS,
    seed: int = 0,
) -> Exploration:
    """Keep each fault up for ever, look for the mix that costs most, and say what to do.

    Args:
        drive: Drives a case.
        base: The case without a script.
        faults: Scripts of one endless fault each; the transient ones when empty.
        runs: Mixes to try at most; 0 for none.
        seed: The same seed tries the same mixes.
    """
    known: dict[Script, Seen] = {}

    def measure(script: Script) -> Seen:
        if script not in known:
            known[script] = seen(drive(replace(base, script=script)))
        return known[script]

    singles = tuple(measure(script) for script in faults or map(endless, TRANSIENT))
    retried = [single.script.steps[0] for single in singles if single.requests > 1]
    mix = None
    before = len(known)
    if runs and len(retried) > 1 and not any(cost.cut for single in singles for cost in single.costs):
        mix = _worst_mix(measure, retried, runs, seed)
        if mix is not None and mix.requests <= max(single.requests for single in singles):
            mix = None
    tried = len(known) - before
    worst = mix or max(singles, key=_weight)
    return Exploration(singles, mix, tried, _advice(measure, worst))


def _weight(found: Seen) -> tuple[int, bool]:
    worst = found.worst
    return (worst.requests, worst.cut) if worst else (0, False)


# -- mixes -------------------------------------------------------------------------------------------------------------


def _worst_mix(measure: Callable[[Script], Seen], steps: Sequence[Step], runs: int, seed: int) -> Seen | None:
    """The mix that costs most of those that Hypothesis draws, with as few changes of fault as cost the same."""
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings, target
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    best: Seen | None = None
    tried, dull = set[Script](), 0
    patience = max(_PATIENCE, runs // 10)

    @seeded(seed)
    @settings(
        max_examples=runs, database=None, deadline=None, phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    @given(st.lists(st.sampled_from(range(len(steps))), min_size=1, max_size=_LONGEST))
    def mixes(chosen: list[int]) -> None:
        nonlocal best, dull
        script = _mixed([steps[place] for place in chosen])
        if script not in tried and dull >= patience:
            return  # there is no public way to end the search early; what is not run costs little
        tried.add(script)
        found = measure(script)
        dull += 1
        if best is None or _weight(found) > _weight(best):
            best, dull = found, 0
        target(float(found.requests), label="requests of one call")

    mixes()
    return None if best is None else _simplest(measure, best)


def _mixed(steps: Sequence[Step]) -> Script:
    """The steps one after the other, again and again, and the last one for ever.

    >>> str(_mixed(Script.parse("429,529").unrolled()))[:18]
    '429,529,429,529,42'
    """
    once = [replace(step, count=1) for step in islice(cycle(steps), _STEPS)]
    return Script((*once, replace(once[-1], count=None)))


def _simplest(measure: Callable[[Script], Seen], best: Seen) -> Seen:
    """The same cost, without the steps that no request takes, and with a neighbour's fault wherever that will do."""
    steps = list(best.script.unrolled(_STEPS))[: best.requests]
    shortest = measure(Script(tuple(steps)))
    if len(steps) > _STEPS or _weight(shortest) < _weight(best):
        return best
    for place in range(1, len(steps)):
        if steps[place] != steps[place - 1]:
            simpler = [*steps[:place], steps[place - 1], *steps[place + 1 :]]
            found = measure(Script(tuple(simpler)))
            if _weight(found) >= _weight(shortest):
                steps, shortest = simpler, found
    return shortest


# -- advice ------------------------------------------------------------------------------------------------------------


def _advice(measure: Callable[[Script], Seen], worst: Seen) -> Advice | None:
    """Keep one layer: the innermost of those that wait as a rate limit says, or else the innermost."""
    layers = worst.worst.stack.layers if worst.worst else ()
    named = [layer for layer in layers if layer.loop is not None]
    if len(named) < 2:
        return None
    shown = [measure(endless(fault)) for fault in _HINTED]
    obeys = {_name(layer): _waits_as_told(layer, shown) for layer in named}
    obedient = [layer for layer in named if obeys[_name(layer)]]
    keep = (obedient or named)[-1]
    return Advice(keep, tuple(layer for layer in named if layer is not keep), obeys[_name(keep)])


def _name(layer: Layer) -> tuple[str, str, tuple[int, int] | None]:
    """What makes it the same layer in another run: one helper may be the loop of two layers."""
    loop = layer.loop
    return ("", "", None) if loop is None else (loop.file, loop.function, loop.depth)


def _waits_as_told(layer: Layer, shown: Sequence[Seen]) -> bool | None:
    """Whether each return of this layer behind a rate limit came when that said; None where there was none."""
    verdicts = [list(_obeyed(layer, found)) for found in shown]
    return all(map(all, verdicts)) if any(verdicts) else None


def _obeyed(layer: Layer, found: Seen) -> Iterator[bool]:
    for cost in found.costs:
        for place, number in enumerate(cost.stack.again):
            before, after = cost.attempts[place], cost.attempts[place + 1]
            if _name(cost.stack.layers[number]) == _name(layer) and before.hint is not None:
                yield after.at - before.ended >= before.hint - _EPSILON
