"""What came of a pair: plain data that is kept as JSON, one file a pair, so that a part can be run again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from history.pairs import Pair


@dataclass(frozen=True)
class Search:
    """One search with one seed.

    Args:
        seed: Its seed.
        runs: Runs that it took.
        seconds: Real seconds that it took, also for shrinking.
        exposed: Runs until the check was first violated; None where it never was.
        findings: The findings of the check, each as `SCRIPT | CALLS`.
    """

    seed: int
    runs: int
    seconds: float
    exposed: int | None = None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Half:
    """What one version of the library did.

    Args:
        replayed: What became of the pair's own script: `violated`, `held`, `not exercised`, or nothing where it could
            not be driven.
        searches: One a seed.
        installed: Version of each package that the pair names.
        failure: Why it could not be installed or driven.
    """

    replayed: str = ""
    searches: tuple[Search, ...] = ()
    installed: tuple[str, ...] = ()
    failure: str | None = None

    def found(self, pair: Pair) -> int:
        """How many searches ended in the pair's smallest case."""
        return sum(spelled(pair.script, pair.calls) in search.findings for search in self.searches)


@dataclass(frozen=True)
class Result:
    """What came of a pair, on a day, with a version of fuzzmcp and of Python."""

    pair: str
    date: str
    fuzzmcp: str
    python: str
    affected: Half
    fixed: Half

    def told_apart(self, pair: Pair) -> bool:
        """Found by every seed on the affected version, by none on the fixed one; and the replays say so too.

        A replay on the fixed version may be not exercised: there may be nothing left to judge, as where no error comes
        out any more.
        """
        seeds = [search.seed for search in self.affected.searches]
        same = bool(seeds) and seeds == [search.seed for search in self.fixed.searches]
        replayed = self.affected.replayed == "violated" and self.fixed.replayed in ("held", "not exercised")
        return same and replayed and (self.affected.found(pair), self.fixed.found(pair)) == (len(seeds), 0)


def spelled(script: str, calls: Iterable[str]) -> str:
    """A minimal case in one line.

    >>> spelled("hang", ["a()"])
    'hang | a()'
    """
    return f"{script} | {'; '.join(calls)}"


def store(folder: Path, result: Result) -> None:
    """Keep a result."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n"
    (folder / f"{result.pair}.json").write_text(text, "utf-8")


def stored(folder: Path, names: Iterable[str]) -> dict[str, Result]:
    """The results that are kept of these pairs; one that cannot be read is as if it had never been."""
    found = {}
    for name in names:
        try:
            found[name] = result_of(json.loads((folder / f"{name}.json").read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            continue
    return found


def result_of(data: Any) -> Result:
    """The result that `store` wrote."""
    halves = {name: _half(data[name]) for name in ("affected", "fixed")}
    return Result(**{**data, **halves})


def _half(data: Any) -> Half:
    searches = tuple(Search(**{**search, "findings": tuple(search["findings"])}) for search in data["searches"])
    return Half(**{**data, "searches": searches, "installed": tuple(data["installed"])})
