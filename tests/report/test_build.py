"""The saved report."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from fuzzmcp import Contract, case_of, run, violations
from fuzzmcp.examples import naive_agent
from fuzzmcp.report.build import case_json, contract_json, replay_of, report_of, violated
from fuzzmcp.report.model import Report, Subject
from fuzzmcp.search.findings import Finding, Tally
from fuzzmcp.search.result import Exposure, Result

SUBJECT = Subject("examples/naive_agent.py:connect", mcp="2.3.0")


def result_of(script: str, check: str) -> Result:
    """What a search would bring home that found one violation."""
    happened = run(naive_agent.connect, script)
    violation = violations(happened)[check]
    finding = Finding(check, happened.case, violation, happened, True, True, "3f2a")
    tally = Tally()
    tally.add(happened, {check: violation})
    tally.undelivered = Counter({"b": 1, "a at 0x7fff": 2})
    return Result(findings=[finding], tally=tally, runs=1, seconds=1.23456, moments=(30.0,), phase="sweep")


@pytest.fixture(scope="module")
def report() -> Report:
    return report_of(SUBJECT, 1, result_of("429cap", "spend_cap"), Contract(max_requests=3), case_of())


def test_a_finding_is_saved_with_its_evidence_and_its_case(report: Report) -> None:
    (finding,) = report.as_json()["findings"]
    assert (finding["check"], finding["faults"], finding["fingerprint"]) == ("spend_cap", "429cap", "3f2a")
    assert finding["calls"] == ['get_order(order_id="A1")']
    assert finding["minimal"] is True
    assert finding["deterministic"] is True
    assert finding["message"] == "get_order was sent again 1.0 s after its spend cap was reached"
    assert [m["nth"] for m in finding["requests"] if m.get("evidence") and m.get("nth")] == [1, 2]
    assert finding["case"]["faults"] == "429cap"


def test_the_report_says_after_how_many_runs_a_check_was_first_violated() -> None:
    result = result_of("429cap", "spend_cap")
    result.exposed = {"spend_cap": Exposure(9, 7, 0.5), "finishes": Exposure(1, 1, 0.1)}
    told = report_of(SUBJECT, 1, result, Contract(), case_of()).as_json()["exposed"]
    assert list(told.items()) == [("finishes", 1), ("spend_cap", 7)]


def test_the_report_is_ascii_json_that_reads_back(report: Report) -> None:
    text = report.dumps()
    assert text.isascii()
    assert json.loads(text) == report.as_json()
    assert text.endswith("}\n")


def test_only_the_seconds_depend_on_the_wall_clock(report: Report) -> None:
    other = result_of("429cap", "spend_cap")
    other.seconds = 99.0
    again = report_of(SUBJECT, 1, other, Contract(max_requests=3), case_of()).as_json()
    assert again["seconds"] == 99.0
    assert again | {"seconds": 1.235} == report.as_json()


def test_no_path_and_no_address_of_the_machine_is_saved(report: Report) -> None:
    text = report.dumps()
    assert str(Path(naive_agent.__file__).parent) not in text
    assert "0x7f" not in text
    assert list(report.undelivered) == ["a", "b"]


def test_sites_are_relative_to_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(naive_agent.__file__).parents[1])
    result = result_of("429", "retry_after")
    (finding,) = report_of(SUBJECT, 1, result, Contract(), case_of()).findings
    sites = {m.site.partition(":")[0] for m in finding.requests if m.site}
    assert sites == {f"{Path(naive_agent.__file__).parent.name}/naive_agent.py"}


def test_a_case_leaves_out_what_has_its_default() -> None:
    assert case_json(case_of("hang")) == {
        "faults": "hang",
        "protocol": "2025-11-25",
        "transport": "memory",
        "backend": "asyncio",
        "calls": [{"tool": "get_order", "arguments": {"order_id": "A1"}}],
    }
    assert "calls" not in case_json(case_of("hang"), "agent")


def test_a_case_carries_a_foreign_catalogue_and_when_each_call_begins() -> None:
    tool = {"name": "ping", "inputSchema": {"type": "object"}}
    data = case_json(case_of(calls=["ping()@0.5"], tools=[tool]))
    assert data["tools"] == [tool]
    assert data["calls"] == [{"tool": "ping", "arguments": {}, "at": 0.5}]


def test_the_replay_command_has_only_options_that_differ_from_their_defaults() -> None:
    assert replay_of(SUBJECT, case_of("hang")) == ("fuzzmcp", "replay", SUBJECT.client, "hang")
    case = case_of("hang", calls=['refund_order(order_id="A1", amount=1)@0'], protocol="2025-06-18", backend="trio")
    subject = Subject("c:d", options=("--deadline", "60"))
    assert replay_of(subject, case)[4:] == (
        "--call", 'refund_order(order_id="A1", amount=1)@0', "--protocol", "2025-06-18", "--backend", "trio",
        "--deadline", "60",
    )  # fmt: skip
    assert replay_of(Subject("c:d", role="agent"), case)[4:6] == ("--protocol", "2025-06-18")


def test_the_replay_command_is_quoted_for_a_shell() -> None:
    happened = run(naive_agent.connect, "drift(created>Created)")
    (finding,) = violated(SUBJECT, happened, violations(happened))
    assert finding.command.endswith(" 'drift(created>Created)'")
    assert (finding.name, finding.minimal) == ("drift_caught", None)


def test_a_contract_names_its_exceptions() -> None:
    data = contract_json(Contract(accepts=(ValueError, "ToolFailed")))
    assert data["accepts"] == ["ToolFailed", "ValueError"]
    assert contract_json(Contract())["accepts"] is None
    assert json.dumps(data)


def test_seconds_are_rounded_once_so_that_a_saved_report_shows_the_same(report: Report) -> None:
    assert report.seconds == report.as_json()["seconds"] == 1.235
