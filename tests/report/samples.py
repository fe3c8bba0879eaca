"""Reports to write and read: a real one, a very large one, and arbitrary ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fuzzmcp import Contract, run, violations
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.faults import FAULTS
from fuzzmcp.examples import naive_agent
from fuzzmcp.report.build import contract_json, violated
from fuzzmcp.report.model import Moment, Report, SavedFinding, Subject

SUBJECT = Subject("examples/naive_agent.py:connect", mcp="2.3.0")
NASTY = (
    "<script>alert(1)</script>",
    "</style></code></pre><img src=x onerror=alert(1)>",
    "--><!--",
    "]]>",
    "&lt;b&gt;&#60;",
    '" onload="alert(1)',
    "a|b`c`*d*_e_~f~",
    "[text](https://example.com) {0} ![x](y)",
    "@everyone https://example.com www.example.com",
    "\x00\x1b[2J\u202e\ufffe\ud800",
    "one\r\n\r\n# two\n<details>",
)
"""Texts that break a report which believes them."""

texts = st.sampled_from(NASTY) | st.text(max_size=20)
_counts = st.integers(0, 10**6)
_seconds = st.floats(0, 1e9, allow_nan=False) | st.integers(0, 10**6)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | texts,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(texts, values, max_size=3),
    max_leaves=6,
)
moments = st.builds(
    Moment,
    at=_seconds,
    direction=st.sampled_from(("->", "<-", "")),
    kind=st.sampled_from(("request", "deliver", "settle", "silence", "omitted", "open", "")) | texts,
    method=st.sampled_from(("tools/call", "initialize", "")) | texts,
    id=_json,
    call=st.none() | st.integers(-1, 5),
    label=texts,
    text=texts,
    site=st.none() | st.just("agent.py:48 ask") | texts,
    loop=st.none() | texts,
    fault=st.none() | texts,
    nth=st.none() | st.integers(0, 20),
    evidence=st.booleans(),
    after=st.booleans(),
)
findings = st.builds(
    SavedFinding,
    check=st.sampled_from(list(CHECKS)) | texts,
    faults=texts,
    calls=st.lists(texts, max_size=2).map(tuple),
    message=texts,
    requests=st.lists(moments, max_size=4).map(tuple),
    case=st.dictionaries(texts, _json, max_size=3),
    replay=st.lists(texts, max_size=4).map(tuple),
    fingerprint=texts,
    minimal=st.none() | st.booleans(),
    deterministic=st.none() | st.booleans(),
    known=st.booleans(),
    saved=st.none() | texts,
)
_checks = st.builds(lambda a, b, c: {"held": a, "violated": b, "not_exercised": c}, _counts, _counts, _counts)
_reactions = st.dictionaries(texts, _counts, max_size=3)
_faults = st.builds(lambda count, reactions: {"injected": count, "reactions": reactions}, _counts, _reactions)
reports = st.builds(
    Report,
    subject=st.builds(
        Subject,
        client=texts,
        role=st.sampled_from(("client", "agent")),
        mcp=texts,
        catalogue=texts,
        options=st.just(()),
    ),
    seed=_counts,
    runs=_counts,
    seconds=_seconds,
    virtual_seconds=_seconds,
    protocol=st.just("2025-11-25") | texts,
    transport=texts,
    backend=texts,
    tool_count=_counts,
    contract=st.dictionaries(texts, _json, max_size=3),
    findings=st.lists(findings, max_size=2).map(tuple),
    checks=st.dictionaries(st.sampled_from(list(CHECKS)) | texts, _checks, max_size=3),
    faults=st.dictionaries(st.sampled_from([fault.name for fault in FAULTS]) | texts, _faults, max_size=3),
    undelivered=st.dictionaries(texts, _counts, max_size=3),
    moments=st.lists(_seconds, max_size=2).map(tuple),
    interrupted=st.booleans(),
    phase=texts,
    exposed=st.dictionaries(texts, _counts, max_size=3),
    stale=st.lists(texts, max_size=2).map(tuple),
    tools=st.lists(st.dictionaries(texts, _json, max_size=2), max_size=2).map(tuple),
    fuzzmcp=texts,
)


def finding_of(script: str, check: str, **more: Any) -> SavedFinding:
    """What a search would save of a script that makes the naive agent violate a check."""
    happened = run(naive_agent.connect, script, **more)
    (found,) = violated(SUBJECT, happened, {check: violations(happened)[check]})
    return replace(found, fingerprint="3f2a", minimal=True, deterministic=True)


def report_with(*findings: SavedFinding, **more: Any) -> Report:
    """A report of these findings, in which one check is violated, one held, and one was never exercised."""
    report = Report(
        subject=SUBJECT,
        seed=1,
        runs=2_000,
        seconds=8.0,
        virtual_seconds=7_261.0,
        protocol="2025-11-25",
        transport="memory",
        backend="asyncio",
        tool_count=4,
        contract=contract_json(Contract()),
        findings=findings,
        checks={
            "spend_cap": {"held": 0, "violated": 3, "not_exercised": 7},
            "backoff": {"held": 0, "violated": 0, "not_exercised": 10},
            "survives": {"held": 1_234, "violated": 0, "not_exercised": 0},
        },
        faults={
            "429cap": {"injected": 8, "reactions": {"sent again": 5, "raised RuntimeError": 3}},
            "ping": {"injected": 2, "reactions": {}},
        },
    )
    return replace(report, **more)


def spoiled(finding: SavedFinding, text: str) -> SavedFinding:
    """The finding with another text wherever it has one: what a client or a server might have written."""
    requests = tuple(
        replace(
            moment,
            **{name: text for name in ("method", "label", "text", "site", "loop", "fault") if getattr(moment, name)},
        )
        for moment in finding.requests
    )
    return replace(
        finding, faults=text, calls=(text,), message=text, requests=requests, case={text: text}, replay=(text,),
        fingerprint=text, saved=text,
    )  # fmt: skip
