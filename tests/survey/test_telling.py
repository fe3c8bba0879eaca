"""The words of the page, one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzmcp.checks import CHECKS
from fuzzmcp.clients._table import Adapter
from survey.results import Reaction
from survey.rows import rows_of
from survey.samples import NEWER, OLDER, STATELESS, found, result, verdict
from survey.telling import cell, groups, label, told
from survey.verdicts import Seen

LOST = Seen(NEWER, found(), None)
TRUE = LOST._replace(verdict=verdict("true"))
CHOICE = LOST._replace(verdict=verdict("contract"))


@pytest.mark.parametrize(
    ("reaction", "text"),
    [
        (Reaction("error", "returned", flag=True), "returns an error"),
        (Reaction("error", "returned", flag=False, requests=1), "returns"),
        (Reaction("error", "returned", flag=None), "returns, no flag"),
        (Reaction("ok@100", "returned", flag=None, answered=True), "returns"),
        (Reaction("ok@100", "returned", flag=True, answered=True), "returns an error"),
        (Reaction("429*", "returned", flag=True, seconds=7, requests=4), "returns an error, 7 s, 4 requests"),
        (Reaction("hang*", "raised", "Late", seconds=30, cancels=True), "raises <code>Late</code>, 30 s, cancels"),
        (Reaction("hang*", "unfinished", endless=True, seconds=305), "waits for ever"),
        (Reaction("429*", "unfinished", endless=True, requests=300), "asks for ever, 300 requests"),
        (Reaction("list:loop", "unfinished", endless=True, lists=900), "asks for ever, 900 lists"),
        (Reaction("hang*", "cancelled"), "cancelled"),
        (Reaction("init:hang", "no connection", endless=True), "connecting never ends"),
        (Reaction("init:rpc(-32603)", "no connection", "MCPError"), "cannot connect: <code>MCPError</code>"),
        (Reaction("init:close", "no connection"), "cannot connect"),
        (Reaction("ok", "returned", flag=False, logs=("WARNING mcp",)), "returns, logs"),
        (Reaction("init:hang", "not reached", "MCPError"), "–"),
        (Reaction("ok", "not run", "ValueError"), "not run: ValueError"),
    ],
)  # fmt: skip
def test_a_reaction_in_a_few_words(reaction: Reaction, text: str) -> None:
    assert told(reaction) == text


@pytest.mark.parametrize(
    ("status", "seen", "text"),
    [
        ("held", [], "held"),
        ("not exercised", [], "–"),
        ("", [], "–"),
        ("violated", [], "**violated**"),
        ("violated", [TRUE], "**violated**<br>[<code>list:hang</code>](#fastmcp-mcp2-valid_accepted-1)<br>*true*"),
        ("violated", [CHOICE, TRUE], "*true*, 1 more"),
        ("violated", [CHOICE], "*contract*"),
        ("violated", [TRUE, CHOICE, LOST], "*not looked at*, 2 more"),
    ],
)
def test_a_check_in_one_cell(status: str, seen: list[Seen], text: str) -> None:
    assert cell(NEWER, status, seen).endswith(text)


def test_a_long_script_is_cut_in_the_table() -> None:
    long = Seen(NEWER, found(faults="ok," * 30), None)
    assert "…</code>" in cell(NEWER, "violated", [long])


def test_rows_of_one_client_are_told_apart_by_sdk_and_era() -> None:
    older = result(OLDER, packages={"fastmcp": "3.4.11", "mcp": "1.30.0"})
    assert label(NEWER, result(NEWER)) == "FastMCP 4.2.3 (mcp 2.3.0)"
    assert label(STATELESS, result(STATELESS)) == "FastMCP 4.2.3 (mcp 2.3.0), stateless"
    assert label(OLDER, older) == "FastMCP 3.4.11 (mcp 1.30.0)"
    assert label(OLDER, None) == "FastMCP (mcp1)"
    assert label(replace(NEWER, transport="stdio"), result(NEWER)) == "FastMCP 4.2.3 (mcp 2.3.0), stdio"


def test_the_only_row_of_a_client_needs_no_more_than_its_version() -> None:
    (row,) = rows_of([Adapter("langchain", "LangChain", ("langchain-mcp-adapters>=0.3",), sdk="<2")])
    assert label(row, result(row, packages={"langchain-mcp-adapters": "0.3.2", "mcp": "1.30.0"})) == "LangChain 0.3.2"


def test_the_sdk_has_the_version_of_the_sdk() -> None:
    (row,) = rows_of([Adapter("other", "The SDK")])
    assert label(row, result(row)) == "The SDK 2.3.0"


def test_every_check_stands_in_one_group_and_no_table_is_wide() -> None:
    grouped = [name for names in groups().values() for name in names]
    assert sorted(grouped) == sorted(CHECKS)
    assert max(map(len, groups().values())) <= 6
