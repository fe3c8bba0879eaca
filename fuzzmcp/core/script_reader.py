"""Reads a script: whatever the text, a `Script` or a `ScriptError` comes out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from fuzzmcp.core.drift import Drift, DriftError, parse_drift
from fuzzmcp.core.fault_row import Fault, Value, When
from fuzzmcp.core.faults import ANSWERS, BY_NAME, EXTRAS, LATE, ODD_RESULTS
from fuzzmcp.core.protocol import COUNT_MAX, METHODS, SECONDS_MAX
from fuzzmcp.core.script import FOREVER, OK, TEXT_MAX, Action, Script, ScriptError, Step
from fuzzmcp.core.spelling import nearest

_BREAKS = ",+@*:"


class Reader:
    """Recursive descent over the text; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, message: str, position: int | None = None, suggestion: str | None = None) -> ScriptError:
        return ScriptError(message, self.text, self.at if position is None else position, suggestion)

    def script(self) -> Script:
        if len(self.text) > TEXT_MAX:
            raise self.fail(f"longer than {TEXT_MAX:,} characters", TEXT_MAX)
        self.blank()
        if self.at == len(self.text):
            return Script()
        steps: list[Step] = []
        endless: dict[str, str] = {}
        while True:
            self.blank()
            start = self.at
            step = self.step()
            if step.method in endless:
                raise self.fail(f"'{step}' is never reached behind '{endless[step.method]}'", start)
            if step.count is FOREVER:
                endless[step.method] = str(step)
            steps.append(step)
            self.blank()
            if self.at == len(self.text):
                return Script(tuple(steps))
            if not self.eat(","):
                raise self.fail(f"expected ',' or the end, found {self.found()}")

    def step(self) -> Step:
        start = self.at
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
        head, *extras = actions
        if head.name in EXTRAS:
            head, extras = OK, actions
        return Step(head, tuple(extras), method, self.count())

    def count(self) -> int | None:
        if not self.eat("*"):
            return 1
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        if start == self.at:
            return FOREVER
        digits = self.text[start : self.at]
        if len(digits) > 9 or not 1 <= int(digits) <= COUNT_MAX:
            raise self.fail(f"a repeat count is 1 to {COUNT_MAX:,}", start)
        return int(digits)

    def action(self, word: str, start: int, method: str, *, first: bool) -> Action:
        if first and word == LATE:
            self.no_arguments(word)
            return Action(OK.name, at="cancel")
        if not word:
            raise self.fail(f"expected a fault, found {self.found()}", start)
        if word not in BY_NAME:
            raise self.fail(f"unknown fault '{word}'", start, nearest(word, [*BY_NAME, LATE]))
        if word in ANSWERS and not first:
            raise self.fail(f"'{word}' is an answer, and only one answer can stand in a step, in front", start)
        fault = BY_NAME[word]
        if method not in fault.methods:
            raise self.fail(f"'{word}' cannot answer '{method}:' (it applies to {', '.join(fault.methods)})", start)
        value, style = self.arguments(fault, start)
        return Action(word, value, style, self.when(fault))  # type: ignore[arg-type]

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
            at = self.seconds(self.until(_BREAKS), start)
        if fault.timing == "never":
            raise self.fail(f"'{fault.name}' never answers, so it takes no '@'", start)
        return at

    def arguments(self, fault: Fault, start: int) -> tuple[Value, str]:
        takes = fault.takes
        if self.peek() != "(":
            if takes and takes.required:
                raise self.fail(f"'{fault.name}' needs a value: {fault.name}({takes.kind.upper()})", start)
            return (takes.default if takes else None), "prose"
        self.at += 1
        value: Value = takes.default if takes else None
        style, given = "prose", takes is None
        for begin, end in self.pieces(whole=takes is not None and takes.kind == "drift"):
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

    def style_of(self, fault: Fault, text: str, begin: int) -> str:
        if not fault.styled:
            raise self.fail(f"'{fault.name}' has no style", begin)
        word = text.removeprefix("style=")
        if word not in ("json", "prose"):
            raise self.fail(f"unknown style '{word}'", begin, nearest(word, ["json", "prose"]))
        return word

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

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def found(self) -> str:
        return repr(self.text[self.at : self.at + 12]) if self.at < len(self.text) else "the end"

    def blank(self) -> None:
        while self.peek() and self.peek() in " \t\r\n":
            self.at += 1

    def eat(self, mark: str) -> bool:
        if self.peek() == mark:
            self.at += 1
            return True
        return False

    def until(self, marks: str) -> str:
        """Up to one of `marks` or white space; a `+` or `-` behind an `e` belongs to the number."""
        start = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            exponent = char in "+-" and self.at > start and self.text[self.at - 1] in "eE"
            if (char in marks and not exponent) or char.isspace():
                break
            self.at += 1
        return self.text[start : self.at]

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text) and (self.text[self.at].isalnum() or self.text[self.at] in "_-"):
            self.at += 1
        return self.text[start : self.at]

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
        while self.at < len(self.text):
            char = self.text[self.at]
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
