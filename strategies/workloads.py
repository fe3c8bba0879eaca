"""Workloads: the calls that a client is asked for, their arguments, and results that tools may give."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.tools import Catalogue, Json, Tool
from fuzzmcp.strategies.schemas import values

__all__ = ["arguments", "calls", "outputs"]

VARIANTS = 16
WEIGHT = 31
"""For each call with arguments drawn from the schema, which is slow, so many that take a variant of the sample."""


def arguments(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments that are valid for a tool's inputSchema. They shrink to the tool's sample arguments.

    Args:
        tool: The tool to be called.

    >>> from hypothesis import given
    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> tool = crm()[0]
    >>> @given(arguments(tool))
    ... def test_asks_for_an_order(arguments):
    ...     assert isinstance(arguments["order_id"], str)
    >>> test_asks_for_an_order()
    """
    return st.one_of(st.just(tool.sample_arguments), values(tool.input_schema))


def outputs(tool: Tool) -> st.SearchStrategy[Json]:
    """Structured results that are valid for a tool's outputSchema. They shrink to the tool's sample output.

    A tool without an outputSchema promises none: the strategy is empty.

    Args:
        tool: The tool that answers.

    >>> from hypothesis import given
    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> tool = crm()[0]
    >>> @given(outputs(tool))
    ... def test_accepts_every_order(order):
    ...     assert tool.accepts_output(order)
    >>> test_accepts_every_order()
    """
    if tool.output_schema is None:
        return st.nothing()
    return st.one_of(st.just(tool.sample_output), values(tool.output_schema))


def calls(tools: Catalogue, max_calls: int = 3) -> st.SearchStrategy[tuple[Call, ...]]:
    """One to `max_calls` calls, each begun when the one before has settled (`at` is None) or at once (`at` is 0.0).

    Calls of one tool differ in their arguments where the inputSchema lets them: the second call of `get_order` asks
    for another `order_id`. Now and then a call has arguments drawn from the schema instead. They shrink to one call
    of the first tool with its sample arguments.

    Args:
        tools: The catalogue; at least one tool.
        max_calls: The most calls.

    >>> from hypothesis import find
    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> for call in find(calls(crm()), lambda calls: len(calls) == 2):
    ...     print(call)
    get_order(order_id="A1")
    get_order(order_id="A2")
    """
    if not tools:
        raise ValueError("a workload needs at least one tool")
    if max_calls < 1:
        raise ValueError("max_calls is at least 1")
    known = [tuple(variants(tool)) for tool in tools]
    drawn = [arguments(tool) for tool in tools]
    plain = [(place, at, False) for at in (None, 0.0) for place in range(len(tools)) for _ in range(WEIGHT)]
    unusual = [(place, at, True) for at in (None, 0.0) for place in range(len(tools))]
    chosen = st.lists(st.sampled_from([*plain, *unusual]), min_size=1, max_size=max_calls)

    @st.composite
    def workload(draw: st.DrawFn) -> tuple[Call, ...]:
        done: list[Call] = []
        for place, at, from_schema in draw(chosen):
            options = (draw(drawn[place]), *known[place]) if from_schema else known[place]
            name = tools[place].name
            used = [call.arguments for call in done if call.tool == name]
            free = next((option for option in options if option not in used), options[0])
            done.append(Call(name, free, at if done else None))
        return tuple(done)

    return workload()


def variants(tool: Tool) -> list[dict[str, Any]]:
    """The sample arguments of a tool, then others that differ from it in one property, all of them valid.

    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> variants(crm()[0])[:3]
    [{'order_id': 'A1'}, {'order_id': 'A2'}, {'order_id': 'A3'}]
    """
    first = tool.sample_arguments
    required = tool.input_schema.get("required", ())
    for name in sorted(first, key=lambda name: name not in required):
        found = [first]
        for value in _others(first[name], tool.input_schema.get("properties", {}).get(name)):
            changed = {**first, name: value}
            if tool.input_validator.is_valid(changed):
                found.append(changed)
        if len(found) > 1:
            return found
    return [first]


def _others(value: Json, schema: Json) -> Iterator[Json]:
    if isinstance(schema, dict) and "enum" in schema:
        yield from (other for other in schema["enum"] if other != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (value + i for i in range(1, VARIANTS))
    elif isinstance(value, str):
        # The last digits of the text, or of what stands before the @ of a mail address, are counted up.
        head, digits, tail = re.fullmatch(r"(.*?)([0-9]{0,9})(@.*)?", value, re.DOTALL).groups("")  # type: ignore[union-attr]
        for i in range(1, VARIANTS):
            yield head + str(int(digits or 1) + i).zfill(len(digits)) + tail
