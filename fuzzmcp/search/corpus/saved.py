"""A saved case as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fuzzmcp.core.case import Case

VERSION = 1
"""Version of the format: it changes when a key changes its meaning or goes away; keys may be added."""
INTEGERS = 2**63
"""TOML promises integers below this, and no larger ones."""


class CaseFileError(ValueError):
    """A case file that cannot be used: the message names file, line and key."""


@dataclass(frozen=True)
class SavedCase:
    """A case that violated a check, as a file keeps it.

    Args:
        check: The check that was violated.
        case: What to drive.
        note: What was seen, in one sentence.
        path: The file it was read from; None for one that is not saved yet.
        tools_file: Name of the catalogue's file beside it; None when it is the bundled one, or stands inside.
        role: `agent` makes its own calls: none are saved.
    """

    check: str
    case: Case
    note: str = ""
    path: Path | None = None
    tools_file: str | None = None
    role: str = field(default="client", compare=False)

    @property
    def name(self) -> str:
        """How reports call it: the file's name without its ending."""
        return self.path.stem if self.path is not None else self.check
