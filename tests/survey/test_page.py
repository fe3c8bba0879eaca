"""The page, read with a Markdown parser."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt

from fuzzmcp.report.markdown import code
from survey.clients import PLACE
from survey.page import page
from survey.reactions import FAULTS
from survey.results import Reaction, Result, stored
from survey.rows import rows_of
from survey.samples import NEWER, OLDER, ROWS, STATELESS, TABLES, VERDICTS, found, result, verdict
from survey.telling import groups
from survey.verdicts import Verdict, read

FULL = {
    NEWER.name: result(
        NEWER,
        found(message="a valid answer | was *lost*"),
        found(faults="list:close"),
        found("cancels", "hang", "never told"),
        reactions=(
            Reaction("error", "raised", "ToolError", "no such customer", requests=1),
            Reaction("hang*", "unfinished", endless=True),
            Reaction("ok@100", "returned", text="the order", answered=True),
        ),
        contract={"deadline": 60.0, "accepts": ["ToolError"], "error_words": []},
    ),
    OLDER.name: result(OLDER, failure="not installed: no matching distribution (exit code 1)", packages={}, checks={}),
}
PAGE = page(ROWS, FULL, [verdict("true", "list:hang"), verdict("contract", check="cancels")])
SLOW = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def tokens(text: str) -> list[Any]:
    return MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)


def cells(text: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells."""
    tables: list[list[list[str]]] = []
    inside = False
    for token in tokens(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("th_open", "td_open", "th_close", "td_close"):
            inside = token.nesting == 1
        elif token.type == "inline" and inside:
            tables[-1][-1].append(token.content)
    return tables


def section(text: str, name: str) -> str:
    return text.partition(f'<a id="{name}"></a>')[2].partition("\n### ")[0]


@SLOW
@given(TABLES, VERDICTS)
def test_whatever_was_found_the_page_keeps_its_shape(results: dict[str, Result], verdicts: list[Verdict]) -> None:
    text = page(ROWS, results, verdicts)
    tables = cells(text)
    assert all(len(row) == len(table[0]) for table in tables for row in table)
    assert tables[0][0][0] == "client"
    assert len(tables[0]) - 1 == len(results)
    ran = [one for one in results.values() if one.failure is None]
    overview = 1 + len(groups()) + len(FAULTS)
    assert all(len(table) - 1 == len(ran) for table in tables[1:overview])
    assert len(tables) == overview + len(ran)


@SLOW
@given(TABLES, VERDICTS)
def test_every_link_into_the_page_leads_somewhere(results: dict[str, Result], verdicts: list[Verdict]) -> None:
    text = page(ROWS, results, verdicts)
    anchors = re.findall(r'<a id="([^"]+)"></a>', text)
    assert len(set(anchors)) == len(anchors)
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= set(anchors)


@SLOW
@given(TABLES, VERDICTS)
def test_what_clients_say_makes_no_elements(results: dict[str, Result], verdicts: list[Verdict]) -> None:
    inline = [child for token in tokens(page(ROWS, results, verdicts)) for child in token.children or ()]
    html = {re.sub(r' id="[^"]*"', "", child.content) for child in inline if child.type == "html_inline"}
    assert html <= {"<code>", "</code>", "<br>", "<a>", "</a>"}
    assert {child.type for child in inline} <= {
        "text", "softbreak", "code_inline", "html_inline",
        "link_open", "link_close", "strong_open", "strong_close", "em_open", "em_close",
    }  # fmt: skip


def test_the_cell_of_a_violated_check_leads_to_the_command_that_repeats_it() -> None:
    assert "[<code>list:hang</code>](#fastmcp-mcp2-valid_accepted-1)<br>*not looked at*, 1 more |" in PAGE
    evidence = PAGE.partition('<a id="fastmcp-mcp2-valid_accepted-1"></a>')[2].partition("<a id=")[0]
    assert "a valid answer &#124; was &#42;lost&#42;" in evidence
    assert "\n  fuzzmcp replay fuzzmcp.clients.fastmcp:connect list:hang\n" in evidence


def test_a_true_finding_has_reason_place_and_case_and_a_choice_no_case() -> None:
    lost, _, rest = section(PAGE, "fastmcp-mcp2").partition("fastmcp-mcp2-valid_accepted-2")
    assert "it lists tools first (client.py call)" in lost
    assert "[case](cases/fastmcp-mcp2/valid_accepted-ab12.toml)" in lost
    assert "[case]" not in rest
    assert "*contract*" in rest


def test_a_section_says_with_what_and_how_to_repeat_it_all() -> None:
    text = section(PAGE, "fastmcp-mcp2")
    assert "fastmcp 4.2.3, mcp 2.3.0 · Python 3.11.7 · 2025-11-25 · 400 runs, seed 1 · 2026-11-30" in text
    assert "pip install . fastmcp==4.2.3 mcp==2.3.0\n" in text
    assert "fuzzmcp run fuzzmcp.clients.fastmcp:connect --runs 400 --seed 1\n" in text
    assert "<code>deadline</code> 60.0; <code>accepts</code> ToolError; <code>error_words</code> none." in text


def test_a_row_of_the_stateless_era_is_repeated_in_its_era() -> None:
    assert "fastmcp:connect --protocol 2026-07-28 --runs" in page(ROWS, {STATELESS.name: result(STATELESS)}, ())


def test_a_client_that_could_not_be_run_has_its_reason_and_no_empty_rows() -> None:
    assert "could not be run: not installed: no matching distribution (exit code 1)" in PAGE
    assert "It could not be run: not installed" in section(PAGE, OLDER.name)
    checks = cells(PAGE)[1]
    assert len(checks) == 2


@pytest.mark.parametrize(
    ("older", "text"),
    [
        ({}, "Run 2026-11-30, 400 runs each, seed 1.\n"),
        ({"date": "2026-10-01"}, "Run between 2026-10-01 and 2026-11-30, 400 runs each, seed 1.\n"),
        ({"seed": 2}, "Run 2026-11-30; not all with the same budget and seed: see the section of each.\n"),
        ({"runs": 50}, "Run 2026-11-30; not all with the same budget and seed: see the section of each.\n"),
    ],
)
def test_rows_of_another_day_or_budget_are_not_mixed_up_in_silence(older: dict[str, Any], text: str) -> None:
    results = {NEWER.name: result(NEWER), OLDER.name: replace(result(OLDER), **older)}
    assert text in page(ROWS, results, ())


def test_rows_without_a_result_are_named() -> None:
    assert f"Not run yet: {code(STATELESS.name)}." in PAGE
    assert "Not run yet" not in page([], {}, ())


def test_what_a_client_says_to_a_fault_is_shown_beside_what_it_does() -> None:
    said = cells(PAGE)[-1]
    assert said[1:] == [
        ["<code>error</code>", "raises <code>ToolError</code>", "no such customer", ""],
        ["<code>hang&#42;</code>", "waits for ever", "", ""],
    ]


def test_the_page_in_this_repository_is_what_its_results_and_verdicts_say() -> None:
    rows = rows_of()
    results = stored(PLACE / "results", [row.name for row in rows])
    written = (PLACE / "README.md").read_text("utf-8")
    assert written == page(rows, results, read(PLACE / "verdicts.toml")), "run `make clients-page`"


def test_every_result_in_this_repository_belongs_to_a_row() -> None:
    files = {file.stem for file in (PLACE / "results").glob("*.json")}
    assert files <= {row.name for row in rows_of()}
