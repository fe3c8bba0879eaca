"""Scripts of faults, drawn the swarm way: each from a few faults only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import Catalogue, Tool
from fuzzmcp.core.fault_row import When
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.core.script import FOREVER, Action, Script, Step
from fuzzmcp.strategies import _kinds
from fuzzmcp.strategies._kinds import Kind
from fuzzmcp.strategies.moments import moments

__all__ = ["scripts"]

METHODS = ("call", "list")
_PLACES = (*[0] * 7, 1, 1, 2, 2, 3)
_NEXT = st.sampled_from(range(len(_PLACES)))
STOP = 5
"""Chances in twelve that no further step follows; one that not even a first one comes. Else they say which place of
the subset it is from. One choice tells both: the fewer a step takes, the easier the shrinker deletes it."""
_Shape = tuple[int | None, bool, bool]
_SHAPES: list[_Shape] = [
    *[(1, False, False)] * 14,
    *[(times, False, False) for times in (2, 3, 4, 5, 6, FOREVER)],
    *[(1, True, False)] * 3,
    *[(1, False, True)] * 6,
    (1, True, True),
    (2, False, True),
    (FOREVER, False, True),
]
"""How often a step stands, whether its answer is delayed and whether it has extras: mostly once, and neither."""
_SHAPE = st.sampled_from(_SHAPES)


def scripts(
    protocol: str = DEFAULT_VERSION,
    *,
    transport: str = DEFAULT_TRANSPORT,
    methods: Iterable[str] = METHODS,
    vocabulary: Iterable[str] | None = None,
    max_steps: int = 4,
    delays: Iterable[float] = moments(),
    tools: Catalogue | None = None,
) -> st.SearchStrategy[Script]:
    """Scripts with up to `max_steps` steps, in which every fault applies to its method, the protocol and the transport.

    Each draw takes the answers of all its steps from a random subset of the vocabulary, four at most: so faults
    repeat more often than chance would have it (swarm testing). They shrink towards fewer steps, then simpler faults
    in the order of the vocabulary, then shorter spellings; the simplest is `ok`.

    Args:
        protocol: The version that the fake server will speak.
        transport: How client and server will be joined.
        methods: Script methods that steps may stand at, simplest first. A step at `list` is drawn as readily as one
            at `call`; `init`, `discover` and `listen` only when named here.
        vocabulary: Names of faults to draw from (`late` is one of them here); None for all. Plain `ok` steps come in
            any case.
        max_steps: The most steps, repeats not counted.
        delays: Seconds that an answer or an extra may wait.
        tools: Whose results drift; without any, a drift is the bare `drift`.

    Raises:
        ValueError: An unknown protocol, transport, method or fault, or a vocabulary of which nothing applies.

    >>> from hypothesis import given
    >>> @given(scripts(vocabulary=["429", "dup"]))
    ... def test_the_script_reads_back(script):
    ...     assert Script.parse(str(script)) == script
    >>> test_the_script_reads_back()
    """
    methods = tuple(dict.fromkeys(methods))
    names = None if vocabulary is None else frozenset(vocabulary)
    _kinds.checked(protocol, methods, None if names is None else sorted(names), transport)
    if max_steps < 1:
        raise ValueError("max_steps is at least 1")
    seconds = tuple(sorted(set(map(float, delays)), key=_readable))
    return _drawn(_Table((protocol, transport), methods, names, seconds, tools or ()), max_steps)


@st.composite
def _drawn(draw: st.DrawFn, table: _Table, max_steps: int) -> Script:
    swarm = _Swarm(draw, table)
    steps: list[Step] = []
    # Whether to go on is also drawn after the last step: else none of so many could be deleted.
    while (following := draw(_NEXT)) >= (STOP if steps else 1) and len(steps) < max_steps:
        steps.append(swarm.step(_PLACES[following]))
    return Script(tuple(steps))


def _readable(seconds: float) -> tuple[int, float]:
    return len(repr(seconds)), seconds


class _Table:
    """What one `scripts(…)` draws from, built once."""

    def __init__(
        self,
        carrier: tuple[str, str],
        methods: Sequence[str],
        names: frozenset[str] | None,
        delays: Sequence[float],
        tools: Sequence[Tool],
    ) -> None:
        self.answers = st.sampled_from(_kinds.answer_kinds(carrier, methods, names, delays, tools))
        extras = {method: _kinds.extra_kinds(carrier, method, names, delays) for method in methods}
        self.extras = {
            method: (kinds, st.sampled_from(range(max(1, 2 * len(kinds))))) for method, kinds in extras.items()
        }
        whens: list[When] = [*(at for at in delays if at), "cancel"]
        self.whens = st.sampled_from(whens)


class _Swarm:
    """The subset of one draw: four places for answers, each filled once, when first turned to."""

    def __init__(self, draw: st.DrawFn, table: _Table) -> None:
        self.draw, self.table = draw, table
        self.chosen: dict[int, Kind] = {}

    def step(self, place: int) -> Step:
        # A kind is drawn even where it is not needed, and a moment for what cannot wait: while steps take the same
        # number of choices, the shrinker can delete any of them, and put any other answer in its place.
        kind = self.chosen.setdefault(place, self.draw(self.table.answers))
        answer = kind.action(self.draw)
        times, delayed, beside = self.draw(_SHAPE)
        when = self.draw(self.table.whens) if delayed else None
        if when is not None and kind.delayable:
            answer = replace(answer, at=when)
        extras = tuple(self.extras(kind.method)) if beside else ()
        return Step(answer, extras, kind.method, times)

    def extras(self, method: str) -> Iterator[Action]:
        """One or two; the lower half of the table means no second one, and all of it no third."""
        kinds, table = self.table.extras[method]
        for stop in (1, len(kinds), 2 * len(kinds)):
            place = self.draw(table) if kinds else 0
            if place < stop:
                return
            yield kinds[place % len(kinds)].action(self.draw)
