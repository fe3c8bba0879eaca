"""The script: what the fake server does with each request, written on one line. The value of `FAULTS`.

    script = [ step *( "," step ) ]
    step   = [ method ":" ] answer [ "@" when ] *( "+" extra [ "@" when ] ) [ "*" [ count ] ]

Parsing is total: any bad text is a `ScriptError` with position and nearest name. Scripts are canonical by construction:
equal behaviour means equal steps, so `Script.parse(str(s)) == s`, and `str` prints the shortest spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby, starmap
from types import EllipsisType

from fuzzmcp.core.drift import canonical_json, text_of
from fuzzmcp.core.errors import ScriptError
from fuzzmcp.core.fault_row import Fault, Style, Value, Way, When
from fuzzmcp.core.faults import BY_NAME, LATE
from fuzzmcp.core.protocol import COUNT_MAX, METHODS
from fuzzmcp.core.script_reader import Reader

FOREVER = None
_METHOD_ORDER = {name: i for i, name in enumerate(METHODS)}


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
    style: Style = "prose"
    at: When = None

    @property
    def fault(self) -> Fault:
        """The row of the vocabulary that this action plays."""
        return BY_NAME[self.name]

    @property
    def kind(self) -> str:
        """The name that reports count it under: that of its fault, or `late`."""
        return LATE if self == _LATE_OK else self.name

    @property
    def hint(self) -> float | None:
        """The seconds of the retry-after that it sends, None without one.

        >>> Action("429", 2.0).hint, Action("429").hint, Action("huge", 9).hint
        (2.0, None, None)
        """
        hinted = self.fault.value_kind == "hint" and isinstance(self.value, (int, float))
        return float(self.value) if hinted else None  # type: ignore[arg-type]

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
_LATE_OK = Action("ok", at="cancel")


def _canonical_extra(extra: Action) -> Action:
    if extra.fault.role != "extra":
        raise ValueError(f"'{extra}' is an answer, no extra")
    return replace(extra, at=None) if extra.at == 0 and extra.fault.place != "behind" else extra


@dataclass(frozen=True)
class Step:
    """What the fake server does with one request of `method`; `count` requests in a row, or for ever when None.

    Raises:
        ValueError: An answer stands among the extras, where it would be spelled like the answer and do nothing, or an
            extra in place of the answer.
    """

    answer: Action = OK
    extras: tuple[Action, ...] = ()
    method: str = "call"
    count: int | None = 1

    def __post_init__(self) -> None:
        if self.answer.fault.role != "answer":
            raise ValueError(f"'{self.answer}' is an extra, no answer")
        if self.answer.at == 0 or (self.answer.at is not None and self.answer.fault.timing == "never"):
            object.__setattr__(self, "answer", replace(self.answer, at=None))
        object.__setattr__(self, "extras", tuple(map(_canonical_extra, self.extras)))

    @cached_property
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
        if head == _LATE_OK:
            parts = [LATE, *rest]
        elif head == OK and rest:
            parts = rest
        else:
            parts = [str(head), *rest]
        method = "" if self.method == "call" else f"{self.method}:"
        times = "*" if self.count is FOREVER else "" if self.count == 1 else f"*{self.count}"
        return method + "+".join(parts) + times


PLAIN = {method: Step(method=method) for method in METHODS}
"""What every request meets that no script speaks of."""


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
        return ",".join(map(str, self.steps)) or str(OK)

    @classmethod
    @lru_cache(maxsize=1024)
    def parse(cls, text: str) -> Script:
        """Read a script.

        Raises:
            ScriptError: The text is no script; no other exception ever comes out.
        """
        steps: list[Step] = []
        endless: dict[str, Step] = {}
        for start, method, parts, count in Reader(text).steps():
            step = _step(starmap(Action, parts), method, count)
            if method in endless:
                raise ScriptError(f"'{step}' is never reached behind '{endless[method]}'", text, start)
            if count is FOREVER:
                endless[method] = step
            steps.append(step)
        return cls(tuple(steps))

    def has(self, way: Way) -> bool:
        """Whether some part of it is played in this way.

        >>> Script.parse("hang,ok+list_changed").has("changes")
        True
        """
        return any(way in action.fault.ways for step in self.steps for action in step.actions)

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
        return None, PLAIN[method]

    def unrolled(self, limit: int = 64) -> tuple[Step, ...]:
        """Single steps: repeats written out, at most `limit` of each step."""
        return tuple(replace(step, count=1) for step in self.steps for _ in range(min(step.count or 1, limit)))


def _step(actions: Iterable[Action], method: str, count: int | None) -> Step:
    """The step that is written as these actions: one of extras alone has the answer `ok`."""
    head, *extras = actions
    if head.fault.role == "extra":
        return Step(OK, (head, *extras), method, count)
    return Step(head, tuple(extras), method, count)


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
