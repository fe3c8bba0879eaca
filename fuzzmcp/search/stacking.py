"""How retry layers multiply: each transient fault kept up for ever, and the mix of them that costs most.

One layer alone is seen by one fault. Where layers retry different faults, only a mix makes them multiply. Who plays
the faults, the MCP server or the HTTP backend below, is the affair of the caller, which drives the runs; all else here
is pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fuzzmcp.core.errors import ScriptError
from fuzzmcp.core.faults import FAULTS
from fuzzmcp.core.script import Script, Step
from fuzzmcp.core.trace import Blocking, Outcome, Run
from fuzzmcp.harness.observe.layers import Attempt, Layer, Stack, attempts_of, stack_of
from fuzzmcp.search.mixes import RUNS, worst_mix
from fuzzmcp.upstream.record import Exchange, HttpRun, operations

TRANSIENT = (*(fault.name for fault in FAULTS if "transient" in fault.traits), "hang", "close", "rpc(-32603)")
"""What a client may well send again: transient errors, silence, the end of the stream, an internal error."""
TRANSIENT_HTTP = tuple(text for text in TRANSIENT if Script.parse(text).steps[0].answer.fault.http is not None)
"""The same over plain HTTP, which knows no JSON-RPC."""
_HINTED = ("429", "429(5)")
"""Two rate limits that name different waits: who waits as told waits for both."""
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
        tool: The name of the tool, or the empty string where none is known.
    """

    call: int | None
    title: str
    attempts: tuple[Attempt, ...]
    stack: Stack
    seconds: float
    cut: bool = False
    waits_for_ever: bool = False
    tool: str = ""

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
    """What one script cost.

    Attributes:
        script: The script.
        costs: Call by call, the requests to whoever played it; none where no request was sent at all.
        below: What the client asked of its HTTP backend meanwhile, where it was the MCP server that played the script.
    """

    script: Script
    costs: tuple[CallCost, ...]
    below: tuple[CallCost, ...] = ()

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


def seen(run: Run, exchanges: Sequence[Exchange] = ()) -> Seen:
    """What each call of a run cost, where the MCP server played the script.

    Args:
        run: What happened.
        exchanges: What the client asked of its HTTP backend meanwhile.
    """
    numbers = dict.fromkeys(e.call for e in run.requests if e.method == "tools/call" and e.call is not None)
    costs = (_cost(run, call) for call in numbers if call >= 0)
    return Seen(run.case.script, tuple(cost for cost in costs if cost.requests), _costs_over_http(run, exchanges))


def seen_below(run: Run, script: Script, exchanges: Sequence[Exchange]) -> Seen:
    """What each call of a run cost, where the HTTP backend played the script."""
    return Seen(script, _costs_over_http(run, exchanges))


def seen_alone(happened: HttpRun) -> Seen:
    """What a function of an `Upstream` cost."""
    (outcome,) = happened.outcomes
    costs = _of_one_call(happened.requests, outcome, happened.idle, happened.stopped, happened.blocked)
    return Seen(happened.script, tuple(costs))


def _cost(run: Run, call: int) -> CallCost:
    attempts = attempts_of(run, call)
    outcome = _outcome_of(run, call)
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
        tool=_tool(run, call),
    )


def _outcome_of(run: Run, call: int | None) -> Outcome | None:
    outcomes = {outcome.call: outcome for outcome in run.outcomes}
    return outcomes.get(0 if run.role == "agent" or call is None else call)


def _title(run: Run, call: int) -> str:
    if run.role == "client" and call < len(run.case.calls):
        return str(run.case.calls[call])
    return _tool(run, call) or "the call"


def _tool(run: Run, call: int) -> str:
    if run.role == "client" and call < len(run.case.calls):
        return run.case.calls[call].tool
    params = next(((request.frame or {}).get("params") for request in run.requests_of(call)), None)
    return str(params.get("name")) if isinstance(params, dict) else ""


def _costs_over_http(run: Run, exchanges: Sequence[Exchange]) -> tuple[CallCost, ...]:
    """What the calls of a run, and what the client does beside them, asked of the HTTP backend."""
    costs: list[CallCost] = []
    for call in dict.fromkeys(exchange.call for exchange in exchanges):
        if call is not None and call < 0:
            continue  # the probe
        named = call if run.role == "client" else None
        costs += _of_one_call(
            [exchange for exchange in exchanges if exchange.call == call],
            _outcome_of(run, call), run.idle, run.stopped, run.blocked,
            call_title="" if named is None else _title(run, named), tool="" if named is None else _tool(run, named),
            whole=named is not None,
        )  # fmt: skip
    return tuple(costs)


def _of_one_call(
    exchanges: Sequence[Exchange],
    outcome: Outcome | None,
    idle: bool,
    stopped: str,
    blocked: Sequence[Blocking],
    call_title: str = "",
    tool: str = "",
    whole: bool = True,
) -> Iterator[CallCost]:
    """What one call asked of the HTTP backend: each different request for itself, for only the same is sent again.

    Whatever ended the call early, or never, befell what it had asked for last.
    """
    groups = operations(exchanges)
    unfinished = outcome is None or outcome.status == "unfinished"
    stuck = idle or any(one.seconds == math.inf for one in blocked)
    for group in groups:
        attempts = tuple(exchange.attempt for exchange in group)
        first, last = group[0], group[-1]
        at_the_end = last is exchanges[-1]
        end = outcome.ended if outcome is not None and whole and len(groups) == 1 else attempts[-1].ended
        request = f"{first.method} {first.path}"
        yield CallCost(
            first.call,
            f"{call_title} · {request}" if call_title else request,
            attempts,
            stack_of(attempts),
            round(max(end - first.at, 0.0), 6),
            cut=at_the_end and not stuck and (bool(stopped) or unfinished),
            waits_for_ever=at_the_end and stuck and unfinished,
            tool=tool,
        )


def explore(
    play: Callable[[Script], Seen],
    faults: Sequence[Script] = (),
    *,
    runs: int = RUNS,
    seed: int = 0,
) -> Exploration:
    """Keep each fault up for ever, look for the mix that costs most, and say what to do.

    Args:
        play: Drives a script, and says what was seen.
        faults: Scripts of one endless fault each; those of the MCP server that are transient when empty.
        runs: Mixes to try at most; 0 for none.
        seed: The same seed tries the same mixes.
    """
    known: dict[Script, Seen] = {}

    def measure(script: Script) -> Seen:
        if script not in known:
            known[script] = play(script)
        return known[script]

    singles = tuple(measure(script) for script in faults or map(endless, TRANSIENT))
    retried = [single for single in singles if single.requests > 1]
    mix, tried = None, 0
    if runs and len(retried) > 1 and not any(cost.cut for single in singles for cost in single.costs):
        ways = [single.worst and (str(single.worst.stack), single.worst.said) for single in retried]
        unlike = [ways.index(way) for way in dict.fromkeys(ways)]
        steps = [single.script.steps[0] for single in retried]
        found, tried = worst_mix(lambda script: _weight(measure(script)), steps, runs, seed, unlike)
        mix = measure(found)
        if mix.requests <= max(single.requests for single in singles):
            mix = None
    worst = mix or max(singles, key=_weight)
    return Exploration(singles, mix, tried, _advice(measure, worst))


def _weight(found: Seen) -> tuple[int, bool]:
    worst = found.worst
    return (worst.requests, worst.cut) if worst else (0, False)


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
