"""The report of a retry stack: as data, as JSON, and in the words that the terminal and the page share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzzmcp.core.package import version
from fuzzmcp.core.redact import redacted_text
from fuzzmcp.core.request_limits import Allowed
from fuzzmcp.harness.observe.layers import Layer
from fuzzmcp.report.escape import counted, path_of
from fuzzmcp.search.stacking import CallCost, Exploration, Seen

VERSION = 1
"""Version of the JSON: it changes when a key changes its meaning or goes away; keys may be added."""


@dataclass(frozen=True)
class Setting:
    """The client that was explored, and the settings.

    Attributes:
        client: The client as it was named on the command line.
        backend: asyncio or trio.
        mcp: The version of the SDK; empty if no MCP is spoken.
        protocol: The version of MCP that the server speaks; empty if no MCP is spoken.
        http: The HTTP backend played the faults.
    """

    client: str
    backend: str
    mcp: str = ""
    protocol: str = ""
    http: bool = False

    @property
    def how(self) -> str:
        """`2025-11-25 over memory, asyncio`, or `plain HTTP, asyncio`."""
        if not self.protocol:
            return f"plain HTTP, {self.backend}"
        return f"{self.protocol} over memory, {self.backend}" + (", faults over HTTP" if self.http else "")


@dataclass(frozen=True)
class StackReport:
    """The report of `fuzzmcp stack`: the exploration, its setting, and the number of requests that a call may cost."""

    setting: Setting
    found: Exploration
    allowed: Allowed = field(default_factory=Allowed)

    @property
    def over(self) -> tuple[tuple[Seen, CallCost], ...]:
        """The calls that cost more than they may, each with its script."""
        return tuple((seen, cost) for seen in self.found.all for cost in seen.costs if self.is_over(cost))

    def is_over(self, cost: CallCost) -> bool:
        """Whether a call costs more than it may."""
        most = self.allowed.of(cost.tool)
        return most is not None and cost.requests + cost.cut > most

    def as_json(self) -> dict[str, Any]:
        """The report as data: `scripts` are the single faults, then the mix if there is one.

        `mcp` and `protocol` are null for a function of an `Upstream`. `requests` says what was counted: requests to the
        `mcp` server, or to the `http` backend.
        """
        return {
            "version": VERSION,
            "fuzzmcp": version(),
            "kind": "stack",
            "client": self.setting.client,
            "mcp": self.setting.mcp or None,
            "protocol": self.setting.protocol or None,
            "backend": self.setting.backend,
            "requests": "http" if self.setting.http else "mcp",
            "mixes_tried": self.found.tried,
            "max_requests": self.allowed.every,
            "max_requests_per_tool": dict(self.allowed.tools),
            "over": len(self.over),
            "worst": str(self.found.worst.script),
            "scripts": [_script_json(seen, seen is self.found.mix) for seen in self.found.all],
            "advice": None if self.found.advice is None else {
                "keep": _place_json(self.found.advice.keep),
                "off": [_place_json(layer) for layer in self.found.advice.off],
                "waits_as_told": self.found.advice.obeys,
                "text": list(advice(self)),
            },
        }  # fmt: skip

    def dumps(self) -> str:
        """The JSON as text."""
        return json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n"


def _script_json(seen: Seen, mix: bool) -> dict[str, Any]:
    below = {"http": [_call_json(cost) for cost in seen.below]} if seen.below else {}
    return {"faults": str(seen.script), "mix": mix, "calls": [_call_json(cost) for cost in seen.costs]} | below


def _call_json(cost: CallCost) -> dict[str, Any]:
    again = (None, *cost.stack.again)
    return {
        "call": redacted_text(cost.title),
        "requests": cost.requests,
        "more": cost.cut,
        "waits_for_ever": cost.waits_for_ever,
        "virtual_seconds": cost.seconds,
        "product": cost.stack.product,
        "layers": [
            _place_json(layer)
            | {"factor": layer.factor, "seen": list(layer.counts), "waits": [list(times) for times in layer.waits]}
            for layer in cost.stack.layers
        ],
        "sent": [{"at": round(a.at, 6), "layer": layer} for a, layer in zip(cost.attempts, again, strict=True)],
    }  # fmt: skip


def _place_json(layer: Layer) -> dict[str, Any]:
    loop = layer.loop
    if loop is None:
        return {"file": None, "line": None, "function": None, "library": None}
    return {
        "file": path_of(loop.file), "line": loop.line, "function": loop.function, "library": loop.library or None,
    }  # fmt: skip


# -- in words ----------------------------------------------------------------------------------------------------------


def summary(seen: Seen) -> str:
    """What a script cost, on one line: the worst call's layers."""
    cost = seen.worst
    if cost is None:
        return "no request was sent" + ("; over HTTP there were: try --upstream" if seen.below else "")
    layers = f": {cost.stack}" if cost.stack.layers else ": nothing is sent again"
    return f"{cost.said} in {cost.seconds:g} s{endless_note(cost)}{layers}"


def endless_note(cost: CallCost) -> str:
    """A remark to append for a call that waits for ever; empty for any other call."""
    return ", and it waits for ever" if cost.waits_for_ever else ""


def sum_of(cost: CallCost) -> str:
    """How the layers make up the number of requests."""
    stack = cost.stack
    if not stack.layers:
        return "nothing is sent again"
    if stack.hidden:
        return "a task older than the call, or code out of sight, sends the requests: the layers above it are unknown"
    if cost.cut:
        return f"{cost.said}: the run was cut short, the outermost layer may go on for ever"
    if stack.product is not None:
        factors = " × ".join(f"{layer.factor}" for layer in stack.layers)
        return f"{stack.product} = {factors}" if len(stack.layers) > 1 else "one layer"
    return f"{cost.said}: the layers do not simply multiply; a budget, a breaker or the mix stops some of them early"


def advice(report: StackReport) -> Iterator[str]:
    """Which layer to keep and which to switch off, in sentences."""
    found = report.found.advice
    if found is None:
        return
    names = _joined([layer.place for layer in found.off])
    if found.obeys:
        why = "it waits as long as retry-after says"
    elif found.obeys is None:
        why = "it is the innermost, next to the answer"
    else:
        why = "it is the innermost, next to the answer; let it wait as long as retry-after says"
    yield f"keep {found.keep.place}: {why}"
    worst = report.found.worst.worst
    left = found.keep.factor
    cost = f": {worst.said} become {left}" if worst is not None and left is not None else ""
    yield f"switch off {names}{cost}"


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def verdict(report: StackReport) -> str:
    """The last line."""
    worst = report.found.worst.worst
    if worst is None:
        return summary(report.found.worst)
    layers = counted(len(worst.stack.layers), "layer") if worst.stack.layers else "no retry"
    said = f"at most {worst.said} for one call · {layers}".replace("at most more", "more")
    if not report.allowed:
        return said
    if not report.over:
        allowed = report.allowed.of(worst.tool)
        return f"{said} · within " + ("what" if allowed is None else f"the {allowed:,} that") + " --max-requests allows"
    cost = max((cost for _, cost in report.over), key=lambda cost: (cost is worst, cost.requests))
    most = f"the {report.allowed.of(cost.tool):,} that --max-requests allows"
    return f"{said} · over {most}" if cost is worst else f"{said} · {cost.tool} with {cost.said} is over {most}"
