"""Frames of both wires: the shapes that hold whatever a script says."""

from __future__ import annotations

from typing import Any

import pytest

from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.protocol import HANDSHAKE_VERSIONS, METHODS, STATELESS_VERSIONS, VERSIONS
from fuzzmcp.harness.server import wire

from .frames import HANDSHAKE, STATELESS, fake, frames, judges, request, validate

NOW = 10.0


def answer(version: str, frame: dict[str, Any]) -> dict[str, Any]:
    (sent,) = frames(fake("", version).receive(frame, NOW))
    return sent


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", METHODS)
def test_without_a_fault_every_answer_is_valid_for_its_version(method: str, version: str) -> None:
    sent = answer(version, request(method, version, name="x-1"))
    validate(sent, version, METHODS[method])
    assert sent.get("id", "x-1") == "x-1"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", ["resources/list", "prompts/get", "completion/complete", "no/such", "", 7, None])
def test_an_unknown_method_is_refused_and_never_met_with_silence(method: Any, version: str) -> None:
    sent = answer(version, {"jsonrpc": "2.0", "id": 1, "method": method})
    assert sent == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}


@pytest.mark.parametrize("version", HANDSHAKE)
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_a_server_of_the_handshake_era_does_not_know_the_methods_of_the_next(method: str, version: str) -> None:
    assert answer(version, {"jsonrpc": "2.0", "id": 1, "method": method})["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["ping", "logging/setLevel"])
def test_ping_and_log_levels_exist_in_the_handshake_era_only(method: str) -> None:
    for version in HANDSHAKE:
        sent = answer(version, {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
        assert sent["result"] == {}
        validate(sent, version, method)
    assert answer(STATELESS[0], {"jsonrpc": "2.0", "id": 1, "method": method})["error"]["code"] == -32601


@pytest.mark.parametrize("spoken", HANDSHAKE_VERSIONS)
@pytest.mark.parametrize(
    "asked", [*HANDSHAKE_VERSIONS, *STATELESS_VERSIONS, "1999-01-01", "2099-01-01", "", None, 7, ["2025-11-25"]]
)
def test_a_handshake_ends_in_the_clients_version_or_in_the_newest_that_the_server_speaks(
    asked: Any, spoken: str
) -> None:
    hello = request("init", spoken)
    hello["params"]["protocolVersion"] = asked
    agreed = answer(spoken, hello)["result"]["protocolVersion"]
    older = asked in HANDSHAKE_VERSIONS and asked <= spoken
    assert agreed == (asked if older else spoken)


def test_what_was_negotiated_decides_what_results_may_hold() -> None:
    server = fake("", "2025-11-25")
    server.receive(request("init", "2025-03-26"), NOW)
    (listed,) = frames(server.receive(request("list", "2025-03-26", name=2), NOW))
    (called,) = frames(server.receive(request("call", "2025-03-26", name=3), NOW))
    assert not any({"outputSchema", "title"} & tool.keys() for tool in listed["result"]["tools"])
    assert "structuredContent" not in called["result"]


def test_the_first_version_knows_no_annotations_of_tools() -> None:
    for version in VERSIONS:
        listed = answer(version, request("list", version))["result"]["tools"]
        assert any("annotations" in tool for tool in listed) is (version >= "2025-03-26")


def test_negotiation_concerns_one_connection_only() -> None:
    server = fake("", "2025-11-25")
    second = server.connect()
    server.receive(request("init", "2025-03-26"), NOW)
    (called,) = frames(server.receive(request("call", "2025-11-25"), NOW, second))
    assert "structuredContent" in called["result"]


def test_the_stateless_server_refuses_a_handshake_and_says_what_it_speaks() -> None:
    sent = answer(STATELESS[0], request("init", "2025-11-25"))
    assert sent["error"]["code"] == -32022
    assert sent["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2025-11-25"}


@pytest.mark.parametrize("method", ["discover", "list", "call"])
def test_every_stateless_result_says_that_it_is_complete_and_lists_say_how_long_they_hold(method: str) -> None:
    result = answer(STATELESS[0], request(method, STATELESS[0]))["result"]
    assert result["resultType"] == "complete"
    assert ("ttlMs" in result) is (method != "call")
    assert ("cacheScope" in result) is (method != "call")


@pytest.mark.parametrize("version", HANDSHAKE)
@pytest.mark.parametrize("method", ["init", "list", "call"])
def test_nothing_of_the_stateless_era_leaks_into_a_handshake(method: str, version: str) -> None:
    result = answer(version, request(method, version))["result"]
    assert not {"resultType", "ttlMs", "cacheScope"} & result.keys()


@pytest.mark.parametrize("version", [version for version in VERSIONS if version >= "2025-06-18"])
def test_the_catalogue_is_listed_as_it_was_given(version: str) -> None:
    listed = answer(version, request("list", version))["result"]["tools"]
    assert listed == [dict(tool.definition) for tool in crm()]


def test_the_server_declares_that_its_catalogue_may_change() -> None:
    for version in HANDSHAKE:
        assert answer(version, request("init", version))["result"]["capabilities"]["tools"] == {"listChanged": True}
    discovered = answer(STATELESS[0], request("discover", STATELESS[0]))["result"]
    assert discovered["capabilities"]["tools"] == {"listChanged": True}


def test_a_link_is_a_content_block_that_the_version_knows() -> None:
    for version in VERSIONS:
        result = wire.call_result([wire.link_block(version)], None, False, version)
        validate(wire.response(1, result), version, "tools/call")
    assert wire.link_block("2025-03-26")["type"] == "resource"
    assert wire.link_block("2025-06-18")["type"] == "resource_link"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_judge_of_these_tests_rejects_what_is_malformed(version: str) -> None:
    bad = wire.response(1, wire.complete({"content": "text"}, version))
    if judges(version):
        with pytest.raises(ValueError, match="content"):
            validate(bad, version, "tools/call")
