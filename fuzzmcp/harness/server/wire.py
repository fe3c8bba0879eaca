"""Frames of both wires: pure functions that shape results, errors, notifications and server requests.

Sources: MCP specification, revisions 2024-11-05 to 2026-07-28; JSON-RPC 2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.protocol import (
    HANDSHAKE_VERSIONS,
    STATELESS_VERSIONS,
    era_of,
    has_resource_links,
    has_structured_content,
    unknown_tool_fields,
)

Frame = dict[str, Any]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022
META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

_MESSAGES = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid Request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    UNSUPPORTED_VERSION: "Unsupported protocol version",
}
_SERVER = {"name": "fuzzmcp", "version": "1"}


def response(request_id: Any, result: Frame) -> Frame:
    """A successful JSON-RPC response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error(request_id: Any, code: int, message: str | None = None, data: Any = None) -> Frame:
    """A JSON-RPC error response.

    >>> error(3, -32601)
    {'jsonrpc': '2.0', 'id': 3, 'error': {'code': -32601, 'message': 'Method not found'}}
    """
    body: Frame = {"code": code, "message": message or _MESSAGES.get(code, "Server error")}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def notification(method: str, params: Frame | None = None) -> Frame:
    """A JSON-RPC notification."""
    frame: Frame = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        frame["params"] = params
    return frame


def request(request_id: str, method: str, params: Frame | None = None) -> Frame:
    """A JSON-RPC request, as the server sends them in the handshake era."""
    return {"jsonrpc": "2.0", "id": request_id, **notification(method, params)}


def complete(result: Frame, version: str, *, cacheable: bool = False) -> Frame:
    """A result as the version wants it: the stateless era adds `resultType`, and caching hints where it lists."""
    if era_of(version) == "stateless":
        result["resultType"] = "complete"
        if cacheable:
            result["ttlMs"], result["cacheScope"] = 0, "private"
    return result


def negotiated(asked: Any, spoken: str) -> str:
    """The version that a handshake ends in: the client's where the server knows it and is not older, else its own.

    >>> negotiated("2025-06-18", "2025-11-25"), negotiated("1999-01-01", "2025-06-18")
    ('2025-06-18', '2025-06-18')
    """
    return asked if asked in HANDSHAKE_VERSIONS and asked <= spoken else spoken


def initialize_result(version: str) -> Frame:
    """The server's half of the handshake."""
    return {"protocolVersion": version, "capabilities": _capabilities(version), "serverInfo": dict(_SERVER)}


def discover_result(version: str) -> Frame:
    """The answer to `server/discover` (2026-07-28)."""
    result = {"supportedVersions": list(STATELESS_VERSIONS), "capabilities": _capabilities(version)}
    return complete(result, version, cacheable=True)


def _capabilities(version: str) -> Frame:
    return {"tools": {"listChanged": True}, "logging": {}}


def tool_entry(tool: Tool, version: str) -> Frame:
    """A tool as `tools/list` of that version may name it."""
    unknown = unknown_tool_fields(version)
    return {key: value for key, value in tool.definition.items() if key not in unknown}


def list_result(entries: list[Any], cursor: str | None, version: str) -> Frame:
    """One page of the catalogue."""
    result: Frame = {"tools": entries}
    if cursor is not None:
        result["nextCursor"] = cursor
    return complete(result, version, cacheable=True)


def call_result(content: list[Frame], structured: Any, is_error: bool, version: str) -> Frame:
    """A `tools/call` result; `structured` is left out when None or when the version does not know it."""
    result: Frame = {"content": content, "isError": is_error}
    if structured is not None and has_structured_content(version):
        result["structuredContent"] = structured
    return complete(result, version)


def text_block(text: str) -> Frame:
    """A text content block."""
    return {"type": "text", "text": text}


def link_block(version: str) -> Frame:
    """A resource link, or an embedded resource where the version knows no links."""
    if has_resource_links(version):
        return {"type": "resource_link", "uri": "https://example.com/report.pdf", "name": "report.pdf"}
    return {"type": "resource", "resource": {"uri": "https://example.com/report.txt", "text": "report"}}


def progress(token: Any, done: int) -> Frame:
    """A progress notification."""
    return notification("notifications/progress", {"progressToken": token, "progress": float(done)})


def log_message() -> Frame:
    """A log notification."""
    params = {"level": "warning", "logger": "crm", "data": "connection pool is nearly exhausted"}
    return notification("notifications/message", params)


def list_changed(subscription: Any = None) -> Frame:
    """`notifications/tools/list_changed`, tagged with its subscription in the stateless era."""
    if subscription is None:
        return notification("notifications/tools/list_changed")
    return notification("notifications/tools/list_changed", {"_meta": {META_SUBSCRIPTION: subscription}})


def acknowledged(subscription: Any, honoured: Mapping[str, Any]) -> Frame:
    """What opens a `subscriptions/listen` stream."""
    params = {"_meta": {META_SUBSCRIPTION: subscription}, "notifications": dict(honoured)}
    return notification("notifications/subscriptions/acknowledged", params)
