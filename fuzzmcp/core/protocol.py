"""What a script can stand on: protocol versions and their eras, methods, transports, backends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Era = Literal["handshake", "stateless"]

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSIONS = ("2026-07-28",)
VERSIONS = HANDSHAKE_VERSIONS + STATELESS_VERSIONS
DEFAULT_VERSION = "2025-11-25"

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
