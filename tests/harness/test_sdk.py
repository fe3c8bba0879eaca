"""The one module that knows the version of the SDK."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from fuzzmcp.harness import sdk

FRAME = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module as it is where the SDK has no `SessionMessage`."""
    monkeypatch.setitem(sys.modules, "mcp.shared.message", None)
    spec = importlib.util.spec_from_file_location("older_sdk", sdk.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_message_comes_out_as_it_went_in() -> None:
    assert sdk.dump(sdk.parse_frame(FRAME)) == FRAME


def test_before_mcp_1_8_the_streams_carry_the_messages_themselves(older: Any) -> None:
    for item in (older.parse_frame(FRAME), older.parse_line('{"jsonrpc": "2.0", "id": 1, "method": "ping"}')):
        assert type(item) is type(sdk.parse_frame(FRAME).message)
    assert isinstance(older.parse_line("no JSON"), Exception)


@pytest.mark.skipif(sdk.MAJOR >= 2, reason="no 2.x carried them")
def test_bare_messages_are_dumped_as_well(older: Any) -> None:
    assert older.dump(older.parse_frame(FRAME)) == FRAME
