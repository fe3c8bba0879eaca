"""Reads a script: whatever the text, the parts of its steps or a `ScriptError` come out. `Script.parse` builds them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from fuzzmcp.core.cursor import Cursor
from fuzzmcp.core.drift import Drift, DriftError, parse_drift
from fuzzmcp.core.errors import ScriptError
from fuzzmcp.core.fault_row import STYLES, Fault, Style, Value, When
from fuzzmcp.core.faults import ANSWERS, BY_NAME, LATE, ODD_RESULTS, WORDS
from fuzzmcp.core.protocol import COUNT_MAX, METHODS, SECONDS_MAX, TEXT_MAX
from fuzzmcp.core.spelling import nearest

_WORD = re.compile(r"[\w-]*")
_MOMENT = re.compile(r"(?:[^,+@*:\s]|(?<=[eE])\+)*")
"""What stands behind `@`: up to a mark or white space, but the `+` of an exponent belongs to the number."""
_DIGITS = re.compile("[0-9]+")


class ActionParts(NamedTuple):
    """What an `Action` is made of."""

    name: str
    value: Value
    style: Style
    at: When


class StepParts(NamedTuple):
    """One step as it is written: where it starts, its actions in their order, and how often, None for `*`."""

    start: int
    method: str
    actions: tuple[ActionParts, ...]
    times: int | None


class Reader(Cursor):
    """Recursive descent over the text of a script."""

    def fail(self, message: str, position: int | None = None, suggestion: str | None = None) -> ScriptError:
        return ScriptError(message, self.text, self.at if position is None else position, suggestion)

    def steps(self) -> Iterator[StepParts]:
        """The steps, one after the other, each as soon as it is read.

        Raises:
            ScriptError: The text is no script.
        """
        if len(self.text) > TEXT_MAX:
            raise self.fail(f"longer than {TEXT_MAX:,} characters", TEXT_MAX)
        self.blank()
        if self.ended:
            return
        while True:
            self.blank()
            yield self.step()
            self.blank()
            if self.ended:
                return
            if not self.eat(","):
                raise self.fail(f"expected ',' or the end, found {self.found()}")

    def step(self) -> StepParts:
        begin = start = self.at
        method = "call"
        word = self.word()
        if self.eat(":"):
            if word not in METHODS:
                raise self.fail(f"unknown method '{word}'", start, nearest(word, list(METHODS)))
            method, start = word, self.at
            word = self.word()
        actions = [self.action(word, start, method, first=True)]
        while self.eat("+"):
            start = self.at
            actions.append(self.action(self.word(), start, method, first=False))
        return StepParts(begin, method, tuple(actions), self.count())

    def count(self) -> int | None:
        if not self.eat("*"):
            return 1
        start = self.at
        digits = self.take(_DIGITS)
        if digits is None:
            return None
        if len(digits) > 9 or not 1 <= int(digits) <= COUNT_MAX:
            raise self.fail(f"a repeat count is 1 to {COUNT_MAX:,}", start)
        return int(digits)

    def action(self, word: str, start: int, method: str, *, first: bool) -> ActionParts:
        if first and word == LATE:
            self.no_arguments(word)
            return ActionParts(WORDS[LATE].name, None, "prose", "cancel")
        if not word:
            raise self.fail(f"expected a fault, found {self.found()}", start)
        if word not in BY_NAME:
            raise self.fail(f"unknown fault '{word}'", start, nearest(word, list(WORDS)))
        if word in ANSWERS and not first:
            raise self.fail(f"'{word}' is an answer, and only one answer can stand in a step, in front", start)
        fault = BY_NAME[word]
        if method not in fault.methods:
            raise self.fail(f"'{word}' cannot answer '{method}:' (it applies to {', '.join(fault.methods)})", start)
        value, style = self.arguments(fault, start)
        return ActionParts(word, value, style, self.when(fault))

    def when(self, fault: Fault) -> When:
        if not self.eat("@"):
            return None
        start = self.at
        if self.text.startswith("cancel", start):
            self.at += len("cancel")
            if fault.timing == "seconds":
                raise self.fail(f"'{fault.name}' takes seconds behind '@'", start)
            at: When = "cancel"
        else:
            at = self.seconds(self.take(_MOMENT) or "", start)
        if fault.timing == "never":
            raise self.fail(f"'{fault.name}' never answers, so it takes no '@'", start)
        return at

    def arguments(self, fault: Fault, start: int) -> tuple[Value, Style]:
        takes = fault.takes
        if self.peek() != "(":
            if takes and takes.required:
                raise self.fail(f"'{fault.name}' needs a value: {fault.name}({takes.kind.upper()})", start)
            return (takes.default if takes else None), "prose"
        self.at += 1
        value: Value = takes.default if takes else None
        style: Style = "prose"
        given = takes is None
        for begin, end in self.pieces(whole=fault.value_kind == "drift"):
            text, begin = self.trimmed(begin, end)
            if text.startswith("style="):
                style = self.style_of(fault, text, begin)
            elif takes is None or given:
                raise self.fail(f"'{fault.name}' takes no such argument: {text!r}", begin)
            else:
                value, given = self.value(fault, text, begin), True
        if takes and takes.required and not given:
            raise self.fail(f"'{fault.name}' needs a value: {fault.name}({takes.kind.upper()})", start)
        return value, style

    def style_of(self, fault: Fault, text: str, begin: int) -> Style:
        if not fault.styled:
            raise self.fail(f"'{fault.name}' has no style", begin)
        word = text.removeprefix("style=")
        if word in STYLES:
            return STYLES[word]
        raise self.fail(f"unknown style '{word}'", begin, nearest(word, list(STYLES)))

    def value(self, fault: Fault, text: str, begin: int) -> Value:
        match fault.takes.kind if fault.takes else "text":
            case "hint":
                return None if text == "none" else self.seconds(text, begin)
            case "seconds":
                return self.seconds(text, begin)
            case "code" | "status" | "count" | "tokens" as kind:
                return self.integer(text, begin, low=-(2**31) if kind in ("code", "status") else 1)
            case "odd":
                if text not in ODD_RESULTS:
                    raise self.fail(f"unknown odd result '{text}'", begin, nearest(text, ODD_RESULTS))
                return text
            case "drift":
                return self.drift(text, begin)
            case _:
                return self.string(text, begin)

    def drift(self, text: str, begin: int) -> Drift:
        try:
            return parse_drift(text)
        except DriftError as error:
            raise self.fail(str(error), begin + error.position) from None

    def string(self, text: str, begin: int) -> str:
        try:
            value = json.loads(text)
            if not isinstance(value, str):
                raise ValueError
            value.encode()
        except (ValueError, RecursionError):
            raise self.fail(f"expected a text in double quotes, found {text[:20]!r}", begin) from None
        return value

    def seconds(self, text: str, begin: int) -> float:
        try:
            if not text or text[0] not in "0123456789." or "_" in text:
                raise ValueError
            value = float(text)
        except ValueError:
            raise self.fail(f"expected seconds, found {text[:20]!r}", begin) from None
        if not math.isfinite(value) or value > SECONDS_MAX:
            raise self.fail(f"more than {SECONDS_MAX:,.0f} seconds", begin)
        return value

    def integer(self, text: str, begin: int, low: int) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
            raise self.fail(f"expected a whole number, found {text[:20]!r}", begin)
        value = int(text)
        if not low <= value <= 2**31:
            raise self.fail(f"{value} is out of range", begin)
        return value

    # -- characters ------------------------------------------------------------------------------------------------

    def word(self) -> str:
        return self.take(_WORD) or ""

    def no_arguments(self, word: str) -> None:
        if self.peek() and self.peek() in "(@":
            raise self.fail(f"'{word}' takes neither arguments nor '@'")

    def trimmed(self, begin: int, end: int) -> tuple[str, int]:
        raw = self.text[begin:end]
        return raw.strip(), begin + len(raw) - len(raw.lstrip())

    def pieces(self, *, whole: bool) -> Iterator[tuple[int, int]]:
        """Spans of the arguments up to the closing parenthesis, split at outer commas unless `whole`."""
        opening, begin, depth = self.at - 1, self.at, 0
        quoted = False
        while char := self.text[self.at : self.at + 1]:
            self.at += 1
            if quoted:
                if char == "\\":
                    self.at += 1
                quoted = char != '"'
            elif char == '"':
                quoted = True
            elif char in "([{":
                depth += 1
            elif depth and char in ")]}":
                depth -= 1
            elif char == ")":
                if self.text[begin : self.at - 1].strip() or begin > opening + 1:
                    yield begin, self.at - 1
                return
            elif char == "," and not depth and not whole:
                yield begin, self.at - 1
                begin = self.at
        raise self.fail("'(' is never closed", opening)
