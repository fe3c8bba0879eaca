"""What Python's audit events tell of the network, and the HTTP libraries that are installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

with suppress(ImportError):
    import requests  # noqa: F401  (urllib3 tries IPv6 out when it is imported)

_EVENTS = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind", "socket.sendto"}
_watchers: list[list[str]] = []


def _hook(event: str, _: tuple[Any, ...]) -> None:
    if event in _EVENTS:
        for seen in _watchers:
            seen.append(event)


sys.addaudithook(_hook)  # for good: an audit hook cannot be taken back


@contextmanager
def attempts() -> Iterator[list[str]]:
    """The attempts to reach a network while the block runs."""
    seen: list[str] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.remove(seen)


def library(name: str) -> Any:
    """The module, or a skip that says what is missing."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


def installed() -> Any:
    """One of the two httpx libraries: the MCP SDK brings either."""
    return importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
