"""The contract: a promise that was written down wrongly is an error where it is written."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp import Contract

SECONDS = ("deadline", "grace", "shutdown")
COUNTS = ("max_requests", "max_frames")
FLAGS = ("jitter", "protocol_errors_as_results", "errors_as_text")
LISTS = ("accepts", "error_words")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("accepts", "TimeoutError", "must be a tuple, as in accepts=('TimeoutError',), not 'TimeoutError'"),
        ("accepts", TimeoutError, "must be a tuple, as in accepts=(TimeoutError,), not TimeoutError"),
        ("accepts", 3, "must be a tuple, as in accepts=('…',), not 3"),
        ("accepts", (int,), "must be exception types or their names, not int"),
        ("accepts", (TimeoutError("x"),), "must be exception types or their names, not TimeoutError('x')"),
        (
            "accepts",
            ("httpx.TimeoutException",),
            "bare names, as in 'TimeoutError', not 'httpx.TimeoutException'",
        ),
        ("accepts", ("TimeoutError, OSError",), "their bare names, as in 'TimeoutError', not 'TimeoutError, OSError'"),
        ("error_words", "Error: ", "must be a tuple, as in error_words=('Error: ',), not 'Error: '"),
        ("error_words", (b"Error",), "must be texts, not b'Error'"),
        ("deadline", "60", "must be a number of seconds, as in deadline=60, not '60'"),
        ("deadline", True, "must be a number of seconds, as in deadline=60, not True"),
        ("deadline", None, "must be a number of seconds, as in deadline=60, not None"),
        ("deadline", math.nan, "must be above 0, not nan"),
        ("max_requests", 2.5, "must be a whole number, as in max_requests=4, not 2.5"),
        ("max_requests", "4", "must be a whole number, as in max_requests=4, not '4'"),
        ("max_requests_per_tool", 3, "must be a mapping, as in max_requests_per_tool={'get_order': 2}, not 3"),
        ("max_requests_per_tool", {"pay": 0}, ": pay must be above 0, not 0"),
        ("max_requests_per_tool", {"pay": True}, ": pay must be a whole number"),
        ("max_requests_per_tool", {7: 1}, "must have names of tools as its keys, not 7"),
        ("jitter", 1, "must be True or False, not 1"),
    ],
)
def test_a_field_of_another_kind_is_told_by_its_name_with_what_to_write(field: str, value: Any, told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^contract: {field}.*{re.escape(told)}"):
        Contract(**{field: value})


ANYTHING = st.one_of(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    st.sampled_from([TimeoutError, int, TimeoutError("x"), object()]),
    st.lists(st.sampled_from(["TimeoutError", OSError, "a b", int, 3, None]), max_size=3).flatmap(
        lambda items: st.sampled_from([items, tuple(items)])
    ),
    st.dictionaries(
        st.text(max_size=3) | st.integers(), st.integers() | st.booleans() | st.text(max_size=2), max_size=2
    ),
)


@given(st.sampled_from([each.name for each in fields(Contract)]), ANYTHING)
def test_any_value_is_a_promise_or_one_line_that_names_the_field(field: str, value: Any) -> None:
    try:
        contract = Contract(**{field: value})
    except (TypeError, ValueError) as refused:
        told = str(refused)
    else:
        assert _fits(field, getattr(contract, field))
        return
    assert told.startswith(f"contract: {field}")
    assert len(told.splitlines()) == 1


def _fits(field: str, found: Any) -> bool:
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return {
        **dict.fromkeys(SECONDS, number and found > 0),
        **dict.fromkeys(COUNTS, number and isinstance(found, int) and found > 0),
        **dict.fromkeys(FLAGS, isinstance(found, bool)),
        **dict.fromkeys(LISTS, isinstance(found, tuple) or (found is None and field == "accepts")),
        "max_requests_per_tool": isinstance(found, dict),
    }[field]


@given(st.lists(st.sampled_from(["TimeoutError", OSError, "ToolFailed"])))
def test_a_list_of_exceptions_is_as_good_as_a_tuple(kinds: list[Any]) -> None:
    assert Contract(accepts=kinds) == Contract(accepts=tuple(kinds))  # type: ignore[arg-type]
    assert hash(Contract(accepts=kinds)) == hash(Contract(accepts=tuple(kinds)))  # type: ignore[arg-type]
    assert Contract(accepts=kinds).accepts_error(ConnectionError()) == (OSError in kinds)  # type: ignore[arg-type]
