"""Data from files that anybody may have written: each value knows where it stands, and says what was expected there.

The configuration, saved cases and saved reports are read with it. It is imported in every pytest run: keep it light.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

from fuzzmcp.core.spelling import meant

T = TypeVar("T")
Way = tuple["str | int", ...]
"""The way to a value: names of members, and numbers of elements."""
DEEPEST = 60
"""Levels of nesting that a value may have, unless more are asked for."""
_LONGEST = 60
_HUGE = 10**1000
"""Python writes and reads no integers of more than some 4,000 digits."""
_HALF = re.compile("[\ud800-\udfff]")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NOTHING: Any = object()


def brief(text: str, limit: int = _LONGEST) -> str:
    """The text on one line, of at most `limit` characters, with what a terminal would obey escaped.

    >>> brief("a\\x1b[2J\\nb")
    'a\\\\x1b[2J\\\\nb'
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: limit + 1])
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def dotted(path: Way, root: str = "") -> str:
    """A path as messages write it.

    >>> dotted(("findings", 0, "a b"), "$")
    '$.findings[0]."a b"'
    """
    text = root
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if _BARE.fullmatch(part) else f'"{brief(part)}"')
    return brief(text, 200)


@dataclass(frozen=True)
class Source:
    """Where values come from: `error` makes the exception about a place, the rest is how the format calls its values.

    The words are those of TOML.
    """

    error: Callable[[Way, str], Exception]
    table: str = "a table"
    array: str = "a list"
    text: str = "a text"
    quote: str = "'"

    def shown(self, value: Any, depth: int = 2) -> str:
        """A value for a message, on one short line; however large and nested it is, that takes no time."""
        if value is _NOTHING:
            return "nothing"
        if value is None or isinstance(value, bool):
            return "null" if value is None else str(value).lower()
        if isinstance(value, str):
            return f"{self.quote}{brief(value)}{self.quote}"
        if isinstance(value, dict):
            return "{…}" if value else "{}"
        if isinstance(value, (list, tuple)):
            inner = [self.shown(item, depth - 1) for item in value[:_LONGEST]] if depth else ["…"] if value else []
            return brief(f"[{', '.join(inner)}]")
        try:
            return brief(str(value))
        except ValueError:
            return "a number of thousands of digits"


@dataclass(frozen=True)
class Node:
    """A value that knows where it stands. Its methods return it as what they are called after, or raise the error of
    its source: what was expected at this place, and what was found.

    >>> def error(path, message):
    ...     return ValueError(f"cases.toml: {dotted(path)}: {message}")
    >>> Node({"runs": [3, 0]}, Source(error))["runs"].items()[1].whole(1)
    Traceback (most recent call last):
    ValueError: cases.toml: runs[1]: expected a whole number from 1, found 0
    """

    value: Any
    source: Source
    path: Way = ()

    # -- mistakes ------------------------------------------------------------------------------------------------------

    def refuse(self, message: str) -> NoReturn:
        """Raise the error that says `message` about this place, on one line."""
        raise self.source.error(self.path, brief(message, 400)) from None

    def wrong(self, expected: str, more: str = "") -> NoReturn:
        """Raise the error that something else was expected here."""
        self.refuse(f"expected {expected}, found {self.found}{more}")

    @property
    def found(self) -> str:
        """The value as messages show it."""
        return self.source.shown(self.value)

    # -- what is inside ------------------------------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Node:
        return Node(self.table().get(key, _NOTHING), self.source, (*self.path, key))

    def __contains__(self, key: str) -> bool:
        return key in self.table()

    def optional(self, key: str, read: Callable[[Node], T], default: Any) -> Any:
        """What `read` makes of a member, or `default` where there is none."""
        return read(self[key]) if key in self else default

    def or_none(self, read: Callable[[Node], T]) -> T | None:
        """What `read` makes of it, or None where it is null."""
        return None if self.value is None else read(self)

    def members(self) -> Iterator[tuple[str, Node]]:
        """The members with their names."""
        for key in self.table():
            yield key, self[key]

    def known(self, names: Collection[str]) -> Node:
        """The same table, whose keys are all among `names`."""
        for key, node in self.members():
            if key not in names:
                node.refuse("unknown key" + meant(key, names, f": one of {', '.join(names)}"))
        return self

    def items(self, expected: str = "", most: float = math.inf) -> tuple[Node, ...]:
        """The elements of a list."""
        values = self._is((list, tuple), expected or self.source.array)
        if len(values) > most:
            self.refuse(f"expected at most {most} elements, found {len(values)}")
        return tuple(Node(value, self.source, (*self.path, i)) for i, value in enumerate(values))

    # -- what it is ----------------------------------------------------------------------------------------------------

    def table(self, expected: str = "") -> dict[str, Any]:
        """The members of a table as they are; `expected` is what else to call it in the message."""
        return self._is(dict, expected or self.source.table)  # type: ignore[no-any-return]

    def text(self, most: float = math.inf) -> str:
        """A text of at most `most` characters."""
        text: str = self._is(str, self.source.text)
        if len(text) > most:
            self.refuse(f"expected at most {most:,} characters, found {len(text):,}")
        return text

    def texts(self) -> tuple[str, ...]:
        """The elements of a list of texts."""
        return tuple(node.text() for node in self.items())

    def parsed(self, read: Callable[[str], T], *errors: type[Exception], most: float = math.inf) -> T:
        """What `read` makes of a text; each of its `errors` is told about this place."""
        try:
            return read(self.text(most))
        except errors as error:
            self.refuse(str(error))

    def one_of(self, what: str, known: Sequence[str]) -> str:
        """One of the known words; `what` is what to call it in the message."""
        listed = f"one of {', '.join(word or repr(word) for word in known)}"
        word: str = self._is(str, listed)
        if word not in known:
            self.refuse(f"unknown {what} {self.found}{meant(word, known, f'; {listed}')}")
        return word

    def flag(self) -> bool:
        """True or false."""
        return self._is(bool, "true or false")  # type: ignore[no-any-return]

    def whole(self, least: int = 0, most: int = _HUGE, expected: str = "") -> int:
        """A whole number within these bounds."""
        expected = expected or f"a whole number from {least}"
        number: int = self._is(int, expected)
        return number if least <= number <= most else self.wrong(expected)

    def version(self, newest: int) -> int:
        """The version of a format, of which `newest` is the last that can be read."""
        version = self.whole(1)
        if version > newest:
            self.wrong(f"at most {newest}", ": a newer fuzzmcp wrote this")
        return version

    def number(self, expected: str, least: float, most: float) -> float:
        """A number within these bounds; `expected` is what to call it in the message."""
        number: float = self._is((int, float), expected)
        return number if least <= number <= most else self.wrong(expected)

    def _is(self, kind: type | tuple[type, ...], expected: str) -> Any:
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is not bool):
            self.wrong(expected)
        return self.value

    def anything(self, deepest: int = DEEPEST) -> Any:
        """Whatever it is, but for what is nested so deeply that to walk through it could overflow the stack."""
        if self.value is _NOTHING:
            self.wrong("a value")
        for _ in self._leaves(deepest):
            pass
        return self.value

    def json(self) -> Any:
        """A value that JSON can carry: no date, no nan, no half of a character, no number that cannot be written."""
        for leaf in self._leaves(DEEPEST):
            value = leaf.value
            if isinstance(value, str):
                if _HALF.search(value):
                    leaf.refuse(f"{leaf.found} is not JSON: half of a character")
            elif isinstance(value, (int, float)):
                if not -_HUGE < value < _HUGE:
                    leaf.refuse(f"{leaf.found} is not JSON")
            elif value is not None:
                leaf.refuse(f"{leaf.found} is not JSON; write it in quotes")
        return self.value

    def _leaves(self, deepest: int) -> Iterator[Node]:
        """The values within that hold no others, and the names of members."""
        nodes = [self]
        for node in nodes:  # which grows meanwhile
            if len(node.path) - len(self.path) > deepest:
                self.refuse(f"nested more than {deepest} deep")
            if isinstance(node.value, dict):
                for name, member in node.members():
                    nodes += (replace(member, value=name), member)
            elif isinstance(node.value, (list, tuple)):
                nodes += node.items()
            else:
                yield node
