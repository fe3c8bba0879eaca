"""What a script can stand on: protocol versions and their eras, methods, transports, backends."""

from __future__ import annotations

from typing import Literal

Era = Literal["handshake", "stateless"]

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

SECONDS_MAX = 1e9
COUNT_MAX = 10_000


def era_of(version: str) -> Era:
    """The era of a protocol version: the handshake (until 2025-11-25) or the stateless wire (from 2026-07-28).

    >>> era_of("2025-11-25"), era_of("2026-07-28")
    ('handshake', 'stateless')
    """
    return "stateless" if version in STATELESS_VERSIONS else "handshake"
