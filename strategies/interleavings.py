"""Interleavings: the orders in which the things of one case can happen. An event loop gives none of them for free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from fuzzmcp.core.case import Call
from fuzzmcp.core.script import OK, Action, Script, Step
from fuzzmcp.strategies.moments import GAP

__all__ = ["interleavings"]

CALLS_MAX = 4
"""Answers to requests beyond these keep their order."""
GAPS = 3
_LEADS = [st.sampled_from(range(max(many, 1))) for many in range(CALLS_MAX + 1)]
_GAPS = st.sampled_from(range(GAPS + 1))
_NUDGES = st.sampled_from((0, 1, -1))


def interleavings(calls: Sequence[Call], script: Script) -> st.SearchStrategy[tuple[tuple[Call, ...], Script]]:
    """The same calls and faults in another order; the first, and simplest, is the order given.

    What varies, always by whole milliseconds, so that things which are due at one moment come one after the other:

    - which of the calls meets the first faulty step: plain `ok` steps go before, one for each call that is spared;
    - when calls that run at once begin, and so which of them begins first;
    - when the first answer of each of them comes, and so which answer overtakes which;
    - whatever has a moment of its own in seconds (a late answer, an extra such as `cancel@2`): just before it, at it
      or just after.

    Args:
        calls: The workload, as `calls` draws it.
        script: What the server does, as `scripts` draws it.

    >>> from hypothesis import find
    >>> calls = (Call("get_order", {"order_id": "A1"}), Call("get_order", {"order_id": "A2"}, 0.0))
    >>> moved = find(interleavings(calls, Script.parse("hang")), lambda found: str(found[1])[:2] == "ok")
    >>> str(moved[1])
    'ok,hang'
    """
    return _interleaved(tuple(calls), script)


@st.composite
def _interleaved(draw: st.DrawFn, calls: tuple[Call, ...], script: Script) -> tuple[tuple[Call, ...], Script]:
    return reordered(draw, calls, script)


def reordered(draw: st.DrawFn, calls: tuple[Call, ...], script: Script) -> tuple[tuple[Call, ...], Script]:
    """What `interleavings` does, for use inside of another strategy."""
    steps = [_nudged(draw, step) for step in script.steps]
    if len(calls) > 1 and script.of("call"):
        lead = draw(_LEADS[min(len(calls), CALLS_MAX)])
        if lead:
            steps.insert(0, Step(count=lead))
    if any(call.at is not None for call in calls[1:]):
        answered = [draw(_GAPS) for _ in calls[:CALLS_MAX]]
        steps = list(_answered(steps, answered))
        calls = tuple(_begun(call, draw(_GAPS)) if _at_once(calls, i) else call for i, call in enumerate(calls))
    return calls, Script(tuple(steps))


def _at_once(calls: Sequence[Call], place: int) -> bool:
    """Whether this call does not wait for the one before, or the next not for this one."""
    return any(call.at is not None for call in calls[max(place, 1) : place + 2])


def _begun(call: Call, gaps: int) -> Call:
    return replace(call, at=_rounded((call.at or 0.0) + gaps * GAP)) if gaps else call


def _answered(steps: Sequence[Step], gaps: Sequence[int]) -> Iterator[Step]:
    """The first call steps one by one, with their answers some milliseconds later."""
    yield from (step for step in steps if step.method != "call")
    rest = list(gaps)
    for step in (step for step in steps if step.method == "call"):
        left = step.count
        while rest and left != 0:
            yield replace(step, answer=_later(step.answer, rest.pop(0)), count=1)
            left = None if left is None else left - 1
        if left != 0:
            yield replace(step, count=left)
    yield from (Step(_later(OK, gap)) for gap in rest)


def _later(answer: Action, gaps: int) -> Action:
    return answer if answer.at is not None or not gaps else replace(answer, at=_rounded(gaps * GAP))


def _nudged(draw: st.DrawFn, step: Step) -> Step:
    if not any(map(_nudgeable, step.actions)):
        return step
    answer, *extras = (_moved(action, draw(_NUDGES)) if _nudgeable(action) else action for action in step.actions)
    return replace(step, answer=answer, extras=tuple(extras))


def _nudgeable(action: Action) -> bool:
    """Whether it has a moment of its own, not one of the few milliseconds that order answers."""
    return action.at is not None and not isinstance(action.at, str) and action.at > GAPS * GAP


def _moved(action: Action, nudge: int) -> Action:
    return replace(action, at=_rounded(action.at + nudge * GAP)) if nudge else action  # type: ignore[operator]


def _rounded(seconds: float) -> float:
    return round(seconds, 6)
