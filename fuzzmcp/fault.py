"""What a fault is, and what it can stand on: protocol versions, eras, methods of the script, transports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Era = Literal["handshake", "stateless"]
Role = Literal["answer", "extra"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
VERSIONS = HANDSHAKE_VERSIONS + STATELESS_VERSIONS
DEFAULT_VERSION = "2025-11-25"

TRANSPORTS = ("memory", "stdio")
"""How client and server can be joined: by streams of messages, or by the pipes of a process, which carry bytes."""

METHODS = {
    "init": "initialize",
    "discover": "server/discover",
    "list": "tools/list",
    "call": "tools/call",
    "listen": "subscriptions/listen",
}
"""Script name of each method that a step can answer, in the order in which a session meets them."""

ODD_RESULTS = ("many_blocks", "no_text", "links", "extra", "empty_strings", "big_integers", "unicode")
"""Names that `odd(…)` takes; the first is what a bare `odd` means."""

SECONDS_MAX = 1e9
COUNT_MAX = 10_000


def era_of(version: str) -> Era:
    """The era of a protocol version: the handshake (until 2025-11-25) or the stateless wire (from 2026-07-28).

    >>> era_of("2025-11-25"), era_of("2026-07-28")
    ('handshake', 'stateless')
    """
    return "stateless" if version in STATELESS_VERSIONS else "handshake"


@dataclass(frozen=True)
class Parameter:
    """What a fault takes in parentheses.

    `kind` is the grammar of the value: `seconds`, `hint` (seconds or `none`), `text` (a JSON string), `code` and
    `status` (integers: of JSON-RPC, of a process), `count`, `tokens`, `odd` (one of `ODD_RESULTS`) or `drift` (edits).
    `default` is what the bare name means; `required` faults have no bare form.
    """

    kind: Literal["seconds", "hint", "text", "code", "status", "count", "tokens", "odd", "drift"]
    default: float | int | str | None = None
    required: bool = False


@dataclass(frozen=True)
class Fault:
    """One kind of server misbehaviour, as `fuzzmcp faults NAME` explains it.

    `methods` names the script methods whose requests it can answer, `versions` the protocol versions that can carry
    it, `transports` the ways of joining client and server that can. `traits` is what checks read: `valid`,
    `execution_error`, `protocol_error`, `transient`, `silent` (nothing that settles the request ever comes),
    `ambiguous` (the tool may have run), `broken` (the frame itself is invalid), `closes`.
    """

    name: str
    role: Role
    summary: str
    detail: str
    takes: Parameter | None = None
    styled: bool = False
    methods: tuple[str, ...] = ("call",)
    versions: tuple[str, ...] = VERSIONS
    transports: tuple[str, ...] = TRANSPORTS
    traits: frozenset[str] = field(default_factory=frozenset)
