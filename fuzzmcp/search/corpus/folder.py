"""The folder of saved cases: written so that a kill leaves no half file, and never over what a person has edited."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fuzzmcp.core.case import Call
from fuzzmcp.core.case_codec import definitions_of
from fuzzmcp.core.catalogue.tools import Catalogue, crm
from fuzzmcp.core.redact import redacted_text
from fuzzmcp.core.withheld import withhold
from fuzzmcp.search.corpus.reading import CaseFileError, SavedCase
from fuzzmcp.search.corpus.writing import text_of, updated

_UNFINISHED = re.compile(r"\.fuzzmcp-(\d+)\.tmp")
_CATALOGUE = re.compile(r"tools-[0-9a-f]{8}\.json")


def case_files(places: Iterable[str | Path]) -> list[Path]:
    """The case files at these places, sorted within each: files as they are, of folders all `*.toml` in them.

    Raises:
        CaseFileError: There is no such file or folder.
    """
    found: list[Path] = []
    for place in map(Path, places):
        if place.is_dir():
            found += sorted(path for path in place.glob("*.toml") if path.is_file() and not path.name.startswith("."))
        elif place.exists():
            found.append(place)
        else:
            raise CaseFileError(f"{place}: there is no such file or folder")
    return list(dict.fromkeys(found))


def save(folder: str | Path, name: str, saved: SavedCase, given: Sequence[Call] | None = None) -> tuple[Path, bool]:
    """Save a case as `NAME.toml`, and its catalogue beside it unless it is the bundled one.

    Secrets that the user gave are withheld: the file says where.

    A file of that name stays as it is: a person may have edited it. The file is there as a whole or not at all,
    whenever the process is killed.

    Args:
        folder: Where to; made if it is missing.
        name: Check and fingerprint.
        saved: What to save.
        given: The calls that the user gave; None for those of the case.

    Returns:
        The file, and whether it is new.

    Raises:
        OSError: It cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _sweep_up(folder)
    path = folder / f"{name}.toml"
    if path.exists():
        return path, False
    if saved.case.tools != crm():
        saved = replace(saved, tools_file=_save_catalogue(folder, saved.case.tools))
    return path, _write_new(path, text_of(kept(saved, given)))


def kept(saved: SavedCase, given: Sequence[Call] | None = None) -> SavedCase:
    """The case as a file keeps it: without the secrets that the user gave. A file that has all values stays whole."""
    case, places = withhold(saved.case, () if saved.role == "agent" else given)  # no calls of an agent are saved
    return replace(saved, case=case, withheld=places, note=redacted_text(saved.note))


def rewrite(path: Path, saved: SavedCase) -> None:
    """Put another case into a file; its comments survive. What the file withholds stays withheld.

    Raises:
        OSError: It cannot be written.
    """
    text = updated(path.read_text("utf-8"), kept(saved, None if saved.withheld else ()))
    unfinished = _unfinished(path.parent)
    _write_whole(unfinished, text)
    os.replace(unfinished, path)


def prune(fixed: Iterable[SavedCase]) -> list[Path]:
    """Remove the files of these cases, and the catalogues that fuzzmcp saved and no case names any more.

    Returns:
        What was removed.
    """
    removed = [saved.path for saved in fixed if saved.path is not None]
    for path in removed:
        path.unlink(missing_ok=True)
    for folder in dict.fromkeys(path.parent for path in removed):
        named = "\n".join(path.read_text("utf-8", errors="replace") for path in case_files([folder]))
        for path in sorted(folder.glob("tools-*.json")):
            if _CATALOGUE.fullmatch(path.name) and path.name not in named:
                path.unlink()
                removed.append(path)
    return removed


def _save_catalogue(folder: Path, tools: Catalogue) -> str:
    """Named by its content: many cases of one catalogue share one file."""
    text = json.dumps({"tools": definitions_of(tools)}, indent=1, ensure_ascii=False) + "\n"
    name = f"tools-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    _write_new(folder / name, text)
    return name


def _write_new(path: Path, text: str) -> bool:
    """Write a file that does not exist yet; false if there is one by now."""
    unfinished = _unfinished(path.parent)
    _write_whole(unfinished, text)
    try:
        os.link(unfinished, path)  # unlike a rename, it never takes the place of another file
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if path.exists():
            return False
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return True


def _write_whole(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _unfinished(folder: Path) -> Path:
    return folder / f".fuzzmcp-{os.getpid()}.tmp"


def _sweep_up(folder: Path) -> None:
    """Remove what a killed process left unfinished."""
    for path in folder.glob(".fuzzmcp-*.tmp"):
        found = _UNFINISHED.fullmatch(path.name)
        if found is not None and not _alive(int(found[1])):
            with contextlib.suppress(OSError):
                path.unlink()


def _alive(process: int) -> bool:
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
