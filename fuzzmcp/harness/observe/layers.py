"""The layers that retried one call: where they lie, how often each of them tried, and how long it waited.

Pure functions from the requests of a call to frozen layers, outermost first. Which loop came back to send a request,
and how deep it lies, was seen when the request was sent (`fuzzmcp.harness.observe.stacks`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from fuzzmcp.core.trace import Event, Loop, Run

_SHOWN = 6
"""The most numbers that one line shows."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request of a call.

    Attributes:
        at: Virtual second at which it was sent.
        ended: Virtual second at which it was answered, cancelled or cut off; `at` if none of these happened.
        loop: The loop that came back to send it; None for the first attempt, and for a loop that was not seen.
        hint: Seconds that its answer asked the client to wait, or None.
    """

    at: float
    ended: float
    loop: Loop | None = None
    hint: float | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """One loop that sends again.

    Attributes:
        loop: The loop; None for code that was not seen.
        counts: The number of its attempts, for each time that it was entered.
        waits: The virtual seconds between its attempts, for each time that it was entered.
    """

    loop: Loop | None
    counts: tuple[int, ...]
    waits: tuple[tuple[float, ...], ...]

    @property
    def factor(self) -> int | None:
        """The number of its attempts, if that was always the same."""
        return self.counts[0] if len(set(self.counts)) == 1 else None

    @property
    def place(self) -> str:
        """`agent.py:41 run_turn`, and the retry library if there is one."""
        if self.loop is None:
            return "code that was not seen"
        return str(self.loop) + (f" ({self.loop.library})" if self.loop.library else "")

    @property
    def times(self) -> str:
        """`×4`, or the numbers that were seen.

        >>> Layer(None, (3, 3), ((1.0, 1.0), (1.0, 1.0))).times, Layer(None, (3, 1), ((1.0, 1.0), ())).times
        ('×3', 'seen 3, 1')
        """
        return f"seen {_list(map(str, self.counts), ', ')}" if self.factor is None else f"×{self.factor:,}"

    @property
    def pauses(self) -> str:
        """`waits 1 s 2 s 4 s`, as in the longest series; a range if the series do not agree.

        >>> Layer(None, (3, 3), ((1.0, 2.0), (1.0, 2.0))).pauses
        'waits 1 s 2 s'
        >>> Layer(None, (2, 3), ((0.5,), (0.75, 2.0))).pauses
        'waits 0.5 s to 2 s'
        """
        longest = max(self.waits, key=len)
        if any(times != longest[: len(times)] for times in self.waits):
            waits = [wait for times in self.waits for wait in times]
            return f"waits {_seconds(min(waits))} to {_seconds(max(waits))}"
        if not any(longest):
            return "no waits"
        if len(longest) > _SHOWN and len(set(longest)) == 1:
            return f"waits {_seconds(longest[0])} each time"
        return f"waits {_list(map(_seconds, longest), ' ')}"

    def __str__(self) -> str:
        return f"{self.place} {self.times}, {self.pauses}"


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers of one call, outermost first.

    Attributes:
        requests: How many requests the call cost.
        layers: Empty for a call that was sent once.
        again: For each request but the first, the index of the layer that came back to send it.
    """

    requests: int
    layers: tuple[Layer, ...] = ()
    again: tuple[int, ...] = ()

    @property
    def product(self) -> int | None:
        """The product of the factors, if it is the number of requests."""
        factors = [layer.factor for layer in self.layers]
        found = prod(factor or 0 for factor in factors)
        return found if factors and found == self.requests else None

    @property
    def hidden(self) -> bool:
        """Whether a layer may be missing: a task older than the call sent requests, and loops above it are not seen."""
        return any(layer.loop is None or layer.loop.depth is None for layer in self.layers)

    def __str__(self) -> str:
        return " over ".join(f"{layer.place} {layer.times}" for layer in self.layers)


def stack_of(attempts: Sequence[Attempt]) -> Stack:
    """The layers that sent one call's requests.

    Each request but the first is the return of one loop. The return of an outer loop ends the inner ones: each of them
    is entered anew after it. So the returns of a loop are counted from one return of an outer loop to the next. That
    count, and one for the first attempt, is its factor.

    >>> outer, inner = Loop("a.py", 4, "turn", (0, 0)), Loop("b.py", 8, "send", (0, 1))
    >>> loops = [None, inner, outer, inner, outer, inner]
    >>> str(stack_of([Attempt(float(at), float(at), loop) for at, loop in enumerate(loops)]))
    'a.py:4 turn ×3 over b.py:8 send ×2'
    """
    returns = _unrolled([attempt.loop for attempt in attempts[1:]])
    waits = [round(max(second.at - first.ended, 0.0), 6) for first, second in pairwise(attempts)]
    keys = sorted(set(map(_key, returns)))
    layers = tuple(_layer(key, returns, waits, alone=sum(k[0] == key[0] for k in keys) == 1) for key in keys)
    return Stack(len(attempts), layers, tuple(keys.index(_key(loop)) for loop in returns))


_Key = tuple[tuple[int, int], str, str]


def _key(loop: Loop | None) -> _Key:
    """Equal for two returns of one layer; sorts outermost first. A loop that was not seen counts as the outermost."""
    if loop is None:
        return (-2, 0), "", ""
    return loop.depth or (-1, 0), loop.file, loop.function


def _layer(key: _Key, returns: Sequence[Loop | None], waits: Sequence[float], alone: bool) -> Layer:
    """One layer.

    Args:
        key: Which one.
        returns: The loops that came back, in order.
        waits: How long each of them waited.
        alone: No other layer has the same depth. If one has, a time in which this layer did not return may have been
            the other's, and is not counted.
    """
    entered: list[list[float]] = [[]]
    for loop, wait in zip(returns, waits, strict=True):
        if _key(loop)[0] < key[0]:
            entered.append([])
        elif _key(loop) == key:
            entered[-1].append(wait)
    kept = [times for times in entered if alone or times]
    place = next(loop for loop in returns if _key(loop) == key)
    return Layer(place, tuple(len(times) + 1 for times in kept), tuple(map(tuple, kept)))


def _unrolled(returns: Sequence[Loop | None]) -> list[Loop | None]:
    """The returns, where a function that retries by calling itself is made a loop at one depth.

    Such a function returns once at each depth, deeper and deeper. A loop inside a loop is different: there the inner
    one returns first.
    """
    found = list(returns)
    for function in dict.fromkeys((loop.file, loop.function) for loop in returns if loop is not None and loop.depth):
        own = [loop.depth for loop in returns if loop and loop.depth and (loop.file, loop.function) == function]
        top = min(own)
        if len(set(own)) > 1 and all(
            depth == top or (place and depth > own[place - 1]) for place, depth in enumerate(own)
        ):
            for place, loop in enumerate(found):
                if loop is not None and loop.depth and (loop.file, loop.function) == function:
                    found[place] = replace(loop, depth=top)
    return found


def attempts_of(run: Run, call: int) -> tuple[Attempt, ...]:
    """The requests of one call. A client's requests after the end of the call do not count."""
    settled = [place for place, e in enumerate(run.events) if e.kind == "settle" and e.call == call]
    until = settled[0] if settled and run.role == "client" else len(run.events)
    requests = [e for e in run.events[:until] if e.kind == "request" and e.call == call and e.method == "tools/call"]
    answers, ends = _endings(run, requests)
    found = []
    for place, request in enumerate(requests):
        answer, after = answers.get(request.request or 0), requests[place + 1 : place + 2]
        end = ends.get(request.request or 0, request.at)
        hint = answer.answer.hint if answer is not None and answer.answer is not None else None
        found.append(Attempt(request.at, min(end, after[0].at) if after else end, request.loop, hint))
    return tuple(found)


def _endings(run: Run, requests: Sequence[Event]) -> tuple[dict[int, Event], dict[int, float]]:
    """The answer to each request, and the second at which it was answered, cancelled or cut off."""
    serials = {request.request for request in requests}
    names = {(e.connection, repr((e.frame or {}).get("id"))): e.request or 0 for e in requests}
    answers: dict[int, Event] = {}
    ends: dict[int, float] = {}
    for event in run.events:
        if event.kind in ("deliver", "close") and event.request in serials:
            ends.setdefault(event.request or 0, event.at)
            if event.answer is not None:
                answers.setdefault(event.request or 0, event)
        elif event.kind == "notify" and event.method == "notifications/cancelled" and event.frame:
            params = event.frame.get("params")
            name = params.get("requestId") if isinstance(params, dict) else None
            serial = names.get((event.connection, repr(name)))
            if serial is not None:
                ends.setdefault(serial, event.at)
    return answers, ends


def _list(words: Iterable[str], between: str) -> str:
    shown = list(words)
    return between.join(shown[:_SHOWN]) + (f"{between}…" if len(shown) > _SHOWN else "")


def _seconds(value: float) -> str:
    return f"{round(value, 3):,g} s"
