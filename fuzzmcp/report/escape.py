"""Text for people: escapes in the texts of clients and servers, and the spelling of numbers, durations and files."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator

from fuzzmcp.core.package import is_ours

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_FRAME = re.compile(r'^(?P<lead>[\s|+]*)File "(?P<path>[^"]*)", line \d+')
_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def harmless(text: str) -> str:
    """The text with every character escaped that a terminal would obey instead of show.

    >>> harmless("a\\x1b[2Jb\\nc")
    'a\\\\x1b[2Jb\\\\nc'
    """
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char.isascii() and char.isprintable():
        return char
    hidden = unicodedata.category(char)[0] == "C" or unicodedata.category(char) in ("Zl", "Zp")
    return char.encode("unicode_escape").decode("ascii") if hidden else char


def one_line(text: str, limit: int = 200) -> str:
    """The text on one harmless line of at most `limit` characters, memory addresses left out.

    >>> one_line("no\\n  such <object at 0x7f00>", 12)
    'no such <ob…'
    """
    line = harmless(" ".join(_ADDRESS.sub("", text[: 4 * limit]).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def duration(seconds: float) -> str:
    """A time span in its two largest units.

    >>> duration(0.25), duration(8.53), duration(3725), duration(260_000)
    ('0.2 s', '8.5 s', '1 h 2 min', '3 d 0 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    place = next(i for i, (_, size) in enumerate(_UNITS) if seconds >= size)
    (big, size), (small, part) = _UNITS[place], _UNITS[place + 1]
    return f"{int(seconds // size):,} {big} {int(seconds % size // part)} {small}"


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def ordinal(number: int) -> str:
    """`second` for 2; numbers above ten as `11th`."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def path_of(file: str) -> str:
    """A source file as the report names it: relative below the current folder, else the name alone.

    So the same file has the same name on every machine.
    """
    here = os.path.realpath(os.getcwd()) + os.sep
    real = os.path.realpath(file)
    return real.removeprefix(here).replace(os.sep, "/") if real.startswith(here) else os.path.basename(file)


def own_frames_cut(text: str) -> str:
    """The text of a traceback without the frames of fuzzmcp and of the import system; the client's frames stay."""
    return "\n".join(_lines_without_own_frames(text.rstrip().splitlines()))


def places_without_own(text: str) -> str:
    """Lines of `path:line function` without those of fuzzmcp."""
    return "\n".join(line for line in text.splitlines() if not _ours(line.partition(":")[0]))


def _lines_without_own_frames(lines: list[str]) -> Iterator[str]:
    lead = None
    for line in lines:
        frame = _FRAME.match(line)
        if frame is not None:
            lead = frame["lead"] if _ours(frame["path"]) else None
        elif lead is not None and not line.startswith(lead + "  "):
            lead = None
        if lead is None:
            yield line


def _ours(path: str) -> bool:
    own = is_ours(os.path.abspath(path))
    return (
        own or path.startswith("<frozen importlib") or path.endswith(os.sep + os.path.join("importlib", "__init__.py"))
    )
