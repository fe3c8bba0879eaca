"""The fake over several requests: which step is taken, when things come, and what the server remembers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fuzzmcp.core.case import Case
from fuzzmcp.core.catalogue.tools import crm, evolved
from fuzzmcp.core.protocol import VERSIONS
from fuzzmcp.core.script import action
from fuzzmcp.harness.server import Delivery, FakeServer, wire
from fuzzmcp.strategies import cases

from .frames import HANDSHAKE, STATELESS, call, cancelled, fake, frames, request

NEW = STATELESS[0]


def kinds(deliveries: list[Delivery]) -> list[str]:
    """What each delivery is, in one word."""
    return [
        d.kind if d.frame is None else d.frame.get("method") or ("error" if "error" in d.frame else "result")
        for d in deliveries
    ]


# -- the script -------------------------------------------------------------------------------------------------------


def test_the_i_th_request_of_a_method_takes_the_i_th_step_of_that_method() -> None:
    server = fake("list:rpc(-32000),429,hang*2,504")
    sent = [server.receive(call(name), 0.0) for name in range(5)]
    assert [d[0].action.name if d and d[0].action else len(d) for d in sent] == ["429", 0, 0, "504", 1]
    (refused,), (listed,) = (server.receive(request("list", "2025-11-25", name=n), 0.0) for n in (7, 8))
    assert refused.frame["error"]["code"] == -32000
    assert "tools" in listed.frame["result"]


def test_a_last_star_repeats_for_ever() -> None:
    server = fake("ok,529*")
    sent = [server.receive(call(name), 0.0)[0] for name in range(50)]
    assert [d.action is not None for d in sent] == [False] + [True] * 49


def test_unknown_methods_notifications_and_replies_take_no_step() -> None:
    server = fake("429")
    server.receive({"jsonrpc": "2.0", "id": 1, "method": "no/such"}, 0.0)
    server.receive({"jsonrpc": "2.0", "method": "tools/call"}, 0.0)
    server.receive({"jsonrpc": "2.0", "id": 1, "result": {}}, 0.0)
    assert server.receive(call(), 0.0)[0].action == action("429")


@pytest.mark.parametrize("junk", [None, 7, "x", [], {}, {"id": 1}, {"method": 5}, [call()]])
def test_what_is_no_message_is_ignored(junk: Any) -> None:
    server = fake("429")
    assert server.receive(junk, 0.0) == []
    assert server.receive(call(), 0.0)[0].action == action("429")


@pytest.mark.parametrize("name", [None, True, 1.5, [1], {"a": 1}, "x", ""])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", ["init", "discover", "list", "call", "listen"])
def test_any_id_comes_back_as_it_was_sent(name: Any, version: str, method: str) -> None:
    server = fake(f"{method}:ok+dup@cancel", version)
    for frame in frames(server.receive(request(method, version, name), 0.0)):
        assert frame.get("id", name) == name
    server.receive(cancelled(name), 1.0)


@pytest.mark.parametrize(
    "params", [None, [], 7, "x", {}, {"name": None}, {"name": ["x"], "arguments": []}, {"_meta": 3}]
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_with_senseless_params_is_refused(params: Any, version: str) -> None:
    server = fake("ok+progress+log+server_cancel+dup" if version in HANDSHAKE else "ok+progress+log+dup", version)
    sent = server.receive({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, 0.0)
    assert [f["error"]["code"] for f in frames(sent) if "error" in f] == [-32602, -32602]


def test_after_finish_everything_is_answered_at_once_and_unreached_steps_stay_unreached() -> None:
    server = fake("block(100),hang*2,504")
    server.receive(call(), 0.0)
    server.finish()
    (sent,) = server.receive(call(2), 1.0)
    assert (sent.at, sent.action) == (1.0, None)
    assert server.unreached() == ("hang*2", "504")


def test_steps_that_no_request_took_are_named() -> None:
    server = fake("init:hang,list:loop,429,hang")
    server.receive(call(), 0.0)
    assert server.unreached() == ("init:hang", "list:loop", "hang")


# -- determinism ------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_the_same_case_and_frames_give_the_same_deliveries_sorted_by_time(case: Case) -> None:
    def play() -> list[list[Delivery]]:
        server = FakeServer(case)
        sent = [server.receive(request("init", case.protocol, 0), 0.0)]
        for i, one in enumerate((*case.calls, *case.calls)):
            sent.append(server.receive(request("list", case.protocol, f"l{i}"), float(i)))
            sent.append(server.receive(call(i + 1, one.tool, case.protocol, **one.arguments), float(i)))
        sent.append(server.receive(cancelled(1), 50.0))
        return sent

    one, two = play(), play()
    assert one == two
    for deliveries in one:
        assert [d.at for d in deliveries] == sorted(d.at for d in deliveries)


def test_deliveries_are_sorted_by_time_and_keep_their_order_at_the_same_moment() -> None:
    server = fake("ok@5+log@9+ping@5+progress(3)+noise@1")
    sent = server.receive(call(), 10.0)
    assert [d.at for d in sent] == [10.0, 11.0, 11.0, 12.0, 15.0, 15.0, 19.0]
    assert kinds(sent)[4:6] == ["ping", "result"]


# -- moments ----------------------------------------------------------------------------------------------------------


def test_progress_comes_once_a_second_and_counts_up() -> None:
    server = fake("ok@2.5+progress(3)@1")
    sent = server.receive(call(), 10.0)
    steps = [(d.at, d.frame["params"]["progress"]) for d in sent if d.frame.get("method") == "notifications/progress"]
    assert steps == [(11.0, 1.0), (12.0, 2.0), (13.0, 3.0)]


def test_progress_carries_the_token_that_the_client_gave() -> None:
    sent = fake("progress").receive(request("call", "2025-11-25", 4, progressToken="t-9"), 0.0)
    assert sent[0].frame["params"]["progressToken"] == "t-9"


def test_dup_and_progress_after_come_with_a_late_answer_unless_they_have_a_moment_of_their_own() -> None:
    sent = fake("ok@5+dup+progress_after").receive(call(), 0.0)
    assert [d.at for d in sent] == [5.0, 5.0, 5.0]
    assert kinds(sent) == ["result", "result", "notifications/progress"]
    sent = fake("ok@5+dup@7").receive(call(), 0.0)
    assert [d.at for d in sent] == [5.0, 7.0]


def test_a_late_answer_comes_the_moment_after_the_clients_cancellation() -> None:
    server = fake("late")
    assert server.receive(call(4), 0.0) == []
    assert server.receive(cancelled(5), 2.0) == [], "another request's cancellation releases nothing"
    (sent,) = server.receive(cancelled(4), 3.0)
    assert (sent.at, sent.frame["id"], sent.action) == (3.0, 4, action("ok", at="cancel"))
    assert server.receive(cancelled(4), 4.0) == [], "once"
    assert server.still_held() == ()


def test_several_parts_can_wait_for_the_cancellation_and_come_in_their_order() -> None:
    server = fake("hang+log@cancel+orphan@cancel+noise")
    assert kinds(server.receive(call(4), 0.0)) == ["line"]
    sent = server.receive(cancelled(4), 3.0)
    assert kinds(sent) == ["notifications/message", "result"]
    assert [d.action.name for d in sent if d.action] == ["log", "orphan"]
    assert server.still_held() == ()


def test_what_waits_for_a_cancellation_that_never_comes_is_reported() -> None:
    server = fake("429@cancel+log@cancel")
    server.receive(call(4), 0.0)
    assert sorted(server.still_held()) == [
        "429@cancel: the client never cancelled request 1 on the wire",
        "log@cancel: the client never cancelled request 1 on the wire",
    ]


def test_cancellations_concern_one_connection_only() -> None:
    server = fake("late*2")
    second = server.connect()
    server.receive(call(4), 0.0)
    server.receive(call(4), 0.0, second)
    (sent,) = server.receive(cancelled(4), 1.0, second)
    assert (sent.connection, sent.request) == (second, 2)
    assert len(server.still_held()) == 1


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": None}, {"requestId": [1]}, {"requestId": "4"}])
def test_a_senseless_cancellation_releases_nothing(params: Any) -> None:
    server = fake("late")
    server.receive(call(4), 0.0)
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert server.receive(notification, 1.0) == []


# -- block ------------------------------------------------------------------------------------------------------------


def test_a_block_delays_its_own_answer_and_everything_behind_it() -> None:
    server = fake("block(10),ok@2,list:ok")
    (first,) = server.receive(call(1), 100.0)
    (second,) = server.receive(call(2), 103.0)
    (listed,) = server.receive(request("list", "2025-11-25", 3), 104.0)
    (after,) = server.receive(call(4), 120.0)
    assert [d.at for d in (first, second, listed, after)] == [110.0, 112.0, 110.0, 120.0]


def test_a_block_that_begins_later_lets_pass_what_comes_before_it() -> None:
    server = fake("log@4+block(10)@5+noise@7")
    sent = server.receive(call(1), 0.0)
    assert [(d.at, kind) for d, kind in zip(sent, kinds(sent), strict=True)] == [
        (0.0, "result"),
        (4.0, "notifications/message"),
        (15.0, "line"),
    ]


def test_blocks_that_follow_each_other_add_up() -> None:
    server = fake("block(10),block(10)")
    server.receive(call(1), 0.0)
    (second,) = server.receive(call(2), 5.0)
    assert second.at == 20.0


def test_a_blocked_server_reads_a_cancellation_only_afterwards() -> None:
    server = fake("late,block(10)")
    server.receive(call(1), 0.0)
    server.receive(call(2), 1.0)
    (sent,) = server.receive(cancelled(1), 3.0)
    assert sent.at == 11.0


def test_the_caller_cancels_also_while_the_server_is_blocked() -> None:
    sent = fake("block(10)+cancel@2").receive(call(1), 0.0)
    assert [(d.at, d.kind) for d in sent] == [(2.0, "cancel"), (10.0, "frame")]


# -- closing ----------------------------------------------------------------------------------------------------------


def test_a_closed_connection_answers_nothing_and_the_others_go_on() -> None:
    server = fake("close")
    second = server.connect()
    assert kinds(server.receive(call(1), 0.0)) == ["close"]
    assert server.receive(call(2), 1.0) == []
    assert kinds(server.receive(call(3), 1.0, second)) == ["result"]


def test_a_connection_that_will_close_later_serves_until_then() -> None:
    server = fake("close@5")
    assert [(d.at, d.kind) for d in server.receive(call(1), 0.0)] == [(5.0, "close")]
    assert kinds(server.receive(call(2), 3.0)) == ["result"]
    assert server.receive(call(3), 6.0) == []


def test_a_connection_that_closes_at_a_cancellation_serves_until_then() -> None:
    server = fake("close@cancel")
    assert server.receive(call(1), 0.0) == []
    assert kinds(server.receive(call(2), 3.0)) == ["result"]
    assert kinds(server.receive(cancelled(1), 4.0)) == ["close"]
    assert server.receive(call(3), 5.0) == []


def test_every_request_has_a_serial_of_its_own_also_when_nobody_reads_it() -> None:
    server = fake("close")
    second = server.connect()
    server.receive(call(1), 0.0)
    server.receive(call(2), 1.0)
    (sent,) = server.receive(call(3), 1.0, second)
    assert sent.request == server.serial == 3


# -- the catalogue ----------------------------------------------------------------------------------------------------


def cursor(page: dict[str, Any]) -> Any:
    return page["result"].get("nextCursor")


def ask(server: FakeServer, at: Any = None, version: str = "2025-11-25") -> dict[str, Any]:
    params = {} if at is None else {"cursor": at}
    (sent,) = frames(server.receive(request("list", version, 1, params), 0.0))
    return sent


@pytest.mark.parametrize("version", VERSIONS)
def test_pages_lead_to_every_tool_once(version: str) -> None:
    server, names, at = fake("list:pages", version), [], None
    for _ in crm():
        page = ask(server, at, version)
        names += [tool["name"] for tool in page["result"]["tools"]]
        at = cursor(page)
    assert at is None
    assert names == [tool.name for tool in crm()]


def test_a_loop_repeats_its_cursor_for_ever() -> None:
    server = fake("list:loop")
    first = ask(server)
    assert len(first["result"]["tools"]) == len(crm())
    assert {cursor(ask(server, cursor(first))) for _ in range(20)} == {cursor(first)}


def test_a_fresh_loop_never_gives_the_same_cursor_again() -> None:
    server, seen, at = fake("list:fresh_loop"), set(), None
    for _ in range(50):
        at = cursor(ask(server, at))
        assert at not in seen
        seen.add(at)


@pytest.mark.parametrize("at", ["", "nonsense", "page-99", "page-x", "fresh-", 7, ["x"], {"a": 1}])
def test_a_cursor_that_the_server_never_gave_is_invalid(at: Any) -> None:
    assert ask(fake(), at)["error"]["code"] == -32602


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bad_tool_stands_behind_the_good_ones(version: str) -> None:
    tools = ask(fake("list:badtool", version), version=version)["result"]["tools"]
    assert [tool["name"] for tool in tools] == [*(tool.name for tool in crm()), "bad tool"]


# -- list_changed -----------------------------------------------------------------------------------------------------


def changing(script: str, version: str = "2025-11-25") -> FakeServer:
    return fake(script, version, changed=evolved(crm()))


def lists_new(server: FakeServer, now: float) -> bool:
    """Whether the server lists the changed catalogue, and answers in its terms."""
    listed = server.receive(request("list", server.case.protocol, "l"), now)[0].frame["result"]["tools"]
    called = server.receive(call("c", version=server.case.protocol), now)[0].frame["result"]["structuredContent"]
    new = listed == [dict(tool.definition) for tool in evolved(crm())]
    assert new or listed == [dict(tool.definition) for tool in crm()]
    assert ("orderId" in called) is new, "results follow the catalogue that holds"
    assert evolved(crm())[0].accepts_output(called) is new
    return new


def test_list_changed_changes_the_catalogue_from_its_moment_on() -> None:
    server = changing("list_changed@5")
    sent = server.receive(call(), 10.0)
    assert [d.at for d in sent] == [10.0, 15.0]
    assert not lists_new(server, 14.9)
    assert lists_new(server, 15.0)


def test_a_second_list_changed_does_not_bring_the_old_catalogue_back() -> None:
    server = changing("list_changed,ok,list_changed@50")
    server.receive(call(1), 0.0)
    assert lists_new(server, 1.0)
    server.receive(call(2), 2.0)
    assert lists_new(server, 3.0)


def test_the_answer_of_the_step_itself_is_still_in_the_old_terms() -> None:
    notification, answer = changing("list_changed").receive(call(), 0.0)
    assert notification.frame["method"] == "notifications/tools/list_changed"
    assert "order_id" in answer.frame["result"]["structuredContent"]


def test_list_changed_at_the_cancellation_changes_the_catalogue_then() -> None:
    server = changing("hang+list_changed@cancel")
    server.receive(call(1), 0.0)
    assert not lists_new(server, 5.0)
    assert kinds(server.receive(cancelled(1), 6.0)) == ["notifications/tools/list_changed"]
    assert lists_new(server, 6.0)


def test_without_a_second_catalogue_list_changed_is_only_a_notification() -> None:
    server = fake("list_changed")
    assert kinds(server.receive(call(), 0.0)) == ["notifications/tools/list_changed", "result"]
    assert not lists_new(server, 1.0)


# -- the stateless era ------------------------------------------------------------------------------------------------


def listen(name: Any = "ear", **wanted: Any) -> dict[str, Any]:
    return request("listen", NEW, name, {"notifications": wanted or {"toolsListChanged": True}})


def test_listening_is_acknowledged_with_the_tag_of_its_request_and_never_answered() -> None:
    (sent,) = fake("", NEW).receive(listen(), 0.0)
    assert sent.frame["method"] == "notifications/subscriptions/acknowledged"
    assert sent.frame["params"] == {
        "_meta": {wire.META_SUBSCRIPTION: "ear"},
        "notifications": {"toolsListChanged": True},
    }


def test_a_late_acknowledgement_is_the_scripts_doing() -> None:
    (sent,) = fake("listen:ok@3", NEW).receive(listen(), 10.0)
    assert (sent.at, sent.action) == (13.0, action("ok", at=3.0))


def test_list_changed_goes_to_each_open_subscription_with_its_tag() -> None:
    server = changing("list_changed", NEW)
    server.receive(listen("a"), 0.0)
    server.receive(listen(5), 0.0)
    server.receive(listen("deaf", promptsListChanged=True), 0.0)
    sent = server.receive(call(9, version=NEW), 1.0)
    tags = [f["params"]["_meta"][wire.META_SUBSCRIPTION] for f in frames(sent) if "method" in f]
    assert tags == ["a", 5]
    assert server.undelivered == []
    assert lists_new(server, 2.0)


def test_without_a_subscription_list_changed_is_not_sent_and_that_is_reported() -> None:
    server = changing("list_changed", NEW)
    assert kinds(server.receive(call(9, version=NEW), 1.0)) == ["result"]
    assert server.undelivered == ["list_changed: the client has no open subscription for it"]
    assert not lists_new(server, 2.0)


def test_a_cancelled_subscription_hears_nothing_any_more() -> None:
    server = changing("list_changed", NEW)
    server.receive(listen("a"), 0.0)
    server.receive(cancelled("a"), 0.5)
    assert kinds(server.receive(call(9, version=NEW), 1.0)) == ["result"]


def test_subscriptions_belong_to_their_connection() -> None:
    server = changing("list_changed", NEW)
    second = server.connect()
    server.receive(listen("a"), 0.0)
    assert kinds(server.receive(call(9, version=NEW), 1.0, second)) == ["result"]


def test_a_stateless_server_logs_only_for_a_request_that_names_a_level() -> None:
    server = fake("log*2", NEW)
    assert kinds(server.receive(call(1, version=NEW), 0.0)) == ["result"]
    assert server.undelivered == ["log: the request asked for no log level, so the server must not send any"]
    asked = request("call", NEW, 2, **{wire.META_LOG_LEVEL: "info"})
    assert kinds(server.receive(asked, 0.0)) == ["notifications/message", "result"]


@pytest.mark.parametrize("name", ["ping", "sampling", "elicit", "roots", "server_cancel"])
def test_a_stateless_server_sends_no_requests_and_says_why(name: str) -> None:
    server = fake(name, NEW)
    assert kinds(server.receive(call(1, version=NEW), 0.0)) == ["result"]
    (reason,) = server.undelivered
    assert reason.startswith(f"{name} needs protocol 202")
    assert reason.endswith(f"not {NEW}")


def test_elicitation_is_younger_than_the_first_handshake_version() -> None:
    server = fake("elicit", "2025-03-26")
    assert kinds(server.receive(call(1), 0.0)) == ["result"]
    assert server.undelivered == ["elicit needs protocol 2025-06-18, 2025-11-25, not 2025-03-26"]


def test_what_was_negotiated_decides_which_faults_can_be_played() -> None:
    server = fake("drift+elicit", "2025-11-25")
    server.receive(request("init", "2025-03-26"), 0.0)
    assert kinds(server.receive(call(1), 0.0)) == ["result"]
    assert [reason.partition(" ")[0] for reason in server.undelivered] == ["drift", "elicit"]


@pytest.mark.parametrize("answer", ["hang", "close"])
def test_there_is_nothing_to_repeat_where_no_answer_was(answer: str) -> None:
    server = fake(f"{answer}+dup")
    server.receive(call(1), 0.0)
    assert server.undelivered == ["dup: there is no answer to repeat"]


def test_server_requests_have_ids_of_their_own_that_never_repeat() -> None:
    server = fake("ping+sampling+roots*2")
    asked = [f["id"] for name in (1, 2) for f in frames(server.receive(call(name), 0.0)) if "method" in f]
    assert len(set(asked)) == 6
    assert not {1, 2} & set(asked)
