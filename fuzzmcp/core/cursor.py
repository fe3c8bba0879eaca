"""A place in a text that is read from left to right: what the readers of scripts, calls and drifts share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any


class Cursor:
    """A text and the place of its next character.

    A reader by recursive descent builds on it; what it expects, and which error it raises, is its own.

    Attributes:
        text: What is read.
        at: The place of the next character; at the end it is the length of the text.
    """

    space = re.compile(r"[ \t\r\n]*")
    """What `blank` skips."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self.text)

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def found(self) -> str:
        """What stands here, for an error message."""
        return "the end" if self.ended else repr(self.text[self.at : self.at + 12])

    def blank(self) -> None:
        """Skip white space."""
        self.take(self.space)

    def eat(self, mark: str) -> bool:
        """Skip `mark` if it is the next character, and tell whether it was."""
        if self.peek() != mark:
            return False
        self.at += 1
        return True

    def take(self, pattern: re.Pattern[str]) -> str | None:
        """Read what the pattern matches here; None, and no step further, where it does not.

        >>> cursor = Cursor("429+dup")
        >>> cursor.take(re.compile("[0-9]+")), cursor.take(re.compile("[0-9]+")), cursor.found()
        ('429', None, "'+dup'")
        """
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match.group()

    def json(self, decoder: json.JSONDecoder, written: Callable[[Any], str]) -> tuple[Any, str]:
        """Read a JSON value; returns it, and how `written` writes it.

        Raises:
            ValueError, RecursionError: There is none here, or it cannot be written again. The place stays the same.
        """
        value, end = decoder.raw_decode(self.text, self.at)
        text = written(value)
        self.at = end
        return value, text
