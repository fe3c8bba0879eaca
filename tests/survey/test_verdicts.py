"""What people say of findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from survey.clients import PLACE
from survey.samples import NEWER, OLDER, ROWS, found, result, verdict
from survey.verdicts import Verdict, VerdictError, parse, read, seen, unused

GOOD = """
[[verdict]]
clients = ["fastmcp", "sdk_session-mcp1"]
check = "valid_accepted"
scripts = ["list:hang", "list:rpc(-32603) , ok"]
verdict = "true"
why = "The hidden tools/list behind a result has no limit of its own."
where = "mcp/client/session.py: call_tool"
"""


def test_a_verdict_is_read() -> None:
    assert parse(GOOD.encode()) == (
        Verdict(
            clients=("fastmcp", "sdk_session-mcp1"),
            check="valid_accepted",
            scripts=("list:hang", "list:rpc(-32603)"),
            word="true",
            why="The hidden tools/list behind a result has no limit of its own.",
            where="mcp/client/session.py: call_tool",
        ),
    )


def test_no_file_is_no_verdict(tmp_path: Path) -> None:
    assert read(tmp_path / "none.toml") == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[verdict]]", "[[verdicts]]", "unknown key 'verdicts'; did you mean 'verdict'"),
        ("[[verdict]]", "[verdict]", r"expected \[\[verdict\]\] tables"),
        ("why =", "reason =", "verdict 1: unknown key 'reason'"),
        ('"fastmcp"', '"fastmpc"', "unknown client 'fastmpc'; did you mean 'fastmcp'"),
        ('["fastmcp", "sdk_session-mcp1"]', "[]", "clients: expected one at least"),
        ('["fastmcp", "sdk_session-mcp1"]', '"fastmcp"', "clients: expected a list of texts"),
        ('"valid_accepted"', '"valid_acepted"', "unknown check 'valid_acepted'; did you mean 'valid_accepted'"),
        ('"true"', '"maybe"', "unknown verdict 'maybe': expected true, contract"),
        ('"true"', "true", "verdict: expected one line of text"),
        ("list:hang", "list:hnag", "scripts: .*hang"),
        ('"The hidden', '"""The\nhidden', "TOML"),
        ('"mcp/client/session.py: call_tool"', '" "', "where: expected one line of text"),
    ],
)  # fmt: skip
def test_a_slip_in_the_file_is_told_with_its_place(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(VerdictError, match=message):
        parse(GOOD.replace(old, new, 1).encode(), "verdicts.toml")


def test_a_verdict_covers_its_clients_its_check_and_its_scripts() -> None:
    one = verdict("true", "list:hang")
    assert one.covers(NEWER, found())
    assert one.covers(OLDER, found())
    assert not one.covers(NEWER, found(faults="list:close"))
    assert not one.covers(NEWER, found("cancels"))
    assert not verdict(clients=("langchain",)).covers(NEWER, found())


def test_a_verdict_of_one_row_leaves_the_others_open() -> None:
    one = verdict(clients=(OLDER.name,))
    assert one.covers(OLDER, found())
    assert not one.covers(NEWER, found())


def test_a_verdict_without_scripts_covers_every_script() -> None:
    assert verdict("contract").covers(NEWER, found(faults="list:loop"))


def test_every_finding_is_shown_with_the_first_verdict_on_it() -> None:
    first, second = verdict("contract", "list:hang"), verdict()
    results = {NEWER.name: result(NEWER, found(), found("cancels")), OLDER.name: result(OLDER, found(faults="ok"))}
    assert [(one.row.name, one.found.check, one.verdict) for one in seen(ROWS, results, [first, second])] == [
        (NEWER.name, "valid_accepted", first),
        (NEWER.name, "cancels", None),
        (OLDER.name, "valid_accepted", second),
    ]


def test_a_verdict_on_nothing_is_noticed() -> None:
    used, idle = verdict(), verdict("true", "list:loop")
    assert unused([used, idle], seen(ROWS, {NEWER.name: result(NEWER, found())}, [used, idle])) == (idle,)


def test_the_verdicts_of_this_repository_can_be_read() -> None:
    read(PLACE / "verdicts.toml")
