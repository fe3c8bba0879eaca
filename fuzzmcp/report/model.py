"""The saved report: frozen data. The same seed gives the same JSON, except for the seconds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from fuzzmcp.core.package import version

VERSION = 1
"""Version of the format: it changes when a key changes its meaning or goes away; keys may be added."""

Direction = Literal["->", "<-", ""]
"""The way of a message between client and server."""


@dataclass(frozen=True)
class Subject:
    """The client that was tested, and the settings of the test.

    Args:
        client: The client as it was named on the command line.
        mcp: Version of the SDK.
        catalogue: The name of the catalogue in the header.
        options: Names and values in turn: the options of `fuzzmcp replay` that the case does not tell, such as those of
            the contract.
        calls_configured: The configuration names calls, so a replay has to name even the default call.
    """

    client: str
    role: Literal["client", "agent"] = "client"
    mcp: str = ""
    catalogue: str = "crm"
    options: tuple[str, ...] = ()
    calls_configured: bool = False


@dataclass(frozen=True)
class Moment:
    """One thing that happened at virtual second `at`.

    Attributes:
        direction: `->` from client to server, `<-` from server to client, empty for an event that is on no wire.
        kind: The kind of event, as in `fuzzmcp.core.trace`. Two kinds are no events: `silence` is a request that meets
            `hang` or `block`, and `omitted` stands for moments that are left out of a long timeline.
        method: The JSON-RPC method that is sent or answered.
        id: The JSON-RPC id, if there is one.
        call: Number of the call (-1 is the probe); None for an act of the client itself.
        label: The kind of answer: `ok`, `isError`, `error -32603`, or the fault as the script names it.
        text: The call, the content of the answer, the outcome.
        site: The line of the client's code that sent it, as `path:line function`.
        loop: The line that came back to send it again.
        fault: The part of the script that caused it.
        nth: For `tools/call`, 2 for the second request of its call. For `omitted`, the number of moments left out.
        evidence: The check points at the moment.
        after: The script was over before the moment: it belongs to the probe call or to the end of the session.
    """

    at: float
    direction: Direction = ""
    kind: str = ""
    method: str = ""
    id: Any = None
    call: int | None = None
    label: str = ""
    text: str = ""
    site: str | None = None
    loop: str | None = None
    fault: str | None = None
    nth: int | None = None
    evidence: bool = False
    after: bool = False

    def as_json(self) -> dict[str, Any]:
        """The moment as the report saves it: always the first seven keys, and the others if they say something."""
        always = ("at", "direction", "method", "id", "call", "site", "text")
        more = ("kind", "label", "loop", "fault", "nth", "evidence", "after")
        saved = {name: getattr(self, name) for name in always}
        return saved | {name: value for name in more if (value := getattr(self, name)) not in (None, "", False)}


@dataclass(frozen=True)
class SavedFinding:
    """A violated check, with everything that a reader needs to understand and repeat it.

    `minimal` and `deterministic` are None for a single replay, which tries neither. `replay` is the command that shows
    the violation again, one word an element. `known` says that the finding belongs to the baseline. `saved` is the
    relative path of the case file that keeps the finding.
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
        """The finding as the report saves it; `known` and `saved` are left out if they say nothing."""
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
    """One search as a reader sees it. `--report json=FILE` writes its `as_json`.

    `exposed` gives for each violated check the number of runs until the first violation. `stale` names the saved cases
    that no longer fail. `fuzzmcp` is the version that made the report. `tools` is the catalogue of all cases that say
    `"tools_of": "report"`: a large catalogue is kept once if every case would repeat it.
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


def _pretty(value: Any, margin: str = "\n", key: str = "") -> Iterator[str]:
    """Indented JSON, in pieces. A moment is one line, because indented timelines would double a report."""
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
