"""The script: what the fake server does with each request, written on one line. The value of `FAULTS`.

    script = [ step *( "," step ) ]
    step   = [ method ":" ] answer [ "@" when ] *( "+" extra [ "@" when ] ) [ "*" [ count ] ]

Parsing is total: any bad text is a `ScriptError` with position and nearest name. Scripts are canonical by construction:
equal behaviour means equal steps, so `Script.parse(str(s)) == s`, and `str` prints the shortest spelling.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from types import EllipsisType
from typing import Literal

from fuzzmcp.drift import Drift, DriftError, canonical_json, parse_drift, text_of
from fuzzmcp.faults import ANSWERS, BY_NAME, COUNT_MAX, EXTRAS, METHODS, ODD_RESULTS, SECONDS_MAX, Fault, nearest

When = float | Literal["cancel"] | None
Value = float | int | str | Drift | None
FOREVER = None
TEXT_MAX = 100_000
_METHOD_ORDER = {name: i for i, name in enumerate(METHODS)}


class ScriptError(ValueError):
    """A script that cannot be read.

    Attributes:
        text: What was read.
        position: Where reading stopped, in characters from the start.
        suggestion: The nearest known word, or None.
    """

    def __init__(self, message: str, text: str, position: int, suggestion: str | None = None) -> None:
        hint = f"; did you mean '{suggestion}'?" if suggestion else ""
        super().__init__(f"script, character {position + 1}: {message}{hint}")
        self.text, self.position, self.suggestion = text, position, suggestion


@dataclass(frozen=True)
class Action:
    """One fault with what it takes: the answer of a step, or an extra around it.

    `value` is what stands in parentheses, defaults filled in. `style` is `prose` or `json`. `at` is the virtual time
    in seconds after the request, `"cancel"`, or None for the fault's own moment.

    >>> str(Action("429", 5.0)), str(Action("dup", at=3.0))
    ('429(5)', 'dup@3')
    """

    name: str
    value: Value = None
    style: Literal["prose", "json"] = "prose"
    at: When = None

    @property
    def fault(self) -> Fault:
        """The row of the vocabulary that this action plays."""
        return BY_NAME[self.name]

    def __str__(self) -> str:
        return self.spelling + _when(self.at)

    @property
    def spelling(self) -> str:
        """The action without its moment."""
        arguments = [] if self._is_default else [self._value_text]
        if self.style == "json":
            arguments.append("style=json")
        return f"{self.name}({','.join(arguments)})" if arguments else self.name

    @property
    def _is_default(self) -> bool:
        takes = self.fault.takes
        return takes is None or (self.value == takes.default and not takes.required)

    @property
    def _value_text(self) -> str:
        takes = self.fault.takes
        kind = takes.kind if takes else "text"
        if kind == "drift" and isinstance(self.value, tuple):
            return text_of(self.value)
        if kind == "text":
            return canonical_json(self.value)
        if kind == "hint" and self.value is None:
            return "none"
        return _number(self.value) if isinstance(self.value, (int, float)) else str(self.value)


def action(name: str, value: Value | EllipsisType = ..., *, style: str = "prose", at: When = None) -> Action:
    """Build an `Action` as the parser would: `value` left out means the fault's default.

    Raises:
        ValueError: There is no such fault.

    >>> action("429") == Script.parse("429").steps[0].answer
    True
    """
    if name not in BY_NAME:
        raise ValueError(f"unknown fault '{name}'")
    takes = BY_NAME[name].takes
    if isinstance(value, EllipsisType):
        value = takes.default if takes else None
    return Action(name, value, "json" if style == "json" else "prose", at)


OK = Action("ok")


@dataclass(frozen=True)
class Step:
    """What the fake server does with one request of `method`; `count` requests in a row, or for ever when None."""

    answer: Action = OK
    extras: tuple[Action, ...] = ()
    method: str = "call"
    count: int | None = 1

    def __post_init__(self) -> None:
        if self.answer.at == 0 or self.answer.name == "hang":
            object.__setattr__(self, "answer", replace(self.answer, at=None))
        object.__setattr__(self, "extras", tuple(map(_canonical_extra, self.extras)))

    @property
    def plain(self) -> bool:
        """Whether this step is what happens anyway past the end of the script."""
        return self.answer == OK and not self.extras

    @property
    def actions(self) -> tuple[Action, ...]:
        """The answer and the extras, in that order."""
        return (self.answer, *self.extras)

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        head, rest = self.answer, list(map(str, self.extras))
        if head == Action("ok", at="cancel"):
            parts = ["late", *rest]
        elif head == OK and rest:
            parts = rest
        else:
            parts = [str(head), *rest]
        method = "" if self.method == "call" else f"{self.method}:"
        times = "*" if self.count is FOREVER else "" if self.count == 1 else f"*{self.count}"
        return method + "+".join(parts) + times


@dataclass(frozen=True)
class Script:
    """The ordered steps. The i-th request of a method takes the i-th step of that method; past the end all is `ok`.

    >>> script = Script.parse("429, hang, hang, list:rpc(-32603), ok")
    >>> str(script)
    'list:rpc(-32603),429,hang*2'
    >>> Script.parse(str(script)) == script
    True
    """

    steps: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(_canonical(self.steps)))

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return ",".join(map(str, self.steps)) or "ok"

    @classmethod
    @lru_cache(maxsize=1024)
    def parse(cls, text: str) -> Script:
        """Read a script.

        Raises:
            ScriptError: The text is no script; no other exception ever comes out.
        """
        return _Reader(text).script()

    def of(self, method: str) -> tuple[Step, ...]:
        """The steps of one script method, repeats not unrolled."""
        return tuple(step for step in self.steps if step.method == method)

    def step_for(self, method: str, index: int) -> tuple[int | None, Step]:
        """The step of the `index`-th request (from 0) of `method`, and its place in `steps` (None past the end)."""
        for place, step in enumerate(self.steps):
            if step.method != method:
                continue
            if step.count is FOREVER or index < step.count:
                return place, step
            index -= step.count
        return None, Step(method=method)

    def unrolled(self, limit: int = 64) -> tuple[Step, ...]:
        """Single steps: repeats written out, at most `limit` of each step."""
        return tuple(replace(step, count=1) for step in self.steps for _ in range(min(step.count or 1, limit)))


def _canonical_extra(extra: Action) -> Action:
    own_moment = extra.name in ("dup", "progress_after")
    return replace(extra, at=None) if extra.at == 0 and not own_moment else extra


def _canonical(steps: Iterable[Step]) -> Iterator[Step]:
    """Methods in session order, equal neighbours merged, nothing behind a `*`, no plain steps at the end."""
    ordered = sorted(steps, key=lambda step: _METHOD_ORDER[step.method])
    for _, group in groupby(ordered, key=lambda step: step.method):
        merged: list[Step] = []
        for step in group:
            if step.count == 0 or (merged and merged[-1].count is FOREVER):
                continue
            if merged and replace(merged[-1], count=step.count) == step:
                count = None if step.count is None else (merged.pop().count or 0) + step.count
                if step.count is None:
                    merged.pop()
                merged.append(replace(step, count=count))
            else:
                merged.append(step)
        while merged and merged[-1].plain:
            merged.pop()
        for step in merged:
            yield from _countable(step)


def _countable(step: Step) -> Iterator[Step]:
    """The step in as many parts as a script needs to write its count."""
    left = step.count
    while left is not None and left > COUNT_MAX:
        yield replace(step, count=COUNT_MAX)
        left -= COUNT_MAX
    yield replace(step, count=left) if left != step.count else step


def _number(value: float) -> str:
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _when(at: When) -> str:
    return "" if at is None else f"@{at if isinstance(at, str) else _number(at)}"


_BREAKS = ",+@*:"


class _Reader:
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
        if first and word == "late":
            self.no_arguments(word)
            return Action("ok", at="cancel")
        if not word:
            raise self.fail(f"expected a fault, found {self.found()}", start)
        if word not in BY_NAME:
            raise self.fail(f"unknown fault '{word}'", start, nearest(word, [*BY_NAME, "late"]))
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
            if fault.name in ("cancel", "block"):
                raise self.fail(f"'{fault.name}' takes seconds behind '@'", start)
            at: When = "cancel"
        else:
            at = self.seconds(self.until(_BREAKS), start)
        if fault.name == "hang":
            raise self.fail("'hang' never answers, so it takes no '@'", start)
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
            case "code" | "count" | "tokens" as kind:
                return self.integer(text, begin, low=-(2**31) if kind == "code" else 1)
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
