"""Cases: calls, script and order of events together, ready to be run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from fuzzmcp.core.case import Case
from fuzzmcp.core.catalogue.tools import Catalogue, crm, evolved
from fuzzmcp.core.protocol import DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION, SHUFFLED_BACKENDS
from fuzzmcp.core.script import Script
from fuzzmcp.strategies.interleavings import reordered
from fuzzmcp.strategies.moments import moments as moments_around
from fuzzmcp.strategies.scripts import METHODS, scripts
from fuzzmcp.strategies.workloads import calls as workloads
from fuzzmcp.strategies.workloads import outputs

__all__ = ["cases"]

_SCHEDULES = st.integers(0, 2**16 - 1)
_SELDOM = st.sampled_from([False] * 63 + [True])


def cases(
    tools: Catalogue | None = None,
    *,
    protocol: str = DEFAULT_VERSION,
    transport: str = DEFAULT_TRANSPORT,
    moments: Iterable[float] = (),
    vocabulary: Iterable[str] | None = None,
    methods: Iterable[str] = METHODS,
    backend: str = DEFAULT_BACKEND,
    max_calls: int = 3,
    max_steps: int = 4,
    interleave: bool = True,
) -> st.SearchStrategy[Case]:
    """Whole cases. They shrink to one call of the first tool and the script `ok`.

    The script drifts the results of the tools that are called. A case whose script has `list_changed` also has the
    changed catalogue, `tools.evolved`. In one of 64, the first tool called has a result drawn from its outputSchema
    in place of the sample. Drawing is deterministic: the same seed draws the same cases anywhere.

    Args:
        tools: The catalogue; None for the bundled one.
        protocol: The version that the fake server speaks.
        transport: How client and server are joined: `memory`, or `stdio`.
        moments: Seconds after a request at which the client does something by itself; delays are drawn around them.
        vocabulary: Names of faults to draw from; None for all that protocol and transport can carry.
        methods: Script methods that steps may stand at.
        backend: `asyncio`, or `trio`, for which the seed of its task schedule is drawn as well.
        max_calls: The most calls.
        max_steps: The most steps of the script, before interleaving.
        interleave: Whether to draw the order of what is due at the same moment, too (see `interleavings`).

    >>> from hypothesis import given
    >>> @given(cases(vocabulary=["hang", "close"], max_calls=2))
    ... def test_nothing_in_it_is_inapplicable(case):
    ...     assert not case.inapplicable
    >>> test_nothing_in_it_is_inapplicable()
    """
    catalogue = crm() if tools is None else tools
    around = moments_around(moments)
    names = None if vocabulary is None else tuple(vocabulary)
    methods = tuple(methods)

    @lru_cache(None)
    def script_for(called: tuple[int, ...]) -> st.SearchStrategy[Script]:
        results = tuple(catalogue[place] for place in called)
        return scripts(
            protocol,
            transport=transport,
            methods=methods,
            vocabulary=names,
            max_steps=max_steps,
            delays=around,
            tools=results,
        )

    script_for(())  # a bad argument is an error here, not at the first draw
    workload = workloads(catalogue, max_calls)
    place_of = {tool.name: place for place, tool in enumerate(catalogue)}
    plain = Case(tools=catalogue, protocol=protocol, transport=transport, backend=backend)
    changed = evolved(catalogue)

    @lru_cache(None)
    def outputs_of(name: str) -> st.SearchStrategy[Any]:
        return outputs(catalogue[place_of[name]])

    def results(draw: st.DrawFn, name: str) -> dict[str, Any]:
        return {name: draw(outputs_of(name))} if catalogue[place_of[name]].output_schema is not None else {}

    @st.composite
    def case(draw: st.DrawFn) -> Case:
        calls = draw(workload)
        script = draw(script_for(tuple(sorted({place_of[call.tool] for call in calls}))))
        if interleave:
            calls, script = reordered(draw, calls, script)
        announced = script.has("changes")
        return replace(
            plain,
            calls=calls,
            script=script,
            changed=changed if announced else None,
            outputs=results(draw, calls[0].tool) if draw(_SELDOM) else {},
            schedule=draw(_SCHEDULES) if backend in SHUFFLED_BACKENDS else 0,
        )

    return case()
