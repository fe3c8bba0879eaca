"""The last pass: from a case that violates a check to the smallest one, by greedy steps until nothing changes.

Only simpler cases are tried, simplest first, so the pass ends, and ends in the same script whichever way it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from fuzzmcp.core.case import Call, Case, default_calls
from fuzzmcp.core.catalogue.tools import evolved
from fuzzmcp.core.drift import candidates, canonical_drift
from fuzzmcp.core.faults import ANSWERS, EXTRAS, ODD_RESULTS, RANK, RANK_OF_LATE, RPC_CODES, why_inapplicable
from fuzzmcp.core.script import FOREVER, OK, Action, Script, Step, action

_TIMES = (1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 31.0, 60.0, 61.0, 120.0, 600.0)
_ENDLESS = 10_000


def minimize(case: Case, violates: Callable[[Case], bool]) -> tuple[Case, bool]:
    """The smallest case that still violates, and whether the pass ran to its end.

    Args:
        case: A case that violates.
        violates: Tells whether a case violates the same check; raises `StopSearch` when the budget is spent.
    """
    try:
        while True:
            smaller = next((c for c in _simpler(case) if violates(c)), None)
            if smaller is None:
                return case, True
            case = smaller
    except StopSearch:
        return case, False


class StopSearch(BaseException):
    """The budget is spent. No `Exception`, so that it goes right through a Hypothesis test and ends it at once."""


def complexity(case: Case) -> tuple[Any, ...]:
    """Sort key of cases: fewer calls, fewer steps, simpler kinds, simpler values."""
    steps = case.script.steps
    length = sum(_ENDLESS if step.count is FOREVER else step.count or 0 for step in steps)
    extras = sum(len(step.extras) for step in steps)
    return (
        len(case.calls),
        length + extras,
        sum(step.method != "call" for step in steps),
        tuple(sorted((_weight(a) for s in steps for a in s.actions), reverse=True)),
        sum(call.at is not None for call in case.calls),
        tuple(_call_weight(case, call) for call in case.calls),
        tuple(_order(a) for s in steps for a in s.actions),
        case.schedule,
        len(str(case.script)),
        str(case.script),
    )


def _weight(a: Action) -> tuple[Any, ...]:
    """Simplicity of one action: its moment counts before its value, its kind before both."""
    at = (0, 0.0) if a.at is None else (99, 0.0) if isinstance(a.at, str) else (len(repr(a.at)), a.at)
    takes = a.fault.takes
    value: Any = (0, 0.0)
    if takes is not None and takes.kind == "drift":
        edits = a.value if isinstance(a.value, tuple) else ()
        value = (len(edits), 0.0) if edits else (2, -1.0)
    elif takes is not None and takes.kind == "code":
        value = (0, float(RPC_CODES.index(a.value)) if a.value in RPC_CODES else abs(float(a.value)))  # type: ignore[arg-type]
    elif takes is not None and takes.kind == "status":
        value = (0, 0.0) if a.value == takes.default else (1, abs(float(a.value)))  # type: ignore[arg-type]
    elif takes is not None and a.value != takes.default:
        value = (1, float(a.value) if isinstance(a.value, (int, float)) else float(len(str(a.value))))
    return (_rank(a), value, a.style != "prose", at)


def _order(a: Action) -> tuple[Any, ...]:
    return tuple(edit.order for edit in a.value) if isinstance(a.value, tuple) else ()


def _rank(a: Action) -> float:
    """Place in the vocabulary; an answer that comes late counts as less simple than none at all."""
    late = a.at is not None and a.name in ANSWERS
    return RANK_OF_LATE + 0.5 + RANK[a.name] / 1000 if late else RANK[a.name]


def _call_weight(case: Case, call: Call) -> tuple[int, int, int]:
    names = [tool.name for tool in case.tools]
    place = names.index(call.tool)
    plain = dict(call.arguments) == case.tools[place].sample_arguments
    return (place, 0 if plain else 1, len(str(call)))


def _simpler(case: Case) -> Iterator[Case]:
    """Simpler variants of a case, simplest first, each once."""
    here = complexity(case)
    seen = set()
    found = []
    for variant in _variants(case):
        key = str(variant.script), variant.calls, variant.schedule
        if key not in seen and not variant.inapplicable:
            seen.add(key)
            weight = complexity(variant)
            if weight < here:
                found.append((weight, variant))
    for _, variant in sorted(found, key=lambda pair: pair[0]):
        yield variant


def _variants(case: Case) -> Iterator[Case]:
    yield from _fewer_calls(case)
    yield from _bold(case)
    if case.schedule:
        yield replace(case, schedule=0)
    if case.outputs:
        yield replace(case, outputs={})
    for steps in _other_steps(case):
        yield with_script(case, Script(steps))


def _bold(case: Case) -> Iterator[Case]:
    """Changes that only help together: one call alone with the steps that do something, in plainer and plainer form.

    Or with retries in place of further calls, with extras soon after an ordinary answer, or with mere silence.
    """
    faulty = tuple(step for step in case.script.steps if not step.plain)
    plainer = [
        case.script.steps,
        faulty,
        tuple(replace(step, extras=()) for step in faulty),
        tuple(replace(step, answer=replace(step.answer, at=None)) for step in faulty),
        tuple(replace(step, answer=replace(step.answer, at=None), extras=()) for step in faulty),
        tuple(replace(step, answer=action("429")) if step.answer == OK else step for step in faulty),
        tuple(replace(step, answer=OK, extras=tuple(map(_soon, step.extras))) for step in faulty),
        *((Step(action("notjson"), count=count),) for count in (1, 2, 3)),
    ]
    yield from _other_tools(case, faulty)
    alone = [(replace(call, at=None),) for call in case.calls]
    for calls in (case.calls, default_calls(case.tools), *alone):
        for steps in plainer:
            yield with_script(replace(case, calls=calls), Script(steps))


def _soon(extra: Action) -> Action:
    return replace(extra, at=1.0) if isinstance(extra.at, float) else extra


def _other_tools(case: Case, faulty: tuple[Step, ...]) -> Iterator[Case]:
    """An earlier tool in place of the only one, with each of its own drifts in place of the only drift."""
    if len({call.tool for call in case.calls}) > 1 or sum(_drifts(step) for step in faulty) != 1:
        return
    for tool in case.tools:
        if tool.name == case.calls[0].tool:
            break
        calls = tuple(Call(tool.name, tool.sample_arguments, call.at) for call in case.calls)
        for edit in candidates(tool.sample_output, tool.formats) if tool.sample_output is not None else ():
            steps = tuple(
                replace(step, answer=replace(step.answer, value=(edit,))) if _drifts(step) else step
                for step in case.script.steps
            )
            yield with_script(replace(case, calls=calls), Script(steps))


def _drifts(step: Step) -> bool:
    return step.answer.fault.value_kind == "drift"


def with_script(case: Case, script: Script) -> Case:
    """The case with another script; the second catalogue comes and goes with `list_changed`."""
    changed = (case.changed or evolved(case.tools)) if script.has("changes") else None
    return replace(case, script=script, changed=changed)


def _fewer_calls(case: Case) -> Iterator[Case]:
    calls, steps = case.calls, case.script.steps
    for i, j in product(range(len(calls)), range(len(steps))) if len(calls) > 1 else ():
        count = steps[j].count
        fewer = steps[j] if count is FOREVER else replace(steps[j], count=count - 1)  # the step that it met
        yield with_script(replace(case, calls=calls[:i] + calls[i + 1 :]), Script((*steps[:j], fewer, *steps[j + 1 :])))
    for i, call in enumerate(calls):
        if len(calls) > 1:
            yield replace(case, calls=calls[:i] + calls[i + 1 :])
        for plain in default_calls(case.tools, len(case.tools)):
            yield replace(case, calls=(*calls[:i], replace(plain, at=call.at), *calls[i + 1 :]))
        for at in (None, 0.0):
            yield replace(case, calls=(*calls[:i], replace(call, at=at), *calls[i + 1 :]))
    yield replace(case, calls=tuple(replace(call, at=None) for call in calls))
    yield replace(case, calls=tuple(replace(call, at=0.0) for call in calls))


def _other_steps(case: Case) -> Iterator[tuple[Step, ...]]:
    steps = case.script.steps
    for i, step in enumerate(steps):
        before, after = steps[:i], steps[i + 1 :]
        yield before + after
        for count in _fewer(step.count):
            yield (*before, replace(step, count=count), *after)
        for other in _simpler_steps(step, case):
            yield (*before, other, *after)
            if step.count != 1:
                for count in _fewer(step.count):
                    yield (*before, replace(other, count=count), *after)
    merged = {step.method: step for step in steps}
    for step in merged.values():
        longest = sum(s.count or _ENDLESS for s in steps if s.method == step.method)
        if longest < _ENDLESS and len(steps) > 1:
            for other in (step, *_simpler_steps(step, case)):
                kept = tuple(s for s in steps if s.method != step.method)
                yield (*kept, replace(other, count=longest))
    for i in range(len(steps) - 1):
        yield (*steps[:i], steps[i + 1], steps[i], *steps[i + 2 :])


def _fewer(count: int | None) -> Iterator[int]:
    yield from range(1, min(count or 9, 9))
    if count is None:
        yield from (10, 16, 32)
    elif count > 9:
        yield from (count // 2, count - 1)


def _simpler_steps(step: Step, case: Case) -> Iterator[Step]:
    for i, extra in enumerate(step.extras):
        without = step.extras[:i] + step.extras[i + 1 :]
        yield replace(step, extras=without)
        for other in _simpler_actions(extra, case):
            yield replace(step, extras=(*step.extras[:i], other, *step.extras[i + 1 :]))
    for name in EXTRAS if step.answer != OK else ():
        if _fits(name, step, case) and not EXTRAS[name].takes:
            yield replace(step, answer=OK, extras=(*step.extras, action(name)))
    for answer in _simpler_actions(step.answer, case):
        yield replace(step, answer=answer)
    yield replace(step, extras=tuple(sorted(step.extras, key=lambda a: (RANK[a.name], str(a)))))


def _fits(name: str, step: Step, case: Case) -> bool:
    return why_inapplicable(name, step.method, case.protocol, case.transport) is None


def _simpler_actions(a: Action, case: Case) -> Iterator[Action]:
    """The same action at a simpler moment or with a simpler value, and every earlier kind."""
    role = ANSWERS if a.name in ANSWERS else EXTRAS
    yield replace(a, at=None)
    for moment in _TIMES:
        if a.at is not None:
            yield replace(a, at=moment)
    if isinstance(a.at, float) and a.at != round(a.at):
        yield replace(a, at=float(round(a.at)))
    yield from _simpler_values(a, case)
    for name, fault in role.items():
        earlier = RANK[name] < _rank(a)
        if earlier and not fault.required:
            yield action(name)
            yield action(name, at=None if fault.timing == "never" else a.at)
        if earlier or (fault.required and name == a.name):
            yield from (action(name, value) for value in fault.simpler)


def _simpler_values(a: Action, case: Case) -> Iterator[Action]:
    takes = a.fault.takes
    yield replace(a, style="prose")
    if takes is None:
        return
    if not takes.required:
        yield replace(a, value=takes.default)
    match takes.kind:
        case "drift":
            yield from _simpler_drifts(a, case)
        case "odd":
            yield from (replace(a, value=name) for name in ODD_RESULTS)
        case "seconds" | "hint":
            yield from (replace(a, value=value) for value in _TIMES if value < _size(a.value))
        case "count" | "tokens":
            yield from (replace(a, value=value) for value in (1, 2, 3, 5, 10, 100, 1000) if value < _size(a.value))
        case "status":
            yield from (replace(a, value=value) for value in (0, -9))
        case "code":
            yield from (replace(a, value=code) for code in RPC_CODES)


def _size(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _simpler_drifts(a: Action, case: Case) -> Iterator[Action]:
    edits = a.value if isinstance(a.value, tuple) else None
    for tool in {call.tool: case.tool(call.tool) for call in case.calls}.values():
        if tool is None or tool.sample_output is None:
            continue
        if edits is None:
            required = (tool.output_schema or {}).get("required") or []
            yield from (replace(a, value=(edit,)) for edit in canonical_drift(tool.sample_output, required))
        yield from (replace(a, value=(edit,)) for edit in candidates(tool.sample_output, tool.formats))
    for i in range(len(edits or ())):
        rest = (edits or ())[:i] + (edits or ())[i + 1 :]
        if rest:
            yield replace(a, value=rest)
