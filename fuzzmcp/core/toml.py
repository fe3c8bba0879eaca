"""TOML files as people write them: what is wrong with one, and the line on which a key stands, which parsers keep."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from fuzzmcp.core.errors import FuzzmcpError

_PLACE = re.compile(r" ?\(at line (\d+), column (\d+)\)")
_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_ENTRY = re.compile(rf"\s*({_DOTTED})\s*=")


class TomlError(FuzzmcpError, ValueError):
    """Bytes that are no TOML. `line` is None where nobody knows it."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def parsed(data: bytes) -> tuple[dict[str, Any], str]:
    """The table in a file's bytes, and its text.

    Raises:
        TomlError: The bytes are no UTF-8, or no TOML.

    >>> parsed(b"runs = 3")
    ({'runs': 3}, 'runs = 3')
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = data.decode()
        return tomllib.loads(text), text
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TomlError(f"not UTF-8: byte 0x{data[error.start]:02x}", line) from None
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        message = _PLACE.sub(f" at column {place[2]}" if place else "", str(error))
        raise TomlError(f"not TOML: {message}", int(place[1]) if place else None) from None
    except RecursionError:
        raise TomlError("not TOML: nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise TomlError(f"not TOML: {error}") from None


def line_of(text: str, path: Iterable[str | int]) -> int | None:
    """The line on which a key is written, or else the table or the inline table that it stands in; None for no line.

    Of what stands in a list, that is the line of the list.

    >>> line_of("[tool.fuzzmcp]\\n\\nruns = 3", ("tool", "fuzzmcp", "runs"))
    3
    """
    wanted, above = tuple(takewhile(lambda name: isinstance(name, str), path)), None
    table: tuple[str, ...] = ()
    inside = False  # a text of several lines
    for number, line in enumerate(text.split("\n"), 1):
        value = line
        if not inside:
            header, entry = _HEADER.match(line), _ENTRY.match(line)
            here: tuple[str, ...] = ()
            if header is not None:
                table = here = _names(header[1])
                value = ""
            elif entry is not None:
                here = (*table, *_names(entry[1]))
                value = line[entry.end() :]
            if here == wanted and here:
                return number
            if here and here == wanted[: len(here)]:
                above = number
        inside ^= (value.count('"""') + value.count("'''")) % 2 == 1
    return above


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(map(_name, re.findall(_NAME, dotted)))


def _name(written: str) -> str:
    if written[0] == '"' and "\\" in written:
        try:
            return next(iter(parsed(f"{written} = 0".encode())[0]))
        except TomlError:  # part of a text of several lines
            return written
    return written[1:-1] if written[0] in "\"'" else written
