"""Pages of the catalogue: the cursor carries the listing mode, so that it outlives the step that began it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzzmcp.core.catalogue.tools import Catalogue
from fuzzmcp.harness.server import wire
from fuzzmcp.harness.server.wire import Frame

_BAD_TOOL = {"name": "bad tool", "description": "its inputSchema is no object", "inputSchema": "string"}
Page = Callable[[list[Any], str], Frame]
FIRST_PAGES: dict[str, Page] = {}
"""The function that makes the first page, by the answer of the script; without one, it is the whole catalogue."""


def first_page(name: str) -> Callable[[Page], Page]:
    """Register the function that makes the first page for this answer."""

    def register(page: Page) -> Page:
        FIRST_PAGES[name] = page
        return page

    return register


def page(tools: Catalogue, cursor: Any, version: str, mode: str) -> Frame | tuple[int, str | None, Any]:
    """One `tools/list` result, or the -32602 for a cursor that the server never gave.

    Args:
        tools: The whole catalogue.
        cursor: What the client sent; None asks for the first page.
        version: The negotiated protocol version.
        mode: The answer of the script step; one without a first page of its own lists as usual.
    """
    entries: list[Any] = [wire.tool_entry(tool, version) for tool in tools]
    if cursor is None:
        return FIRST_PAGES.get(mode, _whole)(entries, version)
    kind, _, number = str(cursor).partition("-")
    if cursor == "again":
        return wire.list_result([], "again", version)
    if kind == "fresh" and number.isdigit():
        return wire.list_result([], f"fresh-{int(number) + 1}", version)
    if kind == "page" and number.isdigit() and int(number) < len(entries):
        return _numbered(entries, int(number), version)
    return wire.INVALID_PARAMS, f"Invalid cursor: {cursor}", None


def _whole(entries: list[Any], version: str) -> Frame:
    return wire.list_result(entries, None, version)


@first_page("pages")
def _one_by_one(entries: list[Any], version: str) -> Frame:
    return _numbered(entries, 0, version)


@first_page("loop")
def _for_ever(entries: list[Any], version: str) -> Frame:
    return wire.list_result(entries, "again", version)


@first_page("fresh_loop")
def _ever_new(entries: list[Any], version: str) -> Frame:
    return wire.list_result(entries, "fresh-1", version)


@first_page("badtool")
def _with_a_bad_tool(entries: list[Any], version: str) -> Frame:
    return wire.list_result([*entries, dict(_BAD_TOOL)], None, version)


def _numbered(entries: list[Any], number: int, version: str) -> Frame:
    following = f"page-{number + 1}" if number + 1 < len(entries) else None
    return wire.list_result(entries[number : number + 1], following, version)
