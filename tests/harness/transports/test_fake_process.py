"""The fake process: what its parent reads, writes and is told is what a real one gives."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import anyio
import pytest

import fuzzmcp
from fuzzmcp.core.case import Case
from fuzzmcp.core.script import Script
from fuzzmcp.harness.clock import VirtualClock
from fuzzmcp.harness.stage import Stage
from fuzzmcp.harness.transports.wire import Wire

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def line(name: Any = 1, order: str = "A1") -> bytes:
    params = {"name": "get_order", "arguments": {"order_id": order}}
    return json.dumps({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params}).encode() + b"\n"


def played(main: Callable[[Any, VirtualClock], Awaitable[None]], script: str = "", backend: str = "asyncio") -> Wire:
    """Run `main(process, clock)` in virtual time with a fresh process, and return its wire."""
    stage = Stage(Case(script=Script.parse(script), transport="stdio", backend=backend))

    async def run() -> None:
        async with await stage.server.open_process(["server", "--flag"], cwd="/") as process:
            await main(process, stage.clock)

    stage.clock.run(run)
    return stage.wire


@BACKENDS
def test_a_line_is_answered_by_a_line(backend: str) -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line()[:10])
        await process.stdin.send(line()[10:] + line(2)[:5])
        answer = await process.stdout.receive()
        assert answer.endswith(b"}\n")
        assert json.loads(answer)["id"] == 1
        await process.stdin.send(line(2)[5:])
        assert json.loads(await process.stdout.receive())["id"] == 2

    assert [event.kind for event in played(main, backend=backend).events] == [
        *("open", "request", "deliver", "request", "deliver", "hang_up")
    ]


def test_what_is_due_at_one_moment_is_read_at_once_and_no_more_than_was_asked_for() -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line(1) + line(2))
        first = await process.stdout.receive(100)
        rest = await process.stdout.receive()
        assert len(first) == 100
        assert [json.loads(text)["id"] for text in (first + rest).splitlines()] == [1, 2]
        with pytest.raises(ValueError, match="positive"):
            await process.stdout.receive(0)

    played(main)


def test_a_split_answer_comes_in_two_reads_and_nothing_comes_between() -> None:
    reads: list[tuple[float, bytes]] = []

    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line(1))
        with anyio.move_on_after(30):
            while True:
                read = await process.stdout.receive()
                reads.append((clock.now(), read))

    wire = played(main, "ok@1+split@5+ping@2+log@4+block(1)@4.5")
    assert [at for at, _ in reads] == [1.0, 5.5], "the server is blocked, and so the rest waits"
    assert reads[0][1][-1] > 127
    (first,) = reads[1][1].splitlines()[:1]
    assert json.loads(reads[0][1] + first)["id"] == 1
    assert [event.method for event in wire.events if event.kind == "deliver"] == [
        "",
        "",
        "ping",
        "notifications/message",
    ]


def test_what_is_no_utf_8_is_written_down_as_no_message() -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(b"\xff\xfe\nnull\n\n")

    events = played(main).events
    assert [(event.kind, event.text) for event in events[1:4]] == [
        ("junk", "b'\\xff\\xfe'"),
        ("junk", "None"),
        ("junk", "''"),
    ]


@BACKENDS
def test_a_process_that_has_exited_tells_its_status_and_takes_nothing_more(backend: str) -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line())
        assert process.returncode == await process.wait() == -9
        with pytest.raises(anyio.EndOfStream):
            await process.stdout.receive()
        with pytest.raises(anyio.BrokenResourceError):
            await process.stdin.send(line(2))
        if backend == "asyncio":
            with pytest.raises(ProcessLookupError):
                process.terminate()
        await process.stdin.aclose()
        with pytest.raises(anyio.ClosedResourceError):
            await process.stdin.send(line(2))

    wire = played(main, "exit(-9)", backend)
    assert wire.closed_by_server


def test_a_process_that_has_closed_its_stdout_lives_on_and_hears_nothing() -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line())
        with pytest.raises(anyio.EndOfStream):
            await process.stdout.receive()
        await process.stdin.send(line(2))
        assert process.returncode is None
        await process.stdin.aclose()
        assert process.returncode == 0

    assert played(main, "close").closed_by_server


def test_a_blocked_process_sees_the_end_of_its_stdin_when_it_is_free() -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line())
        await process.stdin.aclose()
        assert process.returncode is None
        assert await process.wait() == 0
        assert clock.now() == 20.0

    assert not played(main, "block(20)").closed_by_server


@pytest.mark.parametrize("name", ["terminate", "kill"])
def test_a_signal_ends_it_at_once(name: str) -> None:
    async def main(process: Any, clock: VirtualClock) -> None:
        await process.stdin.send(line())
        getattr(process, name)()
        assert process.returncode == -{"terminate": signal.SIGTERM, "kill": signal.SIGKILL}[name]

    ends = [event.text for event in played(main, "block(20)").events if event.kind == "hang_up"]
    assert ends == [f"SIG{name[:4].upper()}", ""]


def test_a_process_that_is_left_alone_is_a_leak() -> None:
    async def agent(server: Any) -> None:
        await (await server.open_process(["server"])).stdin.send(line())

    assert [leak.what for leak in fuzzmcp.run(agent).leaks] == ["connection 0 was never closed"]


# -- and a real one ---------------------------------------------------------------------------------------------------

CHILD = """
import os, sys
for line in sys.stdin:
    if "A2" in line:
        sys.exit(3)
    os.write(1, b'{"jsonrpc": "2.0", "id": 1, "result": {}}' + os.linesep.encode())
"""


async def watched(process: Any) -> list[Any]:
    """What a parent sees of a child that answers two lines, exits with the second, and is then spoken to."""
    seen: list[Any] = []

    async def tried(function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        try:
            seen.append(await function(*arguments))
        except Exception as error:
            seen.append(type(error))

    async with process:
        await process.stdin.send(line(1))
        seen.append(json.loads(await process.stdout.receive())["id"])
        seen.append(process.returncode)
        await process.stdin.send(line(2, "A2"))
        await tried(process.wait)
        seen.append(process.returncode)
        await tried(process.stdout.receive)
        for _ in range(5):  # a real pipe takes what comes before its end was noticed
            await tried(process.stdin.send, line(3))
        seen[-5:] = seen[-1:]
        await process.stdin.aclose()
        await tried(process.stdin.send, b"x")
        await process.stdout.aclose()
        await tried(process.stdout.receive)
    return seen


@BACKENDS
@pytest.mark.skipif(sys.platform == "win32", reason="pipes and signals of POSIX")
def test_a_real_child_looks_the_same_to_its_parent(backend: str) -> None:
    """The one test that starts a process, in real time: it has no clock to look at."""
    if backend == "asyncio" and tuple(map(int, version("anyio").split(".")[:2])) < (4, 12):
        pytest.skip("before 4.12 anyio lets asyncio's own errors through")

    async def real() -> list[Any]:
        return await watched(await anyio.open_process([sys.executable, "-c", CHILD], stderr=None))

    seen: list[Any] = []

    async def fake(process: Any, clock: VirtualClock) -> None:
        seen.extend(await watched(process))

    played(fake, "ok,exit(3)", backend)
    assert anyio.run(real, backend=backend) == seen
