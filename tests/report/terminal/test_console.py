"""How findings and reports look."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from rich.cells import cell_len
from rich.console import Console

from fuzzmcp import run
from fuzzmcp.checks import CHECKS
from fuzzmcp.examples import naive_agent
from fuzzmcp.report.escape import harmless
from fuzzmcp.report.model import Moment, Report, SavedFinding
from fuzzmcp.report.narrative import essential_moments
from fuzzmcp.report.terminal.console import show_finding, show_report, show_timeline
from fuzzmcp.report.terminal.style import console_for
from fuzzmcp.report.timeline import timeline
from report.samples import finding_of, report_with, reports


def console(width: int = 110, **more: Any) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False, **more)


def printed(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


@pytest.fixture(scope="module")
def finding() -> SavedFinding:
    return finding_of("429cap", "spend_cap")


def shown(finding: SavedFinding, width: int = 110) -> list[str]:
    on = console(width)
    show_finding(finding, on)
    return printed(on).splitlines()


def test_a_finding_looks_as_the_design_says(finding: SavedFinding) -> None:
    lines = shown(finding)
    assert lines[0].startswith("spend_cap-3f2a   get_order was sent again 1.0 s after its spend cap was reached  ")
    assert lines[0].endswith("minimal · deterministic")
    assert lines[1] == 'FAULTS=429cap    get_order(order_id="A1")'
    assert re.match(r"   0\.000  →  tools/call \d  get_order ", lines[3])
    assert lines[3].endswith(" ask")
    assert lines[4].startswith("   0.000  ←  isError  API rate limit exceeded: monthly spend cap reached")
    assert re.match(r"   1\.000  →  tools/call \d  get_order  again from naive_agent\.py:\d+ ", lines[5])
    assert lines[5].endswith(" fetch  ◀ the second request")
    assert lines[6] == "   1.000  ←  ok"
    check = CHECKS["spend_cap"]
    assert " ".join(" ".join(lines).split()).count(check.why) == 1
    assert f"do    {check.advice}" in lines
    assert lines[-1] == "again fuzzmcp replay examples/naive_agent.py:connect 429cap"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits_but_those_that_are_to_be_copied(width: int) -> None:
    for script, check in (
        ("429cap", "spend_cap"),
        ("drift(created>Created)", "drift_caught"),
        ("error*5", "request_budget"),
    ):
        for line in shown(finding_of(script, check), width):
            assert cell_len(line) <= width or line.startswith(("again ", "FAULTS="))
            assert line == line.rstrip()


def test_what_is_to_be_copied_is_never_broken(finding: SavedFinding) -> None:
    calls = tuple(f'get_order(order_id="A{i}")' for i in range(9))
    long = replace(finding, faults="429,hang,error,504," * 8, calls=calls, replay=("fuzzmcp", "replay", "x" * 200))
    lines = shown(long, 80)
    assert f"FAULTS={long.faults}" in lines
    assert any("; ".join(calls) in line for line in lines)
    assert f"again {long.command}" in lines


def test_the_marker_moves_below_the_line_where_it_does_not_fit(finding: SavedFinding) -> None:
    lines = shown(finding, 70)
    place = next(i for i, line in enumerate(lines) if line.strip() == "◀ the second request")
    assert "→  tools/call " in lines[place - 1]
    assert "again from" in lines[place - 1]


def test_qualities_that_are_missing_are_said(finding: SavedFinding) -> None:
    weak = replace(finding, minimal=False, deterministic=False)
    assert shown(weak)[1].strip() == "not yet minimal · not deterministic"
    assert shown(replace(finding, minimal=None, deterministic=None))[0].endswith("was reached")


def test_text_of_clients_and_servers_is_neither_markup_nor_control(finding: SavedFinding) -> None:
    script = 'error("[bold red]no[/] :smile: \\u001b[2J\\u202e")'
    lines = "\n".join(shown(finding_of(script, "no_pointless_retry"), 200))
    assert "[bold red]no[/] :smile: \\x1b[2J\\u202e" in lines
    assert "\x1b" not in lines


def test_the_plain_handshake_and_the_probe_are_left_out_unless_they_matter() -> None:
    methods = [m.method for m in essential_moments(timeline(run(naive_agent.connect, "429")))]
    assert "initialize" not in methods
    assert "tools/list" not in methods
    assert not any(m.after for m in essential_moments(timeline(run(naive_agent.connect, "429"))))
    hidden = finding_of("list:hang", "finishes")
    assert any(line.lstrip().startswith("0.000     hang") for line in shown(hidden))
    assert any("→  tools/list " in line for line in shown(hidden))
    probe = finding_of("list_changed", "relists")
    assert any("(the probe)" in line and line.endswith("◀ here") for line in shown(probe))


def test_a_long_timeline_is_folded_in_the_middle() -> None:
    moments = [Moment(float(i), "->", "request", "tools/list", i) for i in range(100)]
    on = console()
    show_timeline(moments, on, whole=False)
    folded = printed(on).splitlines()
    assert sum("tools/list" in line for line in folded) == 22
    assert [line.strip() for line in folded if "more" in line] == ["… 78 more"]
    whole = console()
    show_timeline(moments, whole, whole=True)
    assert printed(whole).count("tools/list") == 100


def test_several_calls_are_told_apart_by_their_arguments(finding: SavedFinding) -> None:
    calls = ['get_order(order_id="A1")', 'get_order(order_id="A2")']
    lines = shown(finding_of("429cap", "spend_cap", calls=calls))
    assert any("tools/call " in line and 'get_order(order_id="A1")' in line for line in lines)


def test_the_report_ends_in_tables_and_one_line(finding: SavedFinding) -> None:
    on = console()
    show_report(report_with(finding), on)
    lines = printed(on).splitlines()
    assert lines[0] == (
        "fuzzmcp · examples/naive_agent.py:connect · mcp 2.3.0 · crm (4 tools) · 2025-11-25 over memory · seed 1"
    )
    assert "check        held   violated   not exercised" in lines
    assert "spend_cap       -          3               7" in lines
    assert "survives    1,234          -               -" in lines
    assert "429cap          8   sent again 5 · raised RuntimeError 3" in lines
    assert "ping            2" in lines
    assert lines[-1] == "1 finding · 2,000 runs · 250 runs/s · 2 h 1 min of virtual time · 8.0 s · seed 1"
    assert all(line == line.rstrip() for line in lines)


def test_a_report_of_nothing_says_so_and_hints_at_what_was_not_exercised() -> None:
    on = console()
    show_report(report_with(undelivered={"ping needs another protocol": 5, "b": 1}, interrupted=True, phase="fuzz"), on)
    text = " ".join(printed(on).split())
    assert "note interrupted in the phase 'fuzz': this is what was found until then" in text
    assert "note never exercised: backoff. More --runs" in text
    assert (
        "6 parts of scripts could not be delivered, most often: ping needs another protocol (and 1 other reason)"
        in text
    )
    assert text.partition(" · 2,000 runs")[0].endswith("nothing found")


def test_colour_is_an_extra_and_no_color_switches_it_off(
    finding: SavedFinding, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, coloured = console(), console(force_terminal=True, color_system="truecolor", no_color=False)
    show_finding(finding, plain)
    show_finding(finding, coloured)
    assert "\x1b[" in printed(coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    silent = console(force_terminal=True, color_system="truecolor")
    show_finding(finding, silent)
    assert ";31m" not in printed(silent)
    assert "\x1b[31m" not in printed(silent)


def test_a_stream_that_cannot_encode_an_arrow_gets_its_escape(finding: SavedFinding) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    show_finding(finding, console_for(stream))
    stream.flush()
    assert b"\\u2192  tools/call " in raw.getvalue()


def test_known_findings_are_marked_and_saved_ones_name_their_file(finding: SavedFinding) -> None:
    known = replace(finding, known=True, saved="regressions/spend_cap-3f2a.toml")
    lines = shown(known)
    assert " ".join(lines[:2]).split(" FAULTS=")[0].endswith("known · minimal · deterministic")
    assert lines[-1] == "saved regressions/spend_cap-3f2a.toml"
    on = console()
    show_report(report_with(known, finding, stale=("backoff-85e1", "survives-0a1b")), on)
    text = printed(on)
    assert "stale no longer failing: backoff-85e1, survives-0a1b. fuzzmcp prune removes what is fixed.\n" in text
    assert text.splitlines()[-1].startswith("1 new finding, 1 known · 2,000 runs")


def test_a_check_of_another_version_is_shown_without_its_reason(finding: SavedFinding) -> None:
    lines = shown(replace(finding, check="telepathy"))
    assert lines[0].startswith("telepathy-3f2a   get_order was sent again")
    assert "why   this version of fuzzmcp does not know the check." in lines


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_no_saved_report_can_command_the_terminal(report: Report) -> None:
    on = console()
    show_report(report, on)
    text = printed(on)
    assert text == "\n".join(map(harmless, text.split("\n")))


def test_the_header_breaks_between_its_parts_where_it_is_too_long() -> None:
    on = console(80)
    show_report(report_with(), on)
    assert printed(on).splitlines()[:2] == [
        "fuzzmcp · examples/naive_agent.py:connect · mcp 2.3.0 · crm (4 tools)",
        "        2025-11-25 over memory · seed 1",
    ]
