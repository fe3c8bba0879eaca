"""What the survey of a row brought home: a JSON file a row, the same for the same versions but for the date."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.contract import Contract
from fuzzmcp.report.build import contract_json
from fuzzmcp.report.model import Report
from fuzzmcp.report.phrases import status

VERSION = 1


@dataclass(frozen=True)
class Found:
    """A finding of the search. `case` is everything needed to repeat it, `replay` the command that does."""

    check: str
    faults: str
    calls: tuple[str, ...]
    message: str
    replay: tuple[str, ...]
    fingerprint: str
    deterministic: bool
    case: Mapping[str, Any] = field(hash=False)

    @property
    def name(self) -> str:
        """What its case file is called."""
        return f"{self.check}-{self.fingerprint}"

    @property
    def size(self) -> tuple[int, str]:
        """Smallest first: by the length of script and calls."""
        text = " ".join((self.faults, *self.calls))
        return len(text), text


@dataclass(frozen=True)
class Reaction:
    """What the client did with one script: see `reactions.reaction`."""

    faults: str
    status: str
    error: str = ""
    text: str = ""
    flag: bool | None = None
    answered: bool = False
    seconds: float = 0.0
    requests: int = 0
    lists: int = 0
    cancels: bool = False
    logs: tuple[str, ...] = ()
    endless: bool = False


@dataclass(frozen=True)
class Result:
    """One row, run or not.

    Args:
        row: Name of the row.
        date: Day of the run, as YYYY-MM-DD.
        seed: Of the search.
        runs: Of the search: as asked for, however many it took.
        failure: Why there is nothing else; None where the client ran.
        python: Version of Python, empty where not even that is known.
        packages: Versions of the packages that matter.
        contract: What the client's adapter promises other than the default.
        checks: `held`, `violated` or `not exercised` for each check.
        findings: What was found, in the order of the checks, the smallest script first.
        reactions: What it does for each main fault.
        note: Why the search or the reactions are not complete.
    """

    row: str
    date: str
    seed: int
    runs: int
    failure: str | None = None
    python: str = ""
    packages: Mapping[str, str] = field(default_factory=dict, hash=False)
    contract: Mapping[str, Any] = field(default_factory=dict, hash=False)
    checks: Mapping[str, str] = field(default_factory=dict, hash=False)
    findings: tuple[Found, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    note: str = ""

    def of(self, check: str) -> tuple[Found, ...]:
        """The findings of one check."""
        return tuple(found for found in self.findings if found.check == check)

    def dumps(self) -> str:
        """The result as JSON text."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1, ensure_ascii=False, sort_keys=False) + "\n"


def loads(text: str) -> Result:
    """The result that `Result.dumps` wrote."""
    data = json.loads(text)
    if data.pop("version") != VERSION:
        raise ValueError("written by another version of the survey: run it again")
    data["findings"] = tuple(map(_found, data["findings"]))
    data["reactions"] = tuple(map(reaction_of, data["reactions"]))
    return Result(**data)


def _found(data: Mapping[str, Any]) -> Found:
    return Found(**{**data, "calls": tuple(data["calls"]), "replay": tuple(data["replay"])})


def reaction_of(data: Mapping[str, Any]) -> Reaction:
    """The reaction in a line of `reactions`."""
    return Reaction(**{**data, "logs": tuple(data.get("logs", ()))})


def searched(report: Report) -> dict[str, Any]:
    """What a result keeps of the report of a search."""
    order = list(CHECKS)
    findings = [
        Found(
            check=finding.check,
            faults=finding.faults,
            calls=finding.calls,
            message=finding.message,
            replay=finding.replay,
            fingerprint=finding.fingerprint,
            deterministic=finding.deterministic is not False,
            case=finding.case,
        )
        for finding in report.findings
    ]
    plain = contract_json(Contract())
    return {
        "contract": {name: value for name, value in report.contract.items() if value != plain.get(name)},
        "checks": {name: status(counts) for name, counts in report.checks.items()},
        "findings": tuple(sorted(findings, key=lambda found: (order.index(found.check), found.size))),
        "note": f"the search was cut short after {report.runs:,} runs" if report.interrupted else "",
    }


def stored(folder: Path, names: Sequence[str]) -> dict[str, Result]:
    """The results that there are of these rows, in their order."""
    files = {name: folder / f"{name}.json" for name in names}
    return {name: loads(file.read_text("utf-8")) for name, file in files.items() if file.is_file()}


def store(folder: Path, result: Result) -> None:
    """Keep a result in the place of an earlier one of its row."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{result.row}.tmp"
    unfinished.write_text(result.dumps(), "utf-8")
    unfinished.replace(folder / f"{result.row}.json")
