"""Drifts: short lists of edits on a tool's sample output."""

from __future__ import annotations

import json
from functools import lru_cache

from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import Json, Tool
from fuzzmcp.core.drift import Drift, Edit, apply, candidates

__all__ = ["drifts"]

EDITS_MAX = 3


def drifts(tool: Tool) -> st.SearchStrategy[Drift]:
    """One to three edits of a tool's structured result, as a backend makes them that changes without notice.

    The edits come from `drift.candidates` on the tool's sample output. Not every drift is visible to a validator:
    an added key on an open object is not. They shrink to a single edit, the first candidate that will do. Edits
    without effect beside the others are left out, the others stand in the order of the candidates. A tool without
    an outputSchema has none: the strategy is empty.

    Args:
        tool: The tool whose results change.

    >>> from hypothesis import find
    >>> from fuzzmcp.core.drift import apply, text_of
    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> tool = crm()[0]
    >>> text_of(find(drifts(tool), lambda drift: not tool.accepts_output(apply(drift, tool.sample_output))))
    'created>Created'
    """
    if tool.sample_output is None:
        return st.nothing()
    known, base = edits_of(tool), tool.sample_output
    rank = {edit: i for i, edit in reversed(list(enumerate(known)))}
    # A plain list: with unique_by, the smallest drift is missed in up to half of the seeds.
    edits = st.lists(st.sampled_from(known), min_size=1, max_size=EDITS_MAX)
    return edits.map(lambda drawn: essential(sorted(set(drawn), key=rank.__getitem__), base))


def edits_of(tool: Tool) -> list[Edit]:
    """Every edit of the tool's sample output that is worth trying, simplest first; none without an outputSchema."""
    return [] if tool.sample_output is None else [*_edits_of(json.dumps(tool.sample_output), *tool.formats.items())]


@lru_cache(maxsize=256)
def _edits_of(sample: str, *formats: tuple[tuple[str, ...], str]) -> list[Edit]:
    """By what they depend on: each subset of the tools has a strategy of its own, and asks again."""
    return candidates(json.loads(sample), dict(formats))


def essential(edits: list[Edit], base: Json) -> Drift:
    """The edits without those that make no difference to the result, the last first."""
    result = apply(tuple(edits), base)
    for edit in edits[:0:-1]:
        fewer = [other for other in edits if other is not edit]
        if apply(tuple(fewer), base) == result:
            edits = fewer
    if len(edits) > 1 and apply(tuple(edits[1:]), base) == result:
        edits = edits[1:]
    return tuple(edits)
