"""Writes a case file, and changes one that somebody may have written comments into."""

from __future__ import annotations

import json
from typing import Any

import tomlkit

from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.tools import Catalogue, crm
from fuzzmcp.core.protocol import DEFAULT_BACKEND
from fuzzmcp.search.corpus.reading import INTEGERS, VERSION, SavedCase


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
    document.add("version", tomlkit.item(VERSION))
    document.add("check", tomlkit.item(saved.check))
    document.add("faults", tomlkit.item(str(case.script)))
    document.add("protocol", tomlkit.item(case.protocol))
    document.add("transport", tomlkit.item(case.transport))
    if case.backend != DEFAULT_BACKEND:
        document.add("backend", tomlkit.item(case.backend))
    if case.schedule:
        document.add("schedule", tomlkit.item(case.schedule))
    if saved.role != "agent":
        document.add("calls", _array([_call(call) for call in case.calls]))
    if saved.tools_file is not None:
        document.add("tools", tomlkit.item(saved.tools_file))
    if saved.note:
        document.add("note", tomlkit.item(saved.note))
    if case.outputs:
        document.add("outputs", _inline({name: _plain(value) for name, value in sorted(case.outputs.items())}))
    if saved.tools_file is None and case.tools != crm():
        document.add("tool", tomlkit.item(definitions_of(case.tools)))
    return document


def _call(call: Call) -> dict[str, Any]:
    data: dict[str, Any] = {"tool": call.tool, "arguments": _plain(dict(call.arguments))}
    return data if call.at is None else data | {"at": call.at}


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


def definitions_of(tools: Catalogue) -> list[dict[str, Any]]:
    """The tools of a catalogue as `tools/list` describes them."""
    return [dict(tool.definition) for tool in tools]
