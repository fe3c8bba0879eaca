"""Pages of the catalogue: the cursor carries the listing mode, so that it outlives the step that began it."""

from __future__ import annotations

from typing import Any

from fuzzmcp.core.catalogue.tools import Catalogue
from fuzzmcp.harness.server import wire
from fuzzmcp.harness.server.wire import Frame

_BAD_TOOL = {"name": "bad tool", "description": "its inputSchema is no object", "inputSchema": "string"}


def page(tools: Catalogue, cursor: Any, version: str, mode: str) -> Frame | tuple[int, str | None, Any]:
    """One `tools/list` result, or the -32602 for a cursor that the server never gave.

    Args:
        tools: The whole catalogue.
        cursor: What the client sent; None asks for the first page.
        version: The negotiated protocol version.
        mode: The answer of the script step (`pages`, `loop`, `fresh_loop`, `badtool`), anything else lists as usual.
    """
    entries: list[Any] = [wire.tool_entry(tool, version) for tool in tools]
    if cursor is None:
        match mode:
            case "pages":
                return _numbered(entries, 0, version)
            case "loop":
                return wire.list_result(entries, "again", version)
            case "fresh_loop":
                return wire.list_result(entries, "fresh-1", version)
            case "badtool":
                return wire.list_result([*entries, dict(_BAD_TOOL)], None, version)
        return wire.list_result(entries, None, version)
    kind, _, number = str(cursor).partition("-")
    if cursor == "again":
        return wire.list_result([], "again", version)
    if kind == "fresh" and number.isdigit():
        return wire.list_result([], f"fresh-{int(number) + 1}", version)
    if kind == "page" and number.isdigit() and int(number) < len(entries):
        return _numbered(entries, int(number), version)
    return wire.INVALID_PARAMS, f"Invalid cursor: {cursor}", None


def _numbered(entries: list[Any], number: int, version: str) -> Frame:
    following = f"page-{number + 1}" if number + 1 < len(entries) else None
    return wire.list_result(entries[number : number + 1], following, version)
