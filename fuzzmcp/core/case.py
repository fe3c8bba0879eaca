"""A case: everything needed to repeat one run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from fuzzmcp.core.catalogue.tools import Catalogue, Tool, crm, evolved
from fuzzmcp.core.cursor import Cursor
from fuzzmcp.core.drift import canonical_json
from fuzzmcp.core.errors import FuzzmcpError
from fuzzmcp.core.faults import why_inapplicable
from fuzzmcp.core.protocol import BACKENDS, DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION, TRANSPORTS, VERSIONS
from fuzzmcp.core.script import Script
from fuzzmcp.core.spelling import unknown

_NAME = re.compile(r"[A-Za-z0-9_./-]+")
_DECODER = json.JSONDecoder()


class CaseError(FuzzmcpError, ValueError):
    """A case that cannot be run: an unknown tool, version, transport or backend, or a call that cannot be read."""


@dataclass(frozen=True)
class Call:
    """One tool call that the workload asks the client for.

    `at` is the virtual second at which it begins, whatever the others do; None means once the call before has settled.

    >>> Call.parse('get_order(order_id="A1")@0.5')
    Call(tool='get_order', arguments={'order_id': 'A1'}, at=0.5)
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    at: float | None = None

    def __hash__(self) -> int:
        return hash((self.tool, self.at))

    def __str__(self) -> str:
        arguments = ", ".join(f"{_name(name)}={canonical_json(value)}" for name, value in self.arguments.items())
        at = "" if self.at is None else f"@{repr(self.at).removesuffix('.0')}"
        return f"{_name(self.tool)}({arguments}){at}"

    @classmethod
    def parse(cls, text: str) -> Call:
        """Read a call as `str` prints it: a tool name, JSON arguments in parentheses, and `@SECONDS`.

        Raises:
            CaseError: The text is no call; the message says where.
        """
        return _Reader(text).call()


def _name(name: str) -> str:
    return name if _NAME.fullmatch(name) else canonical_json(name)


def output_text(tool: str, value: Any) -> str:
    """A tool's own structured result, as `output_of` reads it.

    >>> output_text("get_order", {"total": 3})
    'get_order={"total":3}'
    """
    return f"{_name(tool)}={canonical_json(value)}"


def output_of(text: str) -> tuple[str, dict[str, Any]]:
    """Read a tool's own structured result: its name, and a JSON object.

    Raises:
        CaseError: The text is none; the message says where.

    >>> output_of('get_order={"total":3}')
    ('get_order', {'total': 3})
    """
    return _Reader(text, "output").output()


class _Reader(Cursor):
    """Reads one call, or one output."""

    space = re.compile(r"\s*")

    def __init__(self, text: str, what: str = "call") -> None:
        super().__init__(text)
        self.what = what

    def fail(self, expected: str) -> CaseError:
        return CaseError(f"{self.what} {self.text!r}, character {self.at + 1}: expected {expected}")

    def output(self) -> tuple[str, dict[str, Any]]:
        tool = self.name("TOOL={JSON}")
        self.mark("=", "'='")
        self.blank()
        start, value = self.at, self.value()
        self.blank()
        if not self.ended:
            raise self.fail("nothing behind the JSON object")
        if not isinstance(value, dict):
            self.at = start
            raise self.fail("a JSON object")
        return tool, value

    def call(self) -> Call:
        tool, arguments = self.name("TOOL(name=JSON, …)"), {}
        self.mark("(", "'('")
        if not self.skip(")"):
            while True:
                name = self.name("name=JSON or ')'")
                self.mark("=", "'='")
                arguments[name] = self.value()
                if self.skip(")"):
                    break
                self.mark(",", "',' or ')'")
        return Call(tool, arguments, _start(self.text, self.text[self.at :].strip()))

    def name(self, expected: str) -> str:
        self.blank()
        if self.peek() == '"':
            return str(self.value())
        bare = self.take(_NAME)
        if bare is None:
            raise self.fail(expected)
        return bare

    def value(self) -> Any:
        self.blank()
        try:
            return self.json(_DECODER, canonical_json)[0]  # neither NaN nor lone surrogates can be sent
        except (ValueError, RecursionError):
            raise self.fail("a JSON value") from None

    def mark(self, mark: str, expected: str) -> None:
        if not self.skip(mark):
            raise self.fail(expected)

    def skip(self, mark: str) -> bool:
        self.blank()
        return self.eat(mark)


def _start(text: str, rest: str) -> float | None:
    if not rest:
        return None
    try:
        value = float(rest.removeprefix("@"))
        if not rest.startswith("@") or not 0 <= value <= 1e9:
            raise ValueError
    except ValueError:
        raise CaseError(f"call {text!r}: expected '@SECONDS' behind it, found {rest!r}") from None
    return value


@dataclass(frozen=True, repr=False)
class Case:
    """Everything needed to repeat one run.

    Args:
        calls: What the workload asks the client for; an agent makes its own calls and ignores them.
        script: What the fake server does.
        tools: The catalogue.
        changed: The catalogue after `list_changed`; None leaves it as it is.
        outputs: Valid structured results, by tool name, that stand in for the sample output.
        protocol: The version that the fake server speaks.
        transport: How `server.connect()` joins client and server: `memory`, or `stdio`, by the SDK's own stdio client
            and a fake process. A client that starts its server itself is over `stdio` in any case.
        backend: `asyncio` or `trio`.
        schedule: Seed of trio's task schedule.

    Raises:
        CaseError: An unknown tool, protocol version, transport or backend.
    """

    calls: tuple[Call, ...] = ()
    script: Script = field(default_factory=Script)
    tools: Catalogue = ()
    changed: Catalogue | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    protocol: str = DEFAULT_VERSION
    transport: str = DEFAULT_TRANSPORT
    backend: str = DEFAULT_BACKEND
    schedule: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tools", self.tools or crm())
        object.__setattr__(self, "calls", self.calls or default_calls(self.tools))
        _one_of("protocol version", self.protocol, VERSIONS)
        _one_of("transport", self.transport, TRANSPORTS)
        _one_of("backend", self.backend, BACKENDS)
        known = [tool.name for tool in self.tools]
        for call in self.calls:
            _one_of("tool", call.tool, known)

    def __repr__(self) -> str:
        """The case as one would write it, without what has its default, and not with the whole catalogue."""
        plain, more = keywords_of(self)
        texts = {name: repr(value) for name, value in plain.items()}
        if "tools" in plain:
            texts["tools"] = f"<{', '.join(tool.name for tool in self.tools)}>"
        words = [repr(str(self.script)), *(f"{name}={value}" for name, value in texts.items())]
        written = f"case_of({', '.join(words)})"
        named = [f"{name}={value!r}" for name, value in more.items()]
        return f"replace({written}, {', '.join(named)})" if named else written

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis prints it: as one would write it."""
        printer.text(repr(self))

    def tool(self, name: str) -> Tool | None:
        """The tool of that name in the first catalogue."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @property
    def inapplicable(self) -> tuple[str, ...]:
        """One sentence for each part of the script that this protocol version or transport cannot carry."""
        return tuple(
            reason
            for step in self.script.steps
            for action in step.actions
            if (reason := why_inapplicable(action.name, step.method, self.protocol, self.transport))
        )


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise CaseError(unknown(what, value, known, f": one of {', '.join(known)}"))


def changed_by(script: Script, tools: Catalogue) -> Catalogue | None:
    """The catalogue after the `list_changed` of a script; None for a script without."""
    return evolved(tools) if script.has("changes") else None


def default_calls(tools: Catalogue, count: int = 1) -> tuple[Call, ...]:
    """The calls of a workload that names none: the first tools of the catalogue with their sample arguments."""
    return tuple(Call(tool.name, tool.sample_arguments) for tool in tools[:count])


_BY_REPLACE = ("outputs", "schedule")
"""Fields that are no keywords of `case_of`."""
_PLAIN_DEFAULTS = {
    each.name: each.default_factory() if each.default_factory is not MISSING else each.default for each in fields(Case)
}


def default_of(case: Case, name: str) -> Any:
    """What a field of a case has unless somebody says otherwise: of calls, that depends on the catalogue."""
    match name:
        case "calls":
            return default_calls(case.tools)
        case "tools":
            return crm()
        case "changed":
            return changed_by(case.script, case.tools)
    return _PLAIN_DEFAULTS[name]


def keywords_of(case: Case, *, without: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The case as plain Python values without defaults: the keywords of `case_of`, and those that `replace` adds.

    The script is the first argument of `case_of`, and the changed catalogue follows from it.

    Args:
        case: The case.
        without: Fields to leave out.

    >>> keywords_of(Case(backend="trio", schedule=3))
    ({'backend': 'trio'}, {'schedule': 3})
    """
    of_case_of: dict[str, Any] = {}
    by_replace: dict[str, Any] = {}
    for name in (each.name for each in fields(Case) if each.name not in ("script", "changed", *without)):
        value = getattr(case, name)
        if value != default_of(case, name):
            (by_replace if name in _BY_REPLACE else of_case_of)[name] = _plain(name, value)
    return of_case_of, by_replace


def _plain(name: str, value: Any) -> Any:
    match name:
        case "calls":
            return [str(call) for call in value]
        case "tools":
            return [dict(tool.definition) for tool in value]
    return value
