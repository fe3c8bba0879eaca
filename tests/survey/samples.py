"""Rows, results and verdicts for the tests, and the strategies that draw them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from report.samples import texts

from fuzzmcp.checks import CHECKS
from fuzzmcp.clients._table import Adapter
from survey.reactions import FAULTS
from survey.results import Found, Reaction, Result
from survey.rows import Row, rows_of
from survey.verdicts import Verdict

ADAPTER = Adapter("fastmcp", "FastMCP", ("fastmcp>=3",))
ROWS = rows_of([ADAPTER])
NEWER, STATELESS, OLDER = ROWS
SCRIPTS = tuple(script for group in FAULTS.values() for script in group)
STATUSES = ("returned", "raised", "cancelled", "unfinished", "no connection", "not reached", "not run")


def found(check: str = "valid_accepted", faults: str = "list:hang", message: str = "it was lost", **more: Any) -> Found:
    replay = ("fuzzmcp", "replay", ADAPTER.client, faults)
    case = {"faults": faults, "calls": [{"tool": "get_order", "arguments": {"order_id": "A1"}}]}
    return Found(check, faults, ('get_order(order_id="A1")',), message, replay, "ab12", True, case, **more)


def result(row: Row = NEWER, *findings: Found, **more: Any) -> Result:
    checks = dict.fromkeys(CHECKS, "held") | {one.check: "violated" for one in findings}
    known: dict[str, Any] = {
        "python": "3.11.7",
        "packages": {"mcp": "2.3.0", "fuzzmcp": "0.1.0", "fastmcp": "4.2.3"},
        "checks": checks,
        "findings": findings,
        "seed": 1,
        "runs": 400,
    }
    return Result(row.name, "2026-11-30", **(known | more))


def verdict(word: Any = "true", *scripts: str, clients: tuple[str, ...] = ("fastmcp",), **more: Any) -> Verdict:
    return Verdict(
        clients, more.get("check", "valid_accepted"), scripts, word, "it lists tools first", "client.py call"
    )


FOUNDS = st.builds(
    Found,
    check=st.sampled_from(sorted(CHECKS)),
    faults=st.sampled_from(SCRIPTS),
    calls=st.lists(texts, max_size=2).map(tuple),
    message=texts,
    replay=st.lists(texts, min_size=1, max_size=4).map(tuple),
    fingerprint=st.text("0123456789abcdef", min_size=4, max_size=4),
    deterministic=st.booleans(),
    case=st.dictionaries(texts, texts, max_size=2),
)
REACTIONS = st.builds(
    Reaction,
    faults=st.sampled_from(SCRIPTS),
    status=st.sampled_from(STATUSES),
    error=texts,
    text=texts,
    flag=st.sampled_from((None, True, False)),
    answered=st.booleans(),
    seconds=st.sampled_from((0.0, 0.5, 30.0, 3600.0)),
    requests=st.integers(0, 9),
    lists=st.integers(0, 999),
    cancels=st.booleans(),
    logs=st.lists(texts, max_size=2).map(tuple),
    endless=st.booleans(),
)


def results(row: Row) -> st.SearchStrategy[Result]:
    """Any result of a row, of a client that ran or did not."""
    return st.builds(
        Result,
        row=st.just(row.name),
        date=st.just("2026-11-30"),
        seed=st.integers(0, 9),
        runs=st.integers(1, 2_000),
        failure=st.none() | texts,
        python=texts,
        packages=st.dictionaries(st.sampled_from(("mcp", "fastmcp", "fuzzmcp")), texts),
        contract=st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=2),
        checks=st.dictionaries(st.sampled_from(sorted(CHECKS)), st.sampled_from(("held", "violated", "not exercised"))),
        findings=st.lists(FOUNDS, max_size=3).map(tuple),
        reactions=st.lists(REACTIONS, max_size=3).map(tuple),
        note=texts,
    )


TABLES = st.fixed_dictionaries({}, optional={row.name: results(row) for row in ROWS})
VERDICTS = st.lists(
    st.builds(
        Verdict,
        clients=st.lists(st.sampled_from(("fastmcp", *(row.name for row in ROWS))), min_size=1).map(tuple),
        check=st.sampled_from(sorted(CHECKS)),
        scripts=st.lists(st.sampled_from(SCRIPTS), max_size=2).map(tuple),
        word=st.sampled_from(("true", "contract")),
        why=texts,
        where=texts,
    ),
    max_size=4,
)
