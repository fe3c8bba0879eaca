"""The sweep: every applicable fault alone, then pairs, in a fixed order with the most telling cases first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.drift import candidates
from fuzzmcp.core.fault_row import Fault
from fuzzmcp.core.faults import ANSWERS, EXTRAS, why_inapplicable
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, era_of
from fuzzmcp.core.script import OK, Action, Script, Step, action
from fuzzmcp.search.minimize import with_script
from fuzzmcp.strategies.moments import GAP


def sweep(base: Case, moments: tuple[float, ...]) -> Iterator[Case]:
    """Cases of the sweep in their order: singles, behind a retry, hidden requests, drifts, then pairs without end.

    Args:
        base: Tools, protocol and backend; its calls are the first workload.
        moments: Virtual seconds after a request at which this client gives up, from calibration.
    """
    single = list(_singles(base, moments))
    loads = list(workloads(base))
    for step in single:
        yield with_script(loads[0], Script((step,)))
    for step in single:
        yield with_script(loads[0], Script((replace(step, count=None),)))
    yield from _retried(base, single)
    yield from _opening(base)
    for load, step in product(loads[1:], single):
        yield with_script(load, Script((step,)))
    yield from _crowded(base)
    yield from _drifts(base)
    for load, step in product(loads[2:], single):
        # At once, the other answer comes last: whoever gives up all for one has something left to give up.
        other = Step() if load.calls[1].at is None else Step(replace(OK, at=GAP))
        yield with_script(load, Script((other, step)))
    for step in single:
        yield with_script(loads[1], Script((replace(step, count=None),)))
    for load, first, second in product(loads[:3], single, single):
        yield with_script(load, Script((first, second)))


def workloads(base: Case) -> list[Case]:
    """One call; one call that must not run twice; two in turn; two at once; two different tools at once."""
    first = base.calls[0]
    tools = {tool.name: tool for tool in base.tools}
    second = other_call(tools[first.tool], first)
    loads: list[tuple[Call, ...]] = [(first,)]
    unsafe = next((t for t in base.tools if not t.repeatable and t.name != first.tool), None)
    if unsafe is not None:
        loads.append((Call(unsafe.name, unsafe.sample_arguments),))
    else:
        loads.append((second,))
    loads.append((first, second))
    loads.append((replace(first, at=0.0), replace(second, at=0.0)))
    different = next((t for t in base.tools if t.name != first.tool and t.repeatable), None)
    if different is not None:
        loads.append((replace(first, at=0.0), Call(different.name, different.sample_arguments, 0.0)))
    return [replace(base, calls=calls, script=Script()) for calls in loads]


def _crowded(base: Case) -> Iterator[Case]:
    """Three at once, of which one or two meet a fault: what is shared between calls, such as a pool, has an end."""
    first = replace(base.calls[0], at=0.0)
    second = other_call({tool.name: tool for tool in base.tools}[first.tool], first)
    for answer in (action("error"), action("notjson"), action("hang"), Action("ok", at=10.0)):
        for count in (1, 2):
            yield with_script(replace(base, calls=(first, second, second)), Script((Step(answer, count=count),)))


def other_call(tool: Tool, call: Call) -> Call:
    """The same tool asked for something else, where a string argument is free to differ."""
    for name, value in call.arguments.items():
        if isinstance(value, str):
            changed = {**call.arguments, name: _next_name(value)}
            if tool.input_validator.is_valid(changed):
                return replace(call, arguments=changed)
    return call


def _next_name(value: str) -> str:
    """`A1` becomes `A2`: what a second customer would ask for."""
    digits = value[len(value.rstrip("0123456789")) :]
    return f"{value.removesuffix(digits)}{int(digits or 1) + 1}"


def _singles(base: Case, moments: tuple[float, ...]) -> Iterator[Step]:
    hang = Action("hang")
    for answer in answers("call", base.protocol, base.transport):
        yield Step(answer)
    for moment in moments:
        for at in (max(moment - 1.0, 0.0), moment, moment + 1.0):
            yield Step(replace(OK, at=at))
    yield Step(replace(OK, at=3600.0))
    yield Step(replace(OK, at="cancel"))
    for extra in extras("call", base.protocol, base.transport):
        if "caller" not in extra.fault.ways:
            yield Step(OK, (extra,))
        if "unreadable" in extra.fault.traits:
            yield Step(hang, (extra,))
        if "timely" in extra.fault.ways:
            yield Step(Action("ok", at=10.0), (extra,))
            yield Step(OK, (replace(extra, at=1.0),))
    cancel = Action("cancel", at=2.0)
    yield Step(hang, (cancel,))
    yield Step(replace(OK, at="cancel"), (cancel,))
    yield Step(Action("ok", at=2.0), (cancel,))
    yield Step(OK, (Action("cancel"),))
    yield Step(hang, (action("progress", 3600),))
    for beside in (action("ping"), action("server_cancel")):
        if why_inapplicable(beside.name, "call", base.protocol, base.transport) is None:
            yield Step(hang, (beside,))


def answers(method: str, protocol: str, transport: str = DEFAULT_TRANSPORT) -> Iterator[Action]:
    """Every answer that fits a script method, simplest first, with the values worth trying."""
    for name, fault in ANSWERS.items():
        if name == OK.name or why_inapplicable(name, method, protocol, transport):
            continue
        yield from _worth_trying(fault)
        if fault.styled:
            yield action(name, style="json")


def extras(method: str, protocol: str, transport: str = DEFAULT_TRANSPORT) -> Iterator[Action]:
    """Every extra that fits a script method, simplest first."""
    for name, fault in EXTRAS.items():
        if why_inapplicable(name, method, protocol, transport) is None:
            yield from _worth_trying(fault)


def _worth_trying(fault: Fault) -> Iterator[Action]:
    """The bare name, where there is one, and the values of its row."""
    if not fault.required:
        yield action(fault.name)
    yield from (action(fault.name, value) for value in fault.swept)


def _retried(base: Case, single: list[Step]) -> Iterator[Case]:
    """What meets the second request of a call, or both: first attempts are what clients are careful with."""
    again = action("429")
    for step in single:
        if not step.extras:
            yield with_script(base, Script((Step(again), step)))
    for extra in extras("call", base.protocol, base.transport):
        if "caller" not in extra.fault.ways:
            for count in (1, 2):
                yield with_script(base, Script((Step(again, (extra,), count=count),)))


def _opening(base: Case) -> Iterator[Case]:
    """Faults on the requests that a client makes by itself: listing, and opening the session."""
    loads = workloads(base)
    behind = next((tool for tool in reversed(base.tools) if tool.repeatable), base.tools[-1])
    pages = with_script(base, Script((Step(action("pages"), method="list"),)))
    yield replace(pages, calls=(Call(behind.name, behind.sample_arguments),))  # a tool that is on a later page
    handshake = era_of(base.protocol) == "handshake"
    for method in ("list", "init" if handshake else "discover"):
        for answer in answers(method, base.protocol, base.transport):
            yield with_script(loads[0], Script((Step(answer, method=method),)))
            if method == "list":
                yield with_script(loads[0], Script((Step(answer, method=method, count=None),)))
                yield with_script(loads[2], Script((Step(method=method), Step(answer, method=method))))
        yield with_script(loads[0], Script((Step(Action("ok", at=3600.0), method=method),)))
        for extra in extras(method, base.protocol, base.transport):
            yield with_script(loads[0], Script((Step(OK, (extra,), method=method),)))
            if method == "list":
                yield with_script(loads[0], Script((Step(OK, (extra,), method=method, count=None),)))


def _drifts(base: Case) -> Iterator[Case]:
    """Every single edit of every tool's sample output."""
    for tool in base.tools:
        if tool.sample_output is None or why_inapplicable("drift", "call", base.protocol):
            continue
        load = replace(base, calls=(Call(tool.name, tool.sample_arguments),), script=Script())
        for edit in candidates(tool.sample_output, tool.formats):
            yield with_script(load, Script((Step(action("drift", (edit,))),)))
