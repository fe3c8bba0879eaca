"""The saved report: frozen data, and the same JSON for the same seed but for the seconds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fuzzmcp.case import Case, default_calls
from fuzzmcp.checks import CHECKS, Violation
from fuzzmcp.contract import Contract
from fuzzmcp.faults import DEFAULT_VERSION
from fuzzmcp.report.text import one_line
from fuzzmcp.report.timeline import Moment, timeline
from fuzzmcp.search.findings import Finding
from fuzzmcp.search.result import Result
from fuzzmcp.tools import crm
from fuzzmcp.trace import Run

VERSION = 1
"""Version of the format: it changes when a key changes its meaning or goes away; keys may be added."""


@dataclass(frozen=True)
class Subject:
    """What was tested, and how.

    Args:
        client: The client as it was named on the command line.
        role: `client` or `agent`.
        mcp: Version of the SDK.
        catalogue: What to call the catalogue in the header.
        options: Options that `fuzzmcp replay` needs beside client and script, because the case does not tell them.
    """

    client: str
    role: Literal["client", "agent"] = "client"
    mcp: str = ""
    catalogue: str = "crm"
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class SavedFinding:
    """A violated check with everything that a reader needs to understand and repeat it.

    `minimal` and `deterministic` are None for a single replay, where nobody tried. `replay` is the command that shows
    the violation again, one word an element.
    """

    check: str
    faults: str
    calls: tuple[str, ...]
    message: str
    requests: tuple[Moment, ...]
    case: Mapping[str, Any]
    replay: tuple[str, ...]
    fingerprint: str = ""
    minimal: bool | None = None
    deterministic: bool | None = None

    @property
    def name(self) -> str:
        """`check-fingerprint`, or the check alone where there is none."""
        return f"{self.check}-{self.fingerprint}" if self.fingerprint else self.check

    @property
    def command(self) -> str:
        """The replay command, quoted for a shell."""
        return shlex.join(self.replay)

    def as_json(self) -> dict[str, Any]:
        """The finding as the report saves it."""
        return {
            "check": self.check,
            "faults": self.faults,
            "calls": list(self.calls),
            "minimal": self.minimal,
            "deterministic": self.deterministic,
            "fingerprint": self.fingerprint,
            "message": self.message,
            "replay": self.command,
            "case": dict(self.case),
            "requests": [moment.as_json() for moment in self.requests],
        }


@dataclass(frozen=True)
class Report:
    """One search as a reader sees it; `as_json` is what `--report json=FILE` writes."""

    subject: Subject
    seed: int
    runs: int
    seconds: float
    virtual_seconds: float
    protocol: str
    transport: str
    backend: str
    tool_count: int
    contract: Mapping[str, Any]
    findings: tuple[SavedFinding, ...]
    checks: Mapping[str, Mapping[str, int]]
    faults: Mapping[str, Mapping[str, Any]]
    undelivered: Mapping[str, int] = field(default_factory=dict)
    moments: tuple[float, ...] = ()
    interrupted: bool = False
    phase: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data: no wall time but `seconds`, no path and no address of the machine it ran on."""
        return {
            "version": VERSION,
            "client": self.subject.client,
            "role": self.subject.role,
            "mcp": self.subject.mcp,
            "catalogue": self.subject.catalogue,
            "protocol": self.protocol,
            "transport": self.transport,
            "backend": self.backend,
            "contract": dict(self.contract),
            "seed": self.seed,
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "virtual_seconds": self.virtual_seconds,
            "interrupted": self.interrupted,
            "moments": list(self.moments),
            "findings": [finding.as_json() for finding in self.findings],
            "checks": {name: dict(counts) for name, counts in self.checks.items()},
            "faults": {name: dict(counts) for name, counts in self.faults.items()},
            "undelivered": dict(self.undelivered),
        }

    def dumps(self) -> str:
        """The report as JSON text, in ASCII, so that any pipe can carry it."""
        return json.dumps(self.as_json(), indent=2) + "\n"


def report_of(subject: Subject, seed: int, result: Result, contract: Contract, base: Case) -> Report:
    """Freeze what a search brought home.

    Args:
        subject: What was tested.
        seed: The seed of the search.
        result: What it found.
        contract: What the client promises.
        base: The case that the search started from.
    """
    checks, faults = result.tally.as_json()
    return Report(
        subject=subject,
        seed=seed,
        runs=result.runs,
        seconds=result.seconds,
        virtual_seconds=round(result.tally.virtual_seconds, 3),
        protocol=base.protocol,
        transport=base.transport,
        backend=base.backend,
        tool_count=len(base.tools),
        contract=contract_json(contract),
        findings=tuple(saved(subject, finding) for finding in result.findings),
        checks={name: checks[name] for name in CHECKS if name in checks},
        faults=faults,
        undelivered={one_line(reason): count for reason, count in sorted(result.tally.undelivered.items())},
        moments=result.moments,
        interrupted=result.interrupted,
        phase=result.phase,
    )


def saved(subject: Subject, finding: Finding) -> SavedFinding:
    """A finding of a search as data."""
    return _saved(
        subject,
        finding.check,
        finding.run,
        finding.violation,
        fingerprint=finding.fingerprint,
        minimal=finding.minimal,
        deterministic=finding.deterministic,
    )


def violated(subject: Subject, run: Run, violations: Mapping[str, Violation]) -> tuple[SavedFinding, ...]:
    """The violations of one replayed run as data."""
    return tuple(_saved(subject, check, run, violation) for check, violation in violations.items())


def _saved(subject: Subject, check: str, run: Run, violation: Violation, **more: Any) -> SavedFinding:
    return SavedFinding(
        check=check,
        faults=str(run.case.script),
        calls=() if subject.role == "agent" else tuple(map(str, run.case.calls)),
        message=one_line(violation.message, 300),
        requests=timeline(run, violation.evidence),
        case=case_json(run.case, subject.role),
        replay=replay_of(subject, run.case),
        **more,
    )


def case_json(case: Case, role: str = "client") -> dict[str, Any]:
    """Everything that is needed to repeat a case; what has its default, or is never used, is left out.

    >>> from fuzzmcp.api import case_of
    >>> case_json(case_of("hang"))["calls"]
    [{'tool': 'get_order', 'arguments': {'order_id': 'A1'}}]
    """
    data: dict[str, Any] = {
        "faults": str(case.script),
        "protocol": case.protocol,
        "transport": case.transport,
        "backend": case.backend,
    }
    if role == "client":
        data["calls"] = [
            {"tool": call.tool, "arguments": dict(call.arguments)} | ({} if call.at is None else {"at": call.at})
            for call in case.calls
        ]
    if case.schedule:
        data["schedule"] = case.schedule
    if case.outputs:
        data["outputs"] = dict(sorted(case.outputs.items()))
    if case.tools != crm():
        data["tools"] = [dict(tool.definition) for tool in case.tools]
    return data


def replay_of(subject: Subject, case: Case) -> tuple[str, ...]:
    """The words of the command that drives this case again: only options that differ from their defaults."""
    words = ["fuzzmcp", "replay", subject.client, str(case.script)]
    if subject.role == "client" and case.calls != default_calls(case.tools):
        words += [word for call in case.calls for word in ("--call", str(call))]
    if case.protocol != DEFAULT_VERSION:
        words += ["--protocol", case.protocol]
    if case.backend != "asyncio":
        words += ["--backend", case.backend]
    if case.schedule:
        words += ["--schedule", str(case.schedule)]
    return (*words, *subject.options)


def contract_json(contract: Contract) -> dict[str, Any]:
    """A contract as data: exception types by their names."""
    data = asdict(contract)
    accepts: Sequence[Any] | None = contract.accepts
    data["accepts"] = None if accepts is None else sorted(a if isinstance(a, str) else a.__name__ for a in accepts)
    return data
