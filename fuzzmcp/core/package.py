"""This package itself: its version, and which source files are its own."""

from __future__ import annotations

import os
from functools import lru_cache

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""Where the source files of fuzzmcp lie, with a separator at the end."""
_CLIENTS = tuple(FOLDER + folder + os.sep for folder in ("clients", "examples"))


@lru_cache(maxsize=4096)
def is_ours(filename: str) -> bool:
    """Whether a source file belongs to fuzzmcp itself. The clients that ship with it do not: they are under test."""
    return filename.startswith(FOLDER) and not filename.startswith(_CLIENTS)


@lru_cache(maxsize=1)
def version() -> str:
    """The installed version, as pyproject.toml names it."""
    from importlib import metadata  # it reads the disk, and few ask

    return metadata.version("fuzzmcp")
