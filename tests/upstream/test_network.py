"""The watch over the network sees what it has to see, and sees nothing of a run."""

from __future__ import annotations

import socket
from typing import Any

from fuzzmcp import upstream

from .network import attempts, installed


def test_a_look_up_of_a_name_is_seen() -> None:
    with attempts() as seen, attempts() as inner:
        socket.getaddrinfo("127.0.0.1", 1)
        assert inner == ["socket.getaddrinfo"]
        inner.clear()
        from . import network

        for watcher in network._watchers:
            watcher.clear()
    assert seen == []


def test_no_socket_is_opened_for_any_answer() -> None:
    http = installed()

    def fetch(up: Any) -> list[int]:
        with http.Client(transport=up.transport(http)) as client:
            return [client.get("https://backend.test/").status_code for _ in range(5)]

    with attempts() as seen:
        assert upstream.run(fetch, "429,429cap,504,529").value == [429, 429, 504, 529, 200]
    assert seen == []
