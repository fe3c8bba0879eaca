"""What a search is given and what it brings home: budget, progress, result."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzzmcp.search.findings import Finding, Tally


@dataclass(frozen=True)
class Budget:
    """When a search ends.

    Args:
        runs: Real runs; None for no limit.
        seconds: Real seconds; None for no limit.
    """

    runs: int | None = 2_000
    seconds: float | None = None


@dataclass(frozen=True)
class Progress:
    """Where a search is: what a progress display shows."""

    phase: str
    runs: int
    findings: int
    seconds: float
    left: float | None


@dataclass(frozen=True)
class Exposure:
    """When a search first met a violation of a check: after so many cases, real runs and real seconds."""

    cases: int
    runs: int
    seconds: float


@dataclass
class Result:
    """What a search brings home.

    `cases` were swept or drawn; a case that equals an earlier one is answered from memory, and what shrinking tries is
    no case: so `runs`, which were really driven, may be fewer or more. `exposed` says for each violated check when that
    was first seen. `known` are the saved cases that still fail, by their place in the corpus: they are no findings of
    this search. `transport` is how the client turned out to be joined to the server. `interrupted` says that the user
    ended it.
    """

    known: dict[int, Finding] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    exposed: dict[str, Exposure] = field(default_factory=dict)
    cases: int = 0
    runs: int = 0
    seconds: float = 0.0
    moments: tuple[float, ...] = ()
    transport: str = ""
    interrupted: bool = False
    phase: str = ""
