"""An upstream as an adapter of `requests`. It stands in for urllib3's connections, so urllib3's own retries work."""

from __future__ import annotations

import http
import importlib
import io
from collections.abc import Mapping
from functools import cache
from http.client import RemoteDisconnected
from typing import Any

from fuzzmcp.upstream.answers import Backend, HttpReply
from fuzzmcp.upstream.failures import Closed, TimedOut

_PORTS = {"http": 80, "https": 443}


def adapter(upstream: Backend, options: dict[str, Any]) -> Any:
    """The adapter; see `Upstream.adapter`."""
    return _adapter_class()(upstream, options)


class Connection:
    """What urllib3 wants of a connection. It connects to nothing.

    Args:
        upstream: Who answers.
        scheme, host, port: Where the client believes to be connected to.
    """

    default_port = 0
    default_socket_options = ()
    blocksize = 16_384
    proxy = proxy_config = source_address = socket_options = sock = None
    is_verified = True
    proxy_is_verified = None
    has_connected_to_proxy = False

    def __init__(self, upstream: Backend, scheme: str, host: str, port: int | None, **_: Any) -> None:
        self._upstream, self._origin = (
            upstream,
            f"{scheme}://{host}" + (f":{port}" if port not in (None, _PORTS[scheme]) else ""),
        )
        self.host, self.port = host, port
        self.timeout: Any = None
        self.is_connected = False
        self._sent: dict[str, Any] = {}
        self._how: dict[str, bool] = {}

    @property
    def is_closed(self) -> bool:
        return not self.is_connected

    def connect(self) -> None:
        self.is_connected = True

    def close(self) -> None:
        self.is_connected = False

    def request(
        self,
        method: str,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        chunked: bool = False,
        preload_content: bool = True,
        decode_content: bool = True,
        enforce_content_length: bool = True,
    ) -> None:
        self.connect()
        self._sent = {
            "method": method,
            "url": self._origin + url,
            "headers": {str(name): str(value) for name, value in (headers or {}).items()},
            "body": _bytes(body),
        }
        self._how = {
            "preload_content": preload_content,
            "decode_content": decode_content,
            "enforce_content_length": enforce_content_length,
        }

    def getresponse(self) -> Any:
        pending = self._upstream.receive(**self._sent)
        patience = float(self.timeout) if isinstance(self.timeout, (int, float)) else None
        try:
            reply = self._upstream.answer_blocking(pending, patience)
        except TimedOut:
            raise TimeoutError("timed out") from None
        except Closed:
            raise RemoteDisconnected("the server closed the connection without an answer") from None
        return self._response(reply)

    def _response(self, reply: HttpReply) -> Any:
        urllib3: Any = importlib.import_module("urllib3")
        try:
            reason = http.HTTPStatus(reply.status).phrase
        except ValueError:
            reason = ""
        return urllib3.HTTPResponse(
            body=io.BytesIO(reply.body),
            headers=dict(reply.headers),
            status=reply.status,
            version=11,
            reason=reason,
            request_method=self._sent["method"],
            request_url=self._sent["url"],
            **self._how,
        )


@cache
def _adapter_class() -> Any:
    adapters: Any = importlib.import_module("requests.adapters")
    urllib3: Any = importlib.import_module("urllib3")

    class Adapter(adapters.HTTPAdapter):  # type: ignore[misc]
        """Pools whose connections end in the upstream; there are no proxies on the way to it."""

        def __init__(self, upstream: Backend, options: dict[str, Any]) -> None:
            self._upstream = upstream
            super().__init__(**options)

        def init_poolmanager(self, *args: Any, **options: Any) -> None:
            super().init_poolmanager(*args, **options)
            self.poolmanager.pool_classes_by_scheme = {
                "http": self._pool(urllib3.HTTPConnectionPool),
                "https": self._pool(urllib3.HTTPSConnectionPool),
            }

        def _pool(self, base: Any) -> Any:
            upstream = self._upstream

            def connect(host: str, port: int | None = None, **options: Any) -> Connection:
                return Connection(upstream, base.scheme, host, port, **options)

            return type(base.__name__, (base,), {"ConnectionCls": staticmethod(connect)})

        def send(self, request: Any, **options: Any) -> Any:
            return super().send(request, **{**options, "proxies": None})

    return Adapter


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    if isinstance(body, (bytes, bytearray)):
        return bytes(body)
    return _bytes(body.read()) if hasattr(body, "read") else b"".join(map(_bytes, body))
