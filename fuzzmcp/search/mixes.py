"""The mix of faults that costs most: drawn by Hypothesis, which climbs by `target()`, and then made plain.

Pure but for the runs behind `cost`, which the caller drives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import cycle, islice

from fuzzmcp.core.script import Script, Step

RUNS = 300
"""Mixes that are tried at most, where nobody says otherwise."""
_LONGEST = 24
"""Steps that a mix is drawn of; it then begins anew, up to `_STEPS`."""
_STEPS = 64
_PATIENCE = 30
"""Mixes, or a tenth of all if that is more, that may cost no more than the worst before them: then the search ends."""

Cost = tuple[int, bool]
"""Requests of the call that cost most, and whether it would have gone on."""


class _Enough(Exception):
    """Ends the search: without its shrinking phase, a failure is the last that Hypothesis generates."""


def worst_mix(
    cost: Callable[[Script], Cost], steps: Sequence[Step], runs: int, seed: int, unlike: Sequence[int] = ()
) -> tuple[Script, int]:
    """The mix that costs most of those that Hypothesis draws, with as few changes of fault as cost the same.

    Args:
        cost: What a script costs.
        steps: The faults, one step each.
        runs: Mixes to try at most.
        seed: The same seed tries the same mixes.
        unlike: Places of the faults that are worth a try one by one, as each is retried in another way; all when empty.

    Returns:
        The mix, and how many different ones were tried before it was made plain.

    >>> def cost(script):  # of a client that sends again, up to three times, where the fault is another one than before
    ...     names = [script.step_for("call", place)[1].answer.name for place in range(4)]
    ...     return next((place for place in (1, 2, 3) if names[place] == names[place - 1]), 4), False
    >>> cost(worst_mix(cost, Script.parse("429,529").steps, 100, 0)[0])
    (4, False)
    """
    with _plugins_left_out():
        from hypothesis import HealthCheck, Phase, Verbosity, given, settings, target
        from hypothesis import seed as seeded
        from hypothesis import strategies as st

        from fuzzmcp.search.hypothesis_constants import none_of_this_process

    costs: dict[tuple[int, ...], Cost] = {}
    best: tuple[int, ...] = ()
    dull, patience = 0, max(_PATIENCE, runs // 10)

    kinds = unlike or range(len(steps))
    once = [replace(step, count=1) for step in steps]

    def script(places: Iterable[int], *, endless: bool = False) -> Script:
        *others, last = (once[place] for place in places)
        return Script((*others, replace(last, count=None) if endless else last))

    @seeded(seed)
    @settings(
        max_examples=runs, database=None, deadline=None, phases=[Phase.generate, Phase.target],
        report_multiple_bugs=False, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
    )  # fmt: skip
    @given(st.lists(st.sampled_from(range(len(steps))), min_size=1, max_size=_LONGEST))
    def mixes(chosen: list[int]) -> None:
        nonlocal best, dull
        places = tuple(islice(cycle(chosen), _STEPS))
        if places not in costs:
            if dull >= patience:
                raise _Enough
            costs[places] = cost(script(places, endless=True))
            dull += 1
        if not best or costs[places] > costs[best]:
            best, dull = places, 0
        target(float(costs[places][0]), label="requests of one call")

    with suppress(_Enough), none_of_this_process():
        mixes()
    tried = len(costs)
    best, most = _climbed(lambda places: cost(script(places, endless=True)), best, costs[best], kinds)
    plainer = _plainest(lambda places: cost(script(places)), best[: most[0]], most)
    return (script(best, endless=True) if plainer is None else script(plainer)), tried


@contextmanager
def _plugins_left_out() -> Iterator[None]:
    """Hypothesis's plugins play no part in a list of numbers, and to import trio's costs as much as fifty runs."""
    name = "HYPOTHESIS_NO_PLUGINS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _climbed(
    cost: Callable[[tuple[int, ...]], Cost], best: tuple[int, ...], most: Cost, kinds: Sequence[int]
) -> tuple[tuple[int, ...], Cost]:
    """The mix with one more fault at each place that makes it cost more, from the first request to the last.

    What `target()` climbs in leaps, this ends step by step: an inner layer that gave up early gets the fault that it
    retries, and the last request one on which nobody gives up.
    """
    place = 0
    while place < min(most[0], len(best) - 1):
        for kind in kinds:
            longer = (*best[:place], kind, *best[place:-1])
            if kind != best[place] and (found := cost(longer)) > most:
                best, most = longer, found
                break
        else:
            place += 1
    return best, most


def _plainest(cost: Callable[[tuple[int, ...]], Cost], steps: tuple[int, ...], most: Cost) -> tuple[int, ...] | None:
    """The same cost with a neighbour's fault wherever that will do; None where the steps alone cost less."""
    if cost(steps) < most:
        return None
    for place in range(1, len(steps)):
        if steps[place] != steps[place - 1]:
            plainer = (*steps[:place], steps[place - 1], *steps[place + 1 :])
            if cost(plainer) >= most:
                steps = plainer
    return steps
