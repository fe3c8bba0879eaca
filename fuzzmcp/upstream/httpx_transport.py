"""An upstream as a transport of `httpx` and `httpx2`, which have the same names: sync and async in one object."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Iterator
from functools import cache
from types import ModuleType
from typing import Any

from fuzzmcp.core.spelling import meant
from fuzzmcp.upstream.answers import Backend, HttpReply
from fuzzmcp.upstream.failures import Closed, Hopeless, TimedOut

LIBRARIES = ("httpx", "httpx2")


def transport(upstream: Backend, library: str | ModuleType) -> Any:
    """The transport; see `Upstream.transport`."""
    name = library.__name__ if isinstance(library, ModuleType) else library
    if name not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}, not {name!r}{meant(name, LIBRARIES)}")
    return _class_for(name)(upstream)


@cache
def _class_for(name: str) -> Any:
    library: Any = importlib.import_module(name)

    class Body(library.SyncByteStream, library.AsyncByteStream):  # type: ignore[misc]
        """What arrives of a body, and the library's own error where that is less than was promised."""

        def __init__(self, reply: HttpReply, request: Any) -> None:
            self._reply, self._request = reply, request

        def __iter__(self) -> Iterator[bytes]:
            if self._reply.body:
                yield self._reply.body
            self._complain()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if self._reply.body:
                yield self._reply.body
            self._complain()

        def _complain(self) -> None:
            promised, got = dict(self._reply.headers)["content-length"], len(self._reply.body)
            if got < int(promised):
                message = f"the server closed the connection after {got} of {promised} bytes"
                raise library.RemoteProtocolError(message, request=self._request)

    class Transport(library.BaseTransport, library.AsyncBaseTransport):  # type: ignore[misc]
        def __init__(self, upstream: Backend) -> None:
            self._upstream = upstream

        def handle_request(self, request: Any) -> Any:
            body = request.read()
            pending = self._upstream.receive(request.method, str(request.url), dict(request.headers), body)
            try:
                reply = self._upstream.answer_blocking(pending, _patience(request))
            except Hopeless as end:
                raise self._failure(end, request) from None
            return self._response(reply, request)

        async def handle_async_request(self, request: Any) -> Any:
            body = await request.aread()
            pending = self._upstream.receive(request.method, str(request.url), dict(request.headers), body)
            try:
                reply = await self._upstream.answer(pending, _patience(request))
            except Hopeless as end:
                raise self._failure(end, request) from None
            return self._response(reply, request)

        def _response(self, reply: HttpReply, request: Any) -> Any:
            return library.Response(reply.status, headers=list(reply.headers), stream=Body(reply, request))

        def _failure(self, end: Hopeless, request: Any) -> Exception:
            error: Exception
            match end:
                case TimedOut():
                    error = library.ReadTimeout("no answer within the client's read timeout", request=request)
                case Closed():
                    message = "the server closed the connection without an answer"
                    error = library.RemoteProtocolError(message, request=request)
                case _:
                    raise end
            return error

    return Transport


def _patience(request: Any) -> float | None:
    limits = request.extensions.get("timeout") or {}
    seconds = limits.get("read")
    return None if seconds is None else float(seconds)
