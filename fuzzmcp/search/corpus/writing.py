"""Writes a case file, and changes one that somebody may have written comments into."""

from __future__ import annotations

import json
from typing import Any

import tomlkit

from fuzzmcp.core.case_codec import INTEGERS, to_data
from fuzzmcp.search.corpus.reading import VERSION, SavedCase


def text_of(saved: SavedCase) -> str:
    """The text of a case file: what has its default is left out, but for what a reader wants to see.

    >>> from fuzzmcp.api import case_of
    >>> print(text_of(SavedCase("spend_cap", case_of("429cap"), "sent again after the spend cap")), end="")
    version = 1
    check = "spend_cap"
    faults = "429cap"
    protocol = "2025-11-25"
    transport = "memory"
    calls = [{tool = "get_order", arguments = {order_id = "A1"}}]
    note = "sent again after the spend cap"
    """
    return tomlkit.dumps(_document(saved))


def updated(text: str, saved: SavedCase) -> str:
    """The text of a case file with another case in it: comments and the order of keys survive.

    Args:
        text: A valid case file.
        saved: What it shall say.
    """
    document, new = tomlkit.parse(text), _document(saved)
    for key in ("tools", "tool"):
        new.pop(key, None)  # the catalogue stays as it is written
    for key in [key for key in document if key not in new and key not in ("tools", "tool")]:
        document.remove(key)
    before: dict[str, Any] = document.unwrap()
    for key, value in new.items():
        if before.get(key) != value.unwrap():
            document[key] = value
    return tomlkit.dumps(document)


def _document(saved: SavedCase) -> tomlkit.TOMLDocument:
    case, document = saved.case, tomlkit.document()
    facts = to_data(
        case, always=("protocol", "transport", "calls"), without=("calls",) if saved.role == "agent" else ()
    )
    structured = {key: facts.pop(key) for key in ("calls", "outputs", "tools") if key in facts}
    for key, value in {"version": VERSION, "check": saved.check, **facts}.items():
        document.add(key, tomlkit.item(value))
    if "calls" in structured:
        calls = [call | {"arguments": _plain(call["arguments"])} for call in structured["calls"]]
        document.add("calls", _array(calls))
    if saved.withheld:
        document.add("withheld", tomlkit.item(list(saved.withheld)))
    if saved.tools_file is not None:
        document.add("tools", tomlkit.item(saved.tools_file))
    if saved.note:
        document.add("note", tomlkit.item(saved.note))
    if "outputs" in structured:
        document.add("outputs", _inline({name: _plain(value) for name, value in structured["outputs"].items()}))
    if saved.tools_file is None and "tools" in structured:
        document.add("tool", tomlkit.item(structured["tools"]))
    return document


def _plain(value: Any) -> Any:
    """What TOML can say as it is; JSON text where it cannot."""
    return value if _sayable(value) else json.dumps(value, ensure_ascii=False)


def _sayable(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_sayable, value.values()))
    if isinstance(value, list):
        return all(map(_sayable, value))
    return value is not None and not (isinstance(value, int) and abs(value) >= INTEGERS)


def _array(entries: list[dict[str, Any]]) -> Any:
    array = tomlkit.array()
    for entry in entries:
        array.append(_inline(entry))
    return array if len(entries) < 2 else array.multiline(True)


def _inline(value: Any) -> Any:
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        for name, inner in value.items():
            table.append(tomlkit.key(name), _inline(inner))
        return table
    if isinstance(value, list):
        array = tomlkit.array()
        for inner in value:
            array.append(_inline(inner))
        return array
    return tomlkit.item(value)
