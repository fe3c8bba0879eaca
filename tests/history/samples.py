"""Pairs and results that the tests share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from history.pairs import Pair
from history.results import Half, Result, Search, spelled

PAIR = Pair(
    name="shop-hangs",
    package="shop",
    affected="1.0",
    fixed="1.1",
    bug="A silent server hung the shop.",
    source="acme/shop PR 7",
    place="shop/client.py:3, no timeout",
    mended="shop/client.py:4, a timeout",
    client="shop:connect",
    check="finishes",
    script="hang",
    calls=("a()",),
)
CASE = spelled(PAIR.script, PAIR.calls)


def half(replayed: str, *found: tuple[str, ...], **more: Any) -> Half:
    """A version with one search for each tuple of findings."""
    searches = [
        Search(seed, 400, 7.26, exposed=20 + seed if findings else None, findings=findings)
        for seed, findings in enumerate(found, 1)
    ]
    return Half(replayed, tuple(searches), **more)


FOUND = half("violated", (CASE,), (CASE, "close | a()"), (CASE,), installed=("shop 1.0", "mcp 1.9.2"))
SILENT = half("held", (), ("list:hang | a()",), (), installed=("shop 1.1", "mcp 1.9.2"))
RESULT = Result(PAIR.name, "2026-11-30", "0.1.0", "3.11.7", FOUND, SILENT)


def result(affected: Half = FOUND, fixed: Half = SILENT) -> Result:
    """The result of the pair, with other halves."""
    return replace(RESULT, affected=affected, fixed=fixed)
