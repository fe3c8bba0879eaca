"""How two catalogues differ: on a terminal, and as data; with the commands that play the difference to a client."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.diff import Difference, checks_of, plays, scripts_of
from fuzzmcp.core.catalogue.tools import Catalogue
from fuzzmcp.core.drift import text_of
from fuzzmcp.core.script import Script
from fuzzmcp.report.escape import counted, harmless

_COLUMN_MAX = 64


@dataclass(frozen=True)
class Compared:
    """A saved catalogue beside that of the server, ready to be shown.

    Args:
        file: The saved catalogue's file, as the user named it.
        client: The client to replay against, or a word that stands for it.
        old: The saved catalogue.
        new: The server's.
        found: What is different.
    """

    file: str
    client: str
    old: Catalogue
    new: Catalogue
    found: tuple[Difference, ...]

    @cached_property
    def scripts(self) -> tuple[tuple[str, Script], ...]:
        """The scripts that play the differences, each with the name of its tool."""
        return scripts_of(self.found)

    def command(self, name: str, script: Script) -> str:
        """The command line that replays `script` on the tool `name`; empty where no command line can spell the call."""
        tool = next(tool for tool in self.old if tool.name == name)
        try:
            call = str(Call(name, tool.sample_arguments))
        except ValueError:  # lone surrogates in the sample arguments
            return ""
        words = ["fuzzmcp", "replay", self.client, str(script), "--tools", self.file, "--call", call]
        return shlex.join([*words, *(word for check in checks_of(tool, script) for word in ("--check", check))])

    def as_data(self) -> list[dict[str, Any]]:
        """One object for each difference, as `--json` prints them."""
        return [self._row(each) for each in self.found]

    def _row(self, found: Difference) -> dict[str, Any]:
        playing = (script for name, script in self.scripts if name == found.tool and plays(script, found))
        script = next(playing, None)
        return {
            "tool": found.tool,
            "part": found.part,
            "path": list(found.path),
            "difference": found.words,
            "note": found.note or None,
            "edit": text_of((found.edit,)) if found.edit else None,
            "script": None if script is None else str(script),
            "replay": None if script is None else self.command(found.tool, script) or None,
        }


def show_differences(compared: Compared, console: Console) -> None:
    """Print the differences, then for each tool that can be played its scripts and the commands, and one last line."""
    _show_words(compared.found, console)
    for name, script in compared.scripts:
        console.print()
        console.print(Text.assemble((harmless(name), "bold"), "  ", harmless(str(script))), soft_wrap=True)
        if command := compared.command(name, script):
            console.print(Text(harmless(command)), soft_wrap=True)
    if compared.found:
        console.print()
    console.print(Text(_last_line(compared), "bold"), soft_wrap=True)


def _show_words(found: Sequence[Difference], console: Console) -> None:
    """One line each, the notes in a column of their own where the words leave room for one."""
    lines = [harmless(str(each)) for each in found]
    widths = [cell_len(line) for line, each in zip(lines, found, strict=True) if each.note]
    column = max((width for width in widths if width <= _COLUMN_MAX), default=0)
    for line, each in zip(lines, found, strict=True):
        text = Text(line)
        if each.note:
            text.append(" " * max(column - text.cell_len, 0) + "   ")
            text.append(harmless(each.note), "dim")
        console.print(text, soft_wrap=True)


def _last_line(compared: Compared) -> str:
    found = compared.found
    if not found:
        return f"no difference from {harmless(compared.file)} · {counted(len(compared.old), 'tool')}"
    played = sum(any(name == each.tool and plays(script, each) for name, script in compared.scripts) for each in found)
    tools = len({each.tool for each in found})
    parts = (
        f"{counted(len(found), 'difference')} from {harmless(compared.file)}",
        counted(tools, "tool"),
        f"{played:,} can be played to a client" if played else "none can be played to a client",
    )
    return " · ".join(parts)
