"""The page: results in, Markdown out."""

from __future__ import annotations

from dataclasses import replace

from history.page import page
from history.results import Half
from history.samples import CASE, FOUND, PAIR, RESULT, half, result

ROW = (
    "| [shop](#shop-hangs) | 1.0 → 1.1 | `finishes` | `hang` | 3 of 3 | 21, 22, 23 | 7, 7, 7 "
    "| silent, 3 of 3; finds `list:hang` |"
)


def text_of(**results: object) -> str:
    return page([PAIR], {PAIR.name: result(**results)})  # type: ignore[arg-type]


def test_the_page_of_one_pair() -> None:
    head, _, rest = page([PAIR], {PAIR.name: RESULT}).partition("1 of 1 pairs are told apart.\n")
    assert head.startswith("# Bugs of the past, found again\n")
    assert (
        rest
        == f"""
| library | affected → fixed | check | smallest script | found | runs | seconds | fixed version |
| --- | --- | --- | --- | --- | --- | --- | --- |
{ROW}

## <a id="shop-hangs"></a>shop 1.0 → 1.1

A silent server hung the shop. (acme/shop PR 7)

- Where it was, in 1.0: shop/client.py:3, no timeout.
- Where it is mended, in 1.1: shop/client.py:4, a timeout.
- Again: `fuzzmcp replay tests/history/clients/shop.py:connect hang --call 'a()' --check finishes`
- Make: `make history PAIRS=shop-hangs`
- The check finds in 1.0 too: `close`.
- With 1.0: shop 1.0, mcp 1.9.2.
- With 1.1: shop 1.1, mcp 1.9.2.

## When

- 1 on 2026-11-30, with fuzzmcp 0.1.0 on Python 3.11.7, seeds 1, 2, 3
"""
    )


def test_what_was_missed_is_said() -> None:
    text = text_of(affected=half("violated", (CASE,), (), (CASE,)))
    assert "0 of 1 pairs are told apart." in text
    assert "| 2 of 3 | 21, –, 23 |" in text


def test_what_is_still_there_is_said() -> None:
    text = text_of(fixed=half("violated", (CASE,), (), ()))
    assert "| found by 1 of 3; the replay violates it |" in text


def test_a_version_that_cannot_be_installed_stands_in_its_row_with_the_reason() -> None:
    text = text_of(affected=Half(failure="not installed: no | such\nversion (exit code 1)"))
    assert "| not run: not installed: no \\| such version (exit code 1) |  |  |" in text
    assert "| not run: seed 1: it fell over |" in text_of(fixed=Half("held", failure="seed 1: it fell over"))


def test_pairs_that_were_not_run_are_named_and_still_told() -> None:
    text = page([PAIR, replace(PAIR, name="other")], {PAIR.name: result(FOUND)})
    assert "1 of 2 pairs are told apart." in text
    assert "Not run: `other`." in text
    assert '<a id="other"></a>' in text


def test_a_page_of_nothing_still_tells_the_bugs() -> None:
    text = page([PAIR], {})
    assert "| library |" not in text
    assert "A silent server hung the shop." in text
    assert "## When" not in text


def test_another_protocol_belongs_to_the_command() -> None:
    text = page([replace(PAIR, protocol="2024-11-05")], {})
    assert "--check finishes --protocol 2024-11-05`" in text
