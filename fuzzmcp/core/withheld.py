"""Secrets that a user gave stay out of files: a case says which values it lacks, and is whole once they are given.

A case with other values in their place would be another case, which violates nothing or is no valid call. So only
what the user gave under a secret name is withheld; what the tool's own schema shows to everybody is no secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fuzzmcp.core.case import Call, Case, CaseError
from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.redact import is_secret, masked
from fuzzmcp.core.validation import Way, dotted


def withhold(case: Case, given: Sequence[Call] | None = None) -> tuple[Case, tuple[str, ...]]:
    """The case with masks in place of the secrets that the user gave, and the places of these.

    Args:
        case: The case.
        given: The calls that the user gave; None where nobody knows, as if it were all calls of the case.

    >>> case, places = withhold(Case((Call("get_order", {"order_id": "A1", "password": "s3cr3t"}),)))
    >>> places
    ('calls[0].arguments.password',)
    >>> str(case.calls[0])
    'get_order(order_id="A1", password="[redacted]")'
    """
    secrets = {
        (call.tool, type(value), value)
        for call in (case.calls if given is None else given)
        for way, value in _leaves(dict(call.arguments))
        if _hidden(way) and not _is_shown(value, case.tool(call.tool))
    }
    places: list[str] = []
    calls = []
    for number, call in enumerate(case.calls):
        arguments: Any = dict(call.arguments)
        for way, value in _leaves(arguments):
            if _hidden(way) and (call.tool, type(value), value) in secrets:
                arguments = _put(arguments, way, masked(value))
                places.append(_place(number, way))
        calls.append(replace(call, arguments=arguments))
    return (replace(case, calls=tuple(calls)), tuple(places)) if places else (case, ())


def restored(case: Case, places: Sequence[str], given: Sequence[Call]) -> tuple[Case, str | None]:
    """The case with its withheld values, taken from calls that equal its own but for these.

    Args:
        case: The case as its file has it.
        places: Where values are withheld.
        given: The calls that the user gives now.

    Returns:
        The case, and the first place whose value nobody gives; None when the case is whole.
    """
    calls, left = list(case.calls), dict.fromkeys(places)
    for number, call in enumerate(case.calls):
        ways = places_of(call, number)
        lacking = [ways[place] for place in places if place in ways]
        whole = next((other for other in given if _equal_but_for(lacking, call, other)), None) if lacking else None
        if whole is not None:
            calls[number] = replace(call, arguments=dict(whole.arguments))
            for place in ways:
                left.pop(place, None)
    return replace(case, calls=tuple(calls)), next(iter(left), None)


def given_calls(calls: Iterable[Call | str]) -> tuple[Call, ...]:
    """The calls that a user gave, as calls; none where one of them cannot be read, which is told where it is asked for.

    >>> given_calls(["get_order(order_id=3)"])
    (Call(tool='get_order', arguments={'order_id': 3}, at=None),)
    """
    try:
        return tuple(Call.parse(call) if isinstance(call, str) else call for call in calls)
    except CaseError:
        return ()


def places_of(call: Call, number: int) -> dict[str, Way]:
    """The places of a call's values: as files name them, and as they stand in its arguments.

    Args:
        call: The call.
        number: Its place among the calls of its case.
    """
    return {_place(number, way): way for way, _ in _leaves(dict(call.arguments))}


def _place(number: int, way: Way) -> str:
    return dotted(("calls", number, "arguments", *way))


def _equal_but_for(ways: Sequence[Way], call: Call, other: Call) -> bool:
    """Whether another call is this one with values of its own at these places."""
    values = dict(_leaves(dict(other.arguments)))
    if call.tool != other.tool or not all(way in values for way in ways):
        return False
    arguments: Any = dict(other.arguments)
    for way in ways:
        arguments = _put(arguments, way, masked(values[way]))
    return bool(arguments == dict(call.arguments))


def _leaves(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """The texts and numbers in a JSON value, with their places."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _leaves(member, (*way, str(name)))
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _leaves(item, (*way, number))
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield way, value


def _hidden(way: Way) -> bool:
    return any(isinstance(part, str) and is_secret(part) for part in way)


def _is_shown(value: Any, tool: Tool | None) -> bool:
    """Whether the tool's own schema shows this value: as an example, a default, a constant, or in its sample."""
    if tool is None:
        return False
    return any(value == shown for _, shown in _leaves(tool.sample_arguments)) or value in _values_of(tool.input_schema)


def _values_of(schema: Any) -> list[Any]:
    if isinstance(schema, Mapping):
        own = [schema[word] for word in ("const", "default", "enum", "examples") if word in schema]
        return [value for _, value in _leaves(own)] + [value for part in schema.values() for value in _values_of(part)]
    return [value for part in schema for value in _values_of(part)] if isinstance(schema, list) else []


def _put(value: Any, way: Way, new: Any) -> Any:
    """The value with another one at a place."""
    if not way:
        return new
    first, *rest = way
    if isinstance(value, Mapping):
        return {name: _put(member, tuple(rest), new) if name == first else member for name, member in value.items()}
    return [_put(item, tuple(rest), new) if number == first else item for number, item in enumerate(value)]
