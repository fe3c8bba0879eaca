"""Requests to the fake, and the SDK's own models as the judge of what comes back."""

from __future__ import annotations

import json
from importlib.metadata import version as installed
from typing import Any

from fuzzmcp.core.case import Case
from fuzzmcp.core.protocol import HANDSHAKE_VERSIONS, METHODS, STATELESS_VERSIONS, era_of
from fuzzmcp.core.script import Script
from fuzzmcp.harness.server import Delivery, FakeServer
from fuzzmcp.harness.server import wire as fake_wire

MAJOR = int(installed("mcp").split(".")[0])
HANDSHAKE, STATELESS = HANDSHAKE_VERSIONS, STATELESS_VERSIONS
SENT = {
    "init": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    "discover": {},
    "list": {},
    "call": {"name": "get_order", "arguments": {"order_id": "A7"}},
    "listen": {"notifications": {"toolsListChanged": True}},
}


def request(method: str, version: str, name: Any = 1, params: Any = None, **meta: Any) -> dict[str, Any]:
    """A valid request of a script method (`call`, `list` …) in this version, with the id `name`."""
    params = json.loads(json.dumps(SENT[method] if params is None else params))
    if method == "init":
        params["protocolVersion"] = version
    if era_of(version) == "stateless":
        meta = {fake_wire.META_VERSION: version, fake_wire.META_CAPABILITIES: {}, **meta}
    if meta:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": name, "method": METHODS[method], "params": params}


def call(name: Any = 1, tool: str = "get_order", version: str = "2025-11-25", **arguments: Any) -> dict[str, Any]:
    """A `tools/call`."""
    arguments = arguments or {"order_id": "A7"}
    return request("call", version, name, {"name": tool, "arguments": arguments})


def cancelled(name: Any) -> dict[str, Any]:
    """The client's cancellation of a request."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": name}}


def fake(script: str = "", version: str = "2025-11-25", transport: str = "memory", **more: Any) -> FakeServer:
    """A fake server with one connection."""
    server = FakeServer(Case(script=Script.parse(script), protocol=version, transport=transport, **more))
    server.connect(transport)
    return server


def frames(deliveries: list[Delivery]) -> list[dict[str, Any]]:
    """What was sent as frames, in order."""
    return [d.frame for d in deliveries if d.frame is not None]


def validate(frame: Any, version: str, asked: str) -> None:
    """Hold a frame of the server against the SDK's models; `asked` is the wire method of the request it answers.

    SDK 1.x knows nothing of the stateless era: there, only the envelope is judged.

    Raises:
        ValueError, KeyError: The frame is not valid, or not part of this version.
    """
    if MAJOR >= 2:
        _validate_2(frame, version, asked)
    else:
        _validate_1(frame, version, asked)


def _validate_2(frame: Any, version: str, asked: str) -> None:
    import mcp_types
    from mcp_types import methods

    mcp_types.jsonrpc_message_adapter.validate_python(frame, by_name=False)
    if "result" in frame:
        methods.parse_server_result(asked, version, frame["result"])
    elif "method" in frame and "id" in frame:
        methods.parse_server_request(frame["method"], version, frame.get("params"))
    elif "method" in frame:
        methods.parse_server_notification(frame["method"], version, frame.get("params"))


def _validate_1(frame: Any, version: str, asked: str) -> None:
    from mcp import types

    types.JSONRPCMessage.model_validate(frame)
    if era_of(version) == "stateless":
        return
    body = {key: value for key, value in frame.items() if key not in ("jsonrpc", "id")}
    results = {
        "initialize": types.InitializeResult,
        "tools/list": types.ListToolsResult,
        "tools/call": types.CallToolResult,
        "ping": types.EmptyResult,
        "logging/setLevel": types.EmptyResult,
    }
    if "result" in frame:
        results[asked].model_validate(frame["result"])
    elif "method" in frame:
        (types.ServerRequest if "id" in frame else types.ServerNotification).model_validate(body)


def judges(version: str) -> bool:
    """Whether the installed SDK can tell a malformed result of this version from a valid one."""
    return MAJOR >= 2 or era_of(version) == "handshake"
