"""The one place that knows which version of the MCP SDK is installed.

Everything else asks this module: parse a line or a frame into what a transport puts on the read stream, dump what the
client wrote. Imported only when a client is driven, so that `import fuzzmcp` does not pay for the SDK.

fuzzmcp promises mcp 1.24 and later. `make history` drives older ones too, with fuzzmcp beside them; what those need
more is the one case of bare messages.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

try:
    from mcp.shared.message import SessionMessage
except ModuleNotFoundError:  # before mcp 1.8 the streams carried the messages themselves

    def SessionMessage(message: Any) -> Any:  # type: ignore[no-redef]  # noqa: N802
        return message


VERSION = version("mcp")
MAJOR = int(VERSION.split(".")[0])

if MAJOR >= 2:
    from mcp_types import jsonrpc_message_adapter as _adapter

    def parse_frame(frame: dict[str, Any]) -> Any:
        """What a transport of the SDK puts on the read stream for a decoded message: bad ones as the exception."""
        try:
            return SessionMessage(_adapter.validate_python(frame, by_name=False))
        except ValueError as error:
            return error

    def parse_line(line: str) -> Any:
        """The same for a line of text, as the SDK's stdio client reads it."""
        try:
            return SessionMessage(_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            return error

    def dump(item: Any) -> Any:
        """The JSON object of a message that the client wrote."""
        return item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)

else:
    from mcp import types

    _message: Any = types.JSONRPCMessage

    def parse_frame(frame: dict[str, Any]) -> Any:
        """What a transport of the SDK puts on the read stream for a decoded message: bad ones as the exception."""
        try:
            return SessionMessage(_message.model_validate(frame))
        except ValueError as error:
            return error

    def parse_line(line: str) -> Any:
        """The same for a line of text, as the SDK's stdio client reads it."""
        try:
            return SessionMessage(_message.model_validate_json(line))
        except ValueError as error:
            return error

    def dump(item: Any) -> Any:
        """The JSON object of a message that the client wrote."""
        return getattr(item, "message", item).model_dump(by_alias=True, mode="json", exclude_none=True)
