"""What a script can stand on: protocol versions and their eras, methods, transports, backends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

Era = Literal["handshake", "stateless"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
VERSIONS = HANDSHAKE_VERSIONS + STATELESS_VERSIONS
DEFAULT_VERSION = "2025-11-25"
STRUCTURED_VERSIONS = VERSIONS[2:]
"""Versions whose tools have an outputSchema and results with structured content: from 2025-06-18."""
ELICITATION_VERSIONS = ("2025-06-18", "2025-11-25")
"""Versions in which a server may ask the user: not before, and by no request of its own in the stateless era."""
_TOOL_FIELDS = {"annotations": VERSIONS[1:], "outputSchema": STRUCTURED_VERSIONS, "title": STRUCTURED_VERSIONS}

Offer = Literal["bytes", "process"]
"""What a fault may need of a transport: bytes that can be broken, where others carry whole messages; a process that can
exit."""

MEMORY, STDIO = "memory", "stdio"


@dataclass(frozen=True)
class Transport:
    """A way in which `server.connect()` joins client and server; `summary` says in help texts how."""

    name: str
    summary: str
    offers: tuple[Offer, ...] = ()


TRANSPORT_TABLE = {
    transport.name: transport
    for transport in (
        Transport(MEMORY, "by streams of messages"),
        Transport(
            STDIO,
            "by the SDK's own stdio client with a fake process behind it (a client that starts its server itself is "
            "over it anyway)",
            offers=("bytes", "process"),
        ),
    )
}
"""One row for each transport; how it joins them is in `fuzzmcp.harness.transports.server.CONNECT`."""
TRANSPORTS = tuple(TRANSPORT_TABLE)
DEFAULT_TRANSPORT = MEMORY
HOW_JOINED = ", or ".join(f"{transport.name}, {transport.summary}" for transport in TRANSPORT_TABLE.values())

BACKENDS = ("asyncio", "trio")
"""The event loops that a client can run on."""
DEFAULT_BACKEND = BACKENDS[0]
SHUFFLED_BACKENDS = ("trio",)
"""Those that draw the order of tasks: a case has the seed of it, its `schedule`."""

BACKENDS = ("asyncio", "trio")
"""The event loops that a client can run on."""

METHODS = {
    "init": "initialize",
    "discover": "server/discover",
    "list": "tools/list",
    "call": "tools/call",
    "listen": "subscriptions/listen",
}
"""Script name of each method that a step can answer, in the order in which a session meets them."""

SECONDS_MAX = 1e9
COUNT_MAX = 10_000
TEXT_MAX = 100_000
"""Characters of a script."""


def era_of(version: str) -> Era:
    """The era of a protocol version: the handshake (until 2025-11-25) or the stateless wire (from 2026-07-28).

    >>> era_of("2025-11-25"), era_of("2026-07-28")
    ('handshake', 'stateless')
    """
    return "stateless" if version in STATELESS_VERSIONS else "handshake"


def transports_with(offer: Offer) -> tuple[str, ...]:
    """The names of the transports that have what a fault needs.

    >>> transports_with("bytes")
    ('stdio',)
    """
    return tuple(name for name, transport in TRANSPORT_TABLE.items() if offer in transport.offers)


def has_structured_content(version: str) -> bool:
    """Whether tools of that version have an outputSchema, and results structured content.

    >>> has_structured_content("2025-03-26"), has_structured_content("2025-06-18")
    (False, True)
    """
    return version in STRUCTURED_VERSIONS


def has_resource_links(version: str) -> bool:
    """Whether a result of that version may link to a resource; before, it can only embed one."""
    return version in STRUCTURED_VERSIONS


@cache
def unknown_tool_fields(version: str) -> frozenset[str]:
    """What `tools/list` of that version must not say of a tool.

    >>> sorted(unknown_tool_fields("2025-03-26")), sorted(unknown_tool_fields("2025-06-18"))
    (['outputSchema', 'title'], [])
    """
    return frozenset(name for name, versions in _TOOL_FIELDS.items() if version not in versions)
