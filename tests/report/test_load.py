"""Reading a saved report back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzmcp.report.load import ReportError, from_json, load, loads
from fuzzmcp.report.model import Report
from report.samples import finding_of, report_with, reports


@pytest.fixture(scope="module")
def report() -> Report:
    return report_with(finding_of("429cap", "spend_cap"))


def test_a_report_reads_back_as_what_it_was(report: Report) -> None:
    assert loads(report.dumps()) == report
    assert from_json(report.as_json()) == report


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(reports)
def test_every_report_survives_the_way_through_its_text(report: Report) -> None:
    assert loads(report.dumps()).dumps() == report.dumps()


def test_keys_that_say_nothing_are_not_written(report: Report) -> None:
    data = report.as_json()
    assert not {"exposed", "stale", "tools"} & set(data)
    assert not {"known", "saved"} & set(data["findings"][0])


def test_a_report_of_before_these_keys_still_reads(report: Report) -> None:
    data = report.as_json()
    for key in ("fuzzmcp", "tool_count", "phase"):
        del data[key]
    old = from_json(data)
    assert (old.fuzzmcp, old.tool_count, old.phase, old.findings) == ("", 0, "", report.findings)


def test_keys_of_later_versions_are_passed_over(report: Report) -> None:
    data = report.as_json()
    data["later"] = data["findings"][0]["later"] = data["findings"][0]["requests"][0]["later"] = 1
    assert from_json(data) == report


WRONG: list[tuple[list[Any], Any, str]] = [
    ([], [], "$: expected an object, found []"),
    (["version"], 2, "$.version: expected at most 1, found 2: a newer fuzzmcp wrote this"),
    (["version"], "1", "$.version: expected a whole number from 1, found \"1\""),
    (["client"], None, "$.client: expected text, found null"),
    (["role"], "server", "$.role: unknown role \"server\"; one of client, agent"),
    (["role"], ["client"], "$.role: expected one of client, agent, found [\"client\"]"),
    (["runs"], True, "$.runs: expected a whole number from 0, found true"),
    (["runs"], -1, "$.runs: expected a whole number from 0, found -1"),
    (["seconds"], float("nan"), "$.seconds: expected a number of seconds, found nan"),
    (["seconds"], 10**400, "$.seconds: expected a number of seconds, found 1000"),
    (["findings"], {}, "$.findings: expected an array, found {}"),
    (["findings", 0, "calls"], ["a", 2], "$.findings[0].calls[1]: expected text, found 2"),
    (["findings", 0, "minimal"], 1, "$.findings[0].minimal: expected true or false, found 1"),
    (["findings", 0, "replay"], "say 'it", "$.findings[0].replay: expected a command (No closing quotation), found"),
    (["findings", 0, "requests", 3, "direction"], "up", "$.findings[0].requests[3].direction: unknown direction"),
    (["findings", 0, "requests", 3, "call"], -2, "$.findings[0].requests[3].call: expected a whole number from -1"),
    (["findings", 0, "known"], "yes", "$.findings[0].known: expected true or false, found \"yes\""),
    (["checks", "spend_cap", "held"], 0.5, "$.checks.spend_cap.held: expected a whole number from 0, found 0.5"),
    (["faults", "429cap", "reactions"], [], "$.faults.429cap.reactions: expected an object, found []"),
    (["exposed"], {"spend_cap": -1}, "$.exposed.spend_cap: expected a whole number from 0, found -1"),
    (["stale"], [None], "$.stale[0]: expected text, found null"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_value_is_named_with_its_place(report: Report, path: list[Any], value: Any, message: str) -> None:
    data: Any = report.as_json()
    if path:
        *way, last = path
        place = data
        for key in way:
            place = place[key]
        place[last] = value
    else:
        data = value
    with pytest.raises(ReportError) as caught:
        from_json(data, "nightly.json")
    assert str(caught.value).startswith(f"nightly.json: {message}")
    assert caught.value.path == message.partition(": ")[0]


def _paths(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield (*way, key)
        yield from _paths(member, (*way, key))


@given(data=st.data())
def test_no_change_of_a_report_is_more_than_a_report_error(report: Report, data: st.DataObject) -> None:
    changed = json.loads(report.dumps())
    *way, last = data.draw(st.sampled_from(list(_paths(changed))))
    place: Any = changed
    for key in way:
        place = place[key]
    if data.draw(st.booleans()):
        del place[last]
    else:
        place[last] = data.draw(st.sampled_from([None, True, 0, -1, 1.5, "", "x", [], {}, [[]], {"a": 1}]))
    try:
        read = loads(json.dumps(changed))
    except ReportError as error:
        said = str(error)
    else:
        said = ""
        assert loads(read.dumps()).dumps() == read.dumps()
    assert not said or said.startswith("report: $")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "expected JSON: line 1 column 1"),
        (b"{", "expected JSON: line 1 column 2"),
        (b"\xff{}", "expected UTF-8, found byte 0xff"),
        (b"[" * 100_000, "expected a report, found JSON that is nested too deeply"),
        (b'{"version": ' + b"9" * 10_000 + b"}", ""),
        (b"{}", "$.version: expected a whole number from 1, found nothing"),
        (b"null", "$: expected an object, found null"),
    ],
)
def test_what_is_no_report_is_said_in_one_line(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(text)
    with pytest.raises(ReportError) as caught:
        load(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_no_text_is_more_than_a_report_error(text: bytes | str) -> None:
    with pytest.raises(ReportError):
        loads(text)


def test_a_file_that_cannot_be_read_is_a_report_error(tmp_path: Path) -> None:
    for file in (tmp_path / "missing.json", tmp_path, Path("a\x00b")):
        with pytest.raises(ReportError, match="cannot be read: "):
            load(file)


def test_a_mark_of_byte_order_is_no_error(report: Report) -> None:
    assert loads(b"\xef\xbb\xbf" + report.dumps().encode()) == report
