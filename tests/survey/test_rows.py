"""What is run where."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from fuzzmcp.clients._table import ADAPTERS, Adapter
from fuzzmcp.core.case import TRANSPORTS
from survey.rows import ALL_TRANSPORTS, APART, BOTH_ERAS, BOTH_MAJORS, ENVIRONMENTS, Row, UnknownClient, chosen, rows_of

ROWS = rows_of()
RELEASES = ("1.24.0", "1.30.0", "2.0.0", "2.1.1", "2.3.0")


def test_every_client_has_a_row() -> None:
    assert list(dict.fromkeys(row.adapter for row in ROWS)) == list(ADAPTERS)


def test_rows_have_names_of_their_own() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_client_lives_with_the_sdk_of_its_environment(row: Row) -> None:
    both = SpecifierSet(row.adapter.sdk) & SpecifierSet(row.environment.sdk)
    assert [release for release in RELEASES if release in both]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_a_client_needs_is_something_pip_can_read(row: Row) -> None:
    assert [Requirement(need).name for need in (*row.adapter.requires, row.environment.pin)]


def test_the_exceptions_name_clients_that_there_are() -> None:
    assert {*APART, *BOTH_MAJORS, *BOTH_ERAS, *ALL_TRANSPORTS} <= {adapter.module for adapter in ADAPTERS}


def test_environments_have_folders_that_git_ignores() -> None:
    assert all(place.folder.startswith(".venv") for place in ENVIRONMENTS)


def test_a_client_of_both_majors_has_two_rows_and_one_of_both_eras_one_more() -> None:
    rows = rows_of([Adapter("fastmcp", "FastMCP")])
    assert [(row.name, row.protocol) for row in rows] == [
        ("fastmcp-mcp2", "2025-11-25"),
        ("fastmcp-mcp2-stateless", "2026-07-28"),
        ("fastmcp-mcp1", "2025-11-25"),
    ]


def test_a_row_tells_the_command_line_what_is_not_the_default() -> None:
    row = rows_of([Adapter("other", "Other")])[0]
    assert row.options == ()
    other = replace(row, protocol="2026-07-28", transport="stdio")
    assert other.options == ("--protocol", "2026-07-28", "--transport", "stdio")


def test_the_sdk_has_a_row_for_each_transport() -> None:
    rows = rows_of([Adapter("sdk_session", "The SDK", sdk=">=2,<3")])
    assert [row.transport for row in rows] == list(TRANSPORTS)


def test_a_client_that_nobody_has_thought_of_has_one_row_with_the_newest_sdk_it_can_have() -> None:
    assert [row.environment.name for row in rows_of([Adapter("new", "New", ("new>=1",))])] == ["mcp2"]
    assert [row.environment.name for row in rows_of([Adapter("old", "Old", ("old>=1",), sdk="<2")])] == ["mcp1"]


def test_rows_are_chosen_by_client_or_by_name() -> None:
    assert [row.name for row in chosen(["fastmcp-mcp1", "langchain"], ROWS)] == ["fastmcp-mcp1", "langchain"]
    assert len(chosen(["fastmcp"], ROWS)) == 3
    assert chosen([], ROWS) == ROWS


def test_an_unknown_client_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownClient, match="unknown client 'langchian'; did you mean 'langchain'"):
        chosen(["langchian"], ROWS)
