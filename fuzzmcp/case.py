"""A case: everything needed to repeat one run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzzmcp.drift import canonical_json
from fuzzmcp.faults import DEFAULT_VERSION, VERSIONS, nearest, why_inapplicable
from fuzzmcp.script import Script
from fuzzmcp.tools import Catalogue, Tool, crm

TRANSPORTS = ("memory",)
BACKENDS = ("asyncio", "trio")
_CALL = re.compile(r"\s*([A-Za-z0-9_./-]+)\s*\(")


class CaseError(ValueError):
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
        arguments = ", ".join(f"{name}={canonical_json(value)}" for name, value in self.arguments.items())
        return f"{self.tool}({arguments})" + ("" if self.at is None else f"@{self.at:g}")

    @classmethod
    def parse(cls, text: str) -> Call:
        """Read a call as `str` prints it: a tool name, JSON arguments in parentheses, and `@SECONDS`.

        Raises:
            CaseError: The text is no call; the message says where.
        """
        head = _CALL.match(text)
        if head is None:
            raise CaseError(f"call {text!r}: expected TOOL(name=JSON, …)")
        at, arguments = head.end(), {}
        decoder = json.JSONDecoder()
        while True:
            at = _skip(text, at)
            if text[at : at + 1] == ")":
                break
            name = re.compile(r"([A-Za-z_][\w-]*)\s*=\s*").match(text, at)
            if name is None:
                raise CaseError(f"call {text!r}, character {at + 1}: expected name=JSON or ')'")
            try:
                arguments[name.group(1)], at = decoder.raw_decode(text, name.end())
            except (ValueError, RecursionError):
                raise CaseError(f"call {text!r}, character {name.end() + 1}: expected a JSON value") from None
            at = _skip(text, at)
            if text[at : at + 1] == ",":
                at += 1
        return cls(head.group(1), arguments, _start(text, text[at + 1 :].strip()))


def _skip(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at


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


@dataclass(frozen=True)
class Case:
    """Everything needed to repeat one run.

    Args:
        calls: What the workload asks the client for; an agent makes its own calls and ignores them.
        script: What the fake server does.
        tools: The catalogue.
        changed: The catalogue after `list_changed`; None leaves it as it is.
        outputs: Valid structured results, by tool name, that stand in for the sample output.
        protocol: The version that the fake server speaks.
        transport: How client and server are joined.
        backend: `asyncio` or `trio`.
        schedule: Seed of trio's task schedule.

    Raises:
        CaseError: An unknown tool, protocol version, transport or backend.
    """

    calls: tuple[Call, ...] = ()
    script: Script = field(default_factory=Script)
    tools: Catalogue = ()
    changed: Catalogue | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = DEFAULT_VERSION
    transport: str = "memory"
    backend: str = "asyncio"
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

    def tool(self, name: str) -> Tool | None:
        """The tool of that name in the first catalogue."""
        return next((tool for tool in self.tools if tool.name == name), None)

    @property
    def inapplicable(self) -> tuple[str, ...]:
        """One sentence for each part of the script that this protocol version cannot carry."""
        return tuple(
            reason
            for step in self.script.steps
            for action in step.actions
            if (reason := why_inapplicable(action.name, step.method, self.protocol))
        )


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        guess = nearest(value, list(known))
        hint = f"; did you mean '{guess}'?" if guess else f": one of {', '.join(known)}"
        raise CaseError(f"unknown {what} '{value}'{hint}")


def default_calls(tools: Catalogue, count: int = 1) -> tuple[Call, ...]:
    """The calls of a workload that names none: the first tools of the catalogue with their sample arguments."""
    return tuple(Call(tool.name, tool.sample_arguments) for tool in tools[:count])
