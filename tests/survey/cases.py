"""The true findings as case files, with the versions in their notes: `examples/clients/cases/ROW/CHECK-XXXX.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call, Case
from fuzzmcp.search.campaign import name_in
from fuzzmcp.search.corpus import SavedCase, save
from fuzzmcp.search.findings import short
from survey.results import Found, Result
from survey.verdicts import Seen

CASES = Path(__file__).parents[2] / "examples" / "clients" / "cases"


def case_from(data: Mapping[str, Any]) -> Case:
    """The case that a report describes.

    >>> str(case_from({"faults": "429cap"}).script)
    '429cap'
    """
    calls = [Call(call["tool"], call["arguments"], call.get("at")) for call in data.get("calls", ())]
    case = case_of(
        data["faults"],
        calls=calls,
        tools=data.get("tools"),
        protocol=data.get("protocol", "2025-11-25"),
        backend=data.get("backend", "asyncio"),
    )
    return replace(
        case,
        outputs=data.get("outputs", {}),
        transport=data.get("transport", "memory"),
        schedule=data.get("schedule", 0),
    )


def file_of(row: str, found: Found, folder: Path = CASES) -> str:
    """Where a finding's case lies, below the folder of cases."""
    old = f"{row}/{short(found.name)}.toml"
    return old if (folder / old).exists() else f"{row}/{found.name}.toml"


def save_true(folder: Path, all_seen: Iterable[Seen], results: Mapping[str, Result]) -> tuple[Path, ...]:
    """Save the findings that are true, but for those that are saved already: a person may have written into them.

    Returns:
        The files that are new.
    """
    new = []
    for row, found, verdict in all_seen:
        if verdict is None or verdict.word != "true":
            continue
        note = f"{found.message} ({versions_of(results[row.name])})"
        saved = SavedCase(found.check, case_from(found.case), note)
        path, is_new = save(folder / row.name, name_in(folder / row.name, found.name, saved), saved)
        if is_new:
            new.append(path)
    return tuple(new)


def versions_of(result: Result) -> str:
    """The packages that were installed, but for fuzzmcp itself: `fastmcp 4.2.3, mcp 2.3.0`."""
    names = sorted((name for name in result.packages if name != "fuzzmcp"), key=lambda name: (name == "mcp", name))
    return ", ".join(f"{name} {result.packages[name]}" for name in names)
