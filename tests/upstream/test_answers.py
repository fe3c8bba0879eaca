"""What each fault is over HTTP: status, headers and body."""

from __future__ import annotations

import email.utils
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.core.faults import ANSWERS, EXTRAS
from fuzzmcp.core.script import Action, Script, Step, action
from fuzzmcp.harness.clock import EPOCH
from fuzzmcp.upstream import Upstream, answers

SECONDS = st.floats(0, 1e9).map(lambda seconds: round(seconds, 6))


def built(script: str, now: float = 0.0, **options: Any) -> answers.Reply:
    step = Script.parse(script).steps[0]
    return answers.build(step.answer, 1, now, options.get("ok", {"a": 1}), options.get("hints", "seconds"))


def error_of(reply: answers.Reply) -> Any:
    body = json.loads(reply.body)
    assert body["type"] == "error"
    assert body["request_id"] == dict(reply.headers)["request-id"]
    return body["error"]


@pytest.mark.parametrize(
    ("script", "status", "kind"),
    [
        ("429", 429, "rate_limit_error"),
        ("429(none)", 429, "rate_limit_error"),
        ("429cap", 429, "rate_limit_error"),
        ("504", 504, "timeout_error"),
        ("529", 529, "overloaded_error"),
        ("error", 400, "invalid_request_error"),
    ],
)
def test_an_error_has_its_status_and_names_its_type_in_the_body(script: str, status: int, kind: str) -> None:
    reply = built(script)
    assert (reply.status, error_of(reply)["type"]) == (status, kind)
    assert dict(reply.headers)["content-length"] == str(len(reply.body))


def test_only_a_rate_limit_with_a_hint_says_when_to_come_back() -> None:
    scripts = ("429", "429(none)", "429cap", "504", "529", "error", "truncated")
    assert [script for script in scripts if "retry-after" in dict(built(script).headers)] == ["429"]
    assert [script for script in scripts if built(script).hint is not None] == ["429"]


def test_a_spend_cap_says_that_it_is_one() -> None:
    assert "spend cap" in error_of(built("429cap"))["message"]
    assert "spend cap" not in error_of(built("429(none)"))["message"]


def test_an_error_says_what_the_script_says() -> None:
    assert error_of(built('error("no such customer")'))["message"] == "no such customer"


def test_a_success_is_what_the_caller_gives() -> None:
    assert built("ok@1", ok={"name": "Åsa"}).body == '{"name":"Åsa"}'.encode()
    assert built("ok@1", ok=b"\x00raw").body == b"\x00raw"
    assert built("ok@1", ok="text").body == b'"text"'


@given(st.binary(max_size=40))
def test_a_truncated_body_is_shorter_than_its_content_length(ok: bytes) -> None:
    reply = built("truncated", ok=ok)
    assert len(reply.body) < int(dict(reply.headers)["content-length"])
    assert ok.startswith(reply.body)


@given(SECONDS, SECONDS)
def test_decimal_seconds_read_back_as_the_hint(seconds: float, now: float) -> None:
    header, hint = answers.retry_after(seconds, now, "decimal")
    assert float(header) == hint == seconds
    assert "e" not in header
    assert not header.endswith(".")


@given(SECONDS, SECONDS)
def test_whole_seconds_read_back_as_the_announced_hint_and_never_earlier(seconds: float, now: float) -> None:
    header, hint = answers.retry_after(seconds, now, "seconds")
    assert int(header) == hint
    assert seconds <= hint < seconds + 1


@given(SECONDS, SECONDS)
def test_an_http_date_reads_back_as_the_announced_moment_and_never_earlier(seconds: float, now: float) -> None:
    header, hint = answers.retry_after(seconds, now, "date")
    moment = email.utils.parsedate_to_datetime(header).timestamp() - EPOCH
    assert moment == pytest.approx(now + hint, abs=1e-6)
    assert now + seconds - 1e-6 <= moment < now + seconds + 1


def test_a_date_that_no_http_date_can_name_is_the_last_that_one_can() -> None:
    header, hint = answers.retry_after(1e9, 1e15, "date")
    assert header == "Fri, 31 Dec 9999 23:59:59 GMT"
    assert hint < 1e9


def test_every_fault_is_carried_or_has_a_reason() -> None:
    carried = {name for name in ANSWERS if answers.why_undeliverable(action(name)) is None}
    assert carried == {"ok", "error", "429", "429cap", "504", "529", "truncated", "hang", "close"}
    assert {name for name in EXTRAS if answers.why_undeliverable(Action(name, 1.0)) is None} == {"block"}


@pytest.mark.parametrize("name", ["429", "ok", "close"])
def test_an_answer_that_waits_for_a_cancellation_is_not_carried(name: str) -> None:
    reason = answers.why_undeliverable(action(name, at="cancel"))
    assert reason is not None
    assert "gives up" in reason


def test_steps_of_other_methods_are_reported_before_any_request() -> None:
    up = Upstream("init:hang,list:loop*,429")
    assert up.undelivered == (
        "init:hang: a plain HTTP API has no init requests",
        "list:loop*: a plain HTTP API has no list requests",
    )
    assert up.unreached == ("429",)
    assert answers.why_unreachable(Step()) is None


def test_an_unknown_form_of_hint_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match="did you mean 'seconds'"):
        Upstream("429", hints="second")  # type: ignore[arg-type]


def test_an_unknown_library_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match="did you mean 'httpx"):
        Upstream().transport("htpx")
