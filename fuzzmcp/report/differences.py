"""Two catalogues compared: their differences as data, with the commands that play them to a client."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.diff import Difference, checks_of, plays, scripts_of
from fuzzmcp.core.catalogue.tools import Catalogue
from fuzzmcp.core.drift import text_of
from fuzzmcp.core.script import Script


@dataclass(frozen=True)
class Compared:
    """A saved catalogue compared with the catalogue of the server.

    Args:
        file: The saved catalogue's file, as the user named it.
        client: The client to replay against, or a placeholder for it.
        old: The saved catalogue.
        new: The catalogue of the server.
        found: The differences.
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
        """The command line that replays `script` on the tool `name`; empty if no command line can spell the call."""
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
