"""What is run: a row for each client, version of the SDK and era of the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from fuzzmcp.clients._table import ADAPTERS, Adapter
from fuzzmcp.core.case import TRANSPORTS
from fuzzmcp.core.protocol import DEFAULT_VERSION, STATELESS_VERSIONS
from fuzzmcp.core.spelling import unknown


@dataclass(frozen=True)
class Environment:
    """A virtual environment for frameworks that can live together.

    Args:
        name: What its folder is called after.
        sdk: The versions of `mcp` that it may have.
    """

    name: str
    sdk: str

    @property
    def folder(self) -> str:
        """The virtual environment, below the root of the repository."""
        return f".venv-clients-{self.name}"

    @property
    def pin(self) -> str:
        """What pip is told of the SDK."""
        return f"mcp{self.sdk}"


MCP2 = Environment("mcp2", ">=2,<3")
MCP1 = Environment("mcp1", ">=1.24,<2")
ADK = Environment("adk", ">=1.24,<3")
STRANDS = Environment("strands", ">=1.24,<2.2")
ENVIRONMENTS = (MCP2, MCP1, ADK, STRANDS)
"""Beside the others, google-adk falls back to a release of last year, and strands takes the SDK of everybody down."""
APART = {"google_adk": ADK, "strands": STRANDS}
BOTH_MAJORS = ("sdk_session", "fastmcp", "pydantic_ai")
"""Clients whose users are on either major of the SDK; others that could be run with both have a row for the newer."""
BOTH_ERAS = ("sdk_client", "fastmcp")
"""Clients that speak 2026-07-28 by themselves where the server does; they have a row for each era."""
ALL_TRANSPORTS = ("sdk_session",)
"""Clients with a row for each transport, so that it is under test too; the others are run over the one they are for."""


@dataclass(frozen=True)
class Row:
    """One client in one environment, over one protocol version and transport.

    Args:
        name: What it is called on the command line, and its files after.
        adapter: The client.
        environment: Where it runs.
        protocol: The version that the fake server speaks.
        transport: How `server.connect()` joins client and server.
    """

    name: str
    adapter: Adapter
    environment: Environment
    protocol: str = DEFAULT_VERSION
    transport: str = "memory"

    @property
    def options(self) -> tuple[str, ...]:
        """What the command line is told beside the client."""
        protocol = () if self.protocol == DEFAULT_VERSION else ("--protocol", self.protocol)
        return (*protocol, *(() if self.transport == "memory" else ("--transport", self.transport)))


class UnknownClient(ValueError):
    """There is no such client."""


def rows_of(adapters: Iterable[Adapter] = ADAPTERS) -> tuple[Row, ...]:
    """The rows of these adapters, in their order, the newer SDK first."""
    return tuple(row for adapter in adapters for row in _rows_of(adapter))


def _rows_of(adapter: Adapter) -> Iterator[Row]:
    places = environments_of(adapter)
    for place in places:
        name = adapter.module if len(places) == 1 else f"{adapter.module}-{place.name}"
        yield Row(name, adapter, place)
        if adapter.module in BOTH_ERAS and place is MCP2:
            yield Row(f"{name}-stateless", adapter, place, STATELESS_VERSIONS[-1])
        if adapter.module in ALL_TRANSPORTS:
            yield from (Row(f"{name}-{other}", adapter, place, transport=other) for other in TRANSPORTS[1:])


def environments_of(adapter: Adapter) -> tuple[Environment, ...]:
    """Where a client is run.

    >>> [place.name for place in environments_of(Adapter("other", "A new one", ("other>=1",), sdk="<2"))]
    ['mcp1']
    """
    if adapter.module in APART:
        return (APART[adapter.module],)
    able = tuple(place for place, release in ((MCP2, "2.999"), (MCP1, "1.999")) if release in SpecifierSet(adapter.sdk))
    return able if adapter.module in BOTH_MAJORS else able[:1]


def chosen(names: Iterable[str], rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows that these names mean: a client with all its rows, or one row. All rows for no names.

    Raises:
        UnknownClient: A name means none; the message has the nearest.
    """
    names = tuple(names)
    known = tuple(dict.fromkeys(name for row in rows for name in (row.adapter.module, row.name)))
    for name in names:
        if name not in known:
            raise UnknownClient(unknown("client", name, known, f": expected {', '.join(known)}"))
    return tuple(row for row in rows if not names or row.name in names or row.adapter.module in names)
