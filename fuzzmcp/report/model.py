"""The saved report: frozen data, and the same JSON for the same seed but for the seconds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from fuzzmcp.checks import CHECKS, Violation
from fuzzmcp.core.case import Case, default_calls, output_text
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.package import version
from fuzzmcp.core.protocol import DEFAULT_VERSION
from fuzzmcp.core.redact import redacted_case, redacted_text
from fuzzmcp.core.trace import Run
from fuzzmcp.report.escape import one_line
from fuzzmcp.report.timeline import Moment, timeline
from fuzzmcp.search.findings import Finding
from fuzzmcp.search.result import Result

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
        options: Options that `fuzzmcp replay` needs beside client and script, as the case does not tell them: names
            and values in turn.
        calls_configured: The configuration names calls, so that a replay has to spell even the plainest.
    """

    client: str
    role: Literal["client", "agent"] = "client"
    mcp: str = ""
    catalogue: str = "crm"
    options: tuple[str, ...] = ()
    calls_configured: bool = False


@dataclass(frozen=True)
class SavedFinding:
    """A violated check with everything that a reader needs to understand and repeat it.

    `minimal` and `deterministic` are None for a single replay, where nobody tried. `replay` is the command that shows
    the violation again, one word an element. `known` says that the finding belongs to the baseline; `saved` is the
    relative path of the case file that keeps it.
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
    known: bool = False
    saved: str | None = None

    @property
    def name(self) -> str:
        """`check-fingerprint`, or the check alone where there is none."""
        return f"{self.check}-{self.fingerprint}" if self.fingerprint else self.check

    @property
    def command(self) -> str:
        """The replay command, quoted for a shell."""
        return shlex.join(self.replay)

    def as_json(self) -> dict[str, Any]:
        """The finding as the report saves it; `known` and `saved` only where they say something."""
        return {
            "check": self.check,
            "faults": self.faults,
            "calls": list(self.calls),
            "minimal": self.minimal,
            "deterministic": self.deterministic,
            "fingerprint": self.fingerprint,
            "message": self.message,
            "replay": self.command,
            **({"known": True} if self.known else {}),
            **({} if self.saved is None else {"saved": self.saved}),
            "case": dict(self.case),
            "requests": [moment.as_json() for moment in self.requests],
        }


@dataclass(frozen=True)
class Report:
    """One search as a reader sees it; `as_json` is what `--report json=FILE` writes.

    `exposed` says for each violated check after how many runs that was first seen.
    `stale` names the saved cases that no longer fail. `fuzzmcp` is the version that made the report. `tools` are those
    of the cases that say `"tools_of": "report"`: there are such only where every case had repeated a large catalogue.
    """

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
    exposed: Mapping[str, int] = field(default_factory=dict)
    stale: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    fuzzmcp: str = field(default_factory=version)

    def as_json(self) -> dict[str, Any]:
        """Plain data: no wall time but `seconds`, no path and no address of the machine it ran on."""
        return {
            "version": VERSION,
            "fuzzmcp": self.fuzzmcp,
            "client": self.subject.client,
            "role": self.subject.role,
            "mcp": self.subject.mcp,
            "catalogue": self.subject.catalogue,
            "tool_count": self.tool_count,
            "protocol": self.protocol,
            "transport": self.transport,
            "backend": self.backend,
            "contract": dict(self.contract),
            "seed": self.seed,
            "runs": self.runs,
            "seconds": self.seconds,
            "virtual_seconds": self.virtual_seconds,
            "interrupted": self.interrupted,
            "phase": self.phase,
            "moments": list(self.moments),
            "findings": [finding.as_json() for finding in self.findings],
            "checks": {name: dict(counts) for name, counts in self.checks.items()},
            "faults": {name: dict(counts) for name, counts in self.faults.items()},
            "undelivered": dict(self.undelivered),
            **({"exposed": dict(self.exposed)} if self.exposed else {}),
            **({"stale": list(self.stale)} if self.stale else {}),
            **({"tools": [dict(tool) for tool in self.tools]} if self.tools else {}),
        }

    def dumps(self) -> str:
        """The report as JSON text, one moment a line; in ASCII, so that any pipe can carry it."""
        return "".join(_pretty(self.as_json())) + "\n"

    @classmethod
    def from_json(cls, data: Any) -> Report:
        """The report that `as_json` described; `fuzzmcp.report.load` says what is wrong with what is none.

        Raises:
            ReportError: The data is no report, or one of a newer version.
        """
        from fuzzmcp.report.load import from_json

        return from_json(data)


def _pretty(value: Any, margin: str = "\n", key: str = "") -> Iterator[str]:
    """Indented JSON, in pieces. Timelines are most of a report: indented as well, they would be twice as long."""
    inner = margin + "  "
    if isinstance(value, dict) and value:
        for place, (name, member) in enumerate(value.items()):
            yield f"{',' if place else '{'}{inner}{json.dumps(name)}: "
            yield from _pretty(member, inner, name)
        yield margin + "}"
    elif isinstance(value, list) and value:
        for place, member in enumerate(value):
            yield f"{',' if place else '['}{inner}"
            yield from (json.dumps(member),) if key == "requests" else _pretty(member, inner)
        yield margin + "]"
    else:
        yield json.dumps(value)


def report_of(
    subject: Subject,
    seed: int,
    result: Result,
    contract: Contract,
    base: Case,
    *,
    files: Mapping[str, str] | None = None,
    known: Sequence[SavedFinding] = (),
    stale: Sequence[str] = (),
) -> Report:
    """Freeze what a search brought home, at a size that can be kept.

    Args:
        subject: What was tested.
        seed: The seed of the search.
        result: What it found.
        contract: What the client promises.
        base: The case that the search started from.
        files: The case file of each finding that is saved, by the finding's name.
        known: Saved findings that failed again: they come before the new ones.
        stale: Names of saved cases that fail no more.
    """
    from fuzzmcp.report.size_limit import fitted

    checks, faults = result.tally.as_json()
    report = Report(
        subject=subject,
        seed=seed,
        runs=result.runs,
        seconds=round(result.seconds, 3),  # once: the saved report shows what was shown at first
        virtual_seconds=round(result.tally.virtual_seconds, 3),
        protocol=base.protocol,
        transport=result.transport or base.transport,
        backend=base.backend,
        tool_count=len(base.tools),
        contract=contract_json(contract),
        findings=(*known, *(saved(subject, finding, (files or {}).get(finding.name)) for finding in result.findings)),
        checks={name: checks[name] for name in CHECKS if name in checks},
        faults=faults,
        undelivered={_told(reason): count for reason, count in sorted(result.tally.undelivered.items())},
        moments=result.moments,
        interrupted=result.interrupted,
        phase=result.phase,
        exposed={name: result.exposed[name].runs for name in CHECKS if name in result.exposed},
        stale=tuple(stale),
    )
    return fitted(report)


def saved(subject: Subject, finding: Finding, file: str | None = None, *, known: bool = False) -> SavedFinding:
    """A finding of a search as data.

    Args:
        subject: What was tested.
        finding: The finding.
        file: The case file that keeps it.
        known: It belongs to the baseline.
    """
    found = _saved(
        subject,
        finding.check,
        finding.run,
        finding.violation,
        fingerprint=finding.fingerprint,
        minimal=finding.minimal,
        deterministic=finding.deterministic,
        known=known,
        saved=file,
    )
    if file is None:
        return found
    return replace(found, replay=("fuzzmcp", "replay", subject.client, file, *_beside_a_file(subject.options)))


def _beside_a_file(options: Sequence[str]) -> Iterator[str]:
    """The options of a replay without those that a case file tells itself."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return (
        word
        for name, value in pairs
        if name not in ("--protocol", "--transport", "--backend")
        for word in (name, value)
    )


def violated(subject: Subject, run: Run, violations: Mapping[str, Violation]) -> tuple[SavedFinding, ...]:
    """The violations of one replayed run as data."""
    return tuple(_saved(subject, check, run, violation) for check, violation in violations.items())


def _saved(subject: Subject, check: str, run: Run, violation: Violation, **more: Any) -> SavedFinding:
    case = redacted_case(run.case)
    return SavedFinding(
        check=check,
        faults=str(case.script),
        calls=() if subject.role == "agent" else tuple(map(str, case.calls)),
        message=_told(violation.message, 300),
        requests=timeline(run, violation.evidence),
        case=case_json(case, subject.role),
        replay=replay_of(subject, case),
        **more,
    )


def _told(text: str, limit: int = 200) -> str:
    """What is said in one line, without secrets."""
    return one_line(redacted_text(text), limit)


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
    """The words of the command that drives this case again: only options that differ from their defaults.

    Everything of the case is in it but for its catalogue, which the subject's options name, and what follows from the
    script, as the changed catalogue does.
    """
    words = ["fuzzmcp", "replay", subject.client, str(case.script)]
    if subject.role == "client" and (subject.calls_configured or case.calls != default_calls(case.tools)):
        words += [word for call in case.calls for word in ("--call", str(call))]
    if case.protocol != DEFAULT_VERSION:
        words += ["--protocol", case.protocol]
    if case.transport != "memory":
        words += ["--transport", case.transport]
    if case.backend != "asyncio":
        words += ["--backend", case.backend]
    if case.schedule:
        words += ["--schedule", str(case.schedule)]
    words += [word for tool, value in sorted(case.outputs.items()) for word in ("--output", output_text(tool, value))]
    return (*words, *subject.options)


def contract_json(contract: Contract) -> dict[str, Any]:
    """A contract as data: exception types by their names."""
    data = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(contract).items()}
    accepts: Sequence[Any] | None = contract.accepts
    data["accepts"] = None if accepts is None else sorted(a if isinstance(a, str) else a.__name__ for a in accepts)
    return data
