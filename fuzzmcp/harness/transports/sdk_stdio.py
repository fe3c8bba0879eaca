"""The seam of the SDK's stdio client: inside `with server.process():` it starts a fake process in place of a real one.

Frameworks without a transport that their users can give reach a server only by `stdio_client(StdioServerParameters)`
of the SDK. That is public, and so is its job; where it starts the process is not. Both majors of the SDK do that in one
function, which this module replaces while such a block lasts, on every platform and before any event loop is asked for
a child. What the SDK itself does with pipes and processes stays, and is under test with its users.

This is the one place that touches the SDK's insides: two names, both checked when a block begins, and by a test:

- `mcp.client.stdio._create_platform_compatible_process(command, args, env, errlog, cwd)`, which starts the process;
- `os` in `mcp.os.posix.utilities`, by which a process that does not end in time is signalled by its number.

The block counts for the thread that entered it and for any other: frameworks with an event loop in a thread of their
own start their process there.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fuzzmcp.core.errors import OwnFault
from fuzzmcp.harness.observe.stacks import STACKS
from fuzzmcp.harness.transports.attribution import WriterAttribution
from fuzzmcp.harness.transports.fake_process import FakeProcess, Stdin, open_process
from fuzzmcp.harness.transports.wire import Wire

_START = "_create_platform_compatible_process"
_lock = threading.Lock()
_open: list[_Block] = []
"""The blocks that last, in the order in which they began."""
_saved: list[tuple[ModuleType, str, Any]] = []


class SeamError(OwnFault, RuntimeError):
    """The installed SDK starts its processes in a way that fuzzmcp does not know."""


@dataclass(frozen=True, eq=False)
class _Block:
    """A block in which the SDK's stdio client starts fake processes of one run."""

    wire: Wire


@contextmanager
def process_of(wire: Wire, ends: ExitStack) -> Iterator[None]:
    """Let the SDK's stdio client start fake processes, which are connections of `wire`, while the block lasts.

    Args:
        wire: Joins them to the client.
        ends: What is done at the end of the run: the block does not outlive it, also where the client never leaves it.

    Raises:
        SeamError: The installed SDK is not built as expected.
    """
    block = _Block(wire)
    with _lock:
        if not _open:
            _replace()
        _open.append(block)
    ends.callback(_leave, block)
    try:
        yield
    finally:
        _leave(block)


def _leave(block: _Block) -> None:
    with _lock:
        if block in _open:
            _open.remove(block)
        while not _open and _saved:
            module, name, before = _saved.pop()
            setattr(module, name, before)


@asynccontextmanager
async def over_stdio(wire: Wire, ends: ExitStack) -> AsyncIterator[Any]:
    """A connection by the SDK's own stdio client: its read and write streams, with a fake process behind them."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    with process_of(wire, ends):
        async with stdio_client(StdioServerParameters(command="fuzzmcp")) as streams:
            yield streams


def _replace() -> None:
    from mcp.client import stdio
    from mcp.os.posix import utilities

    for module, name in ((stdio, _START), (utilities, "os")):
        if name not in vars(module):
            from fuzzmcp.harness import sdk

            raise SeamError(f"mcp {sdk.VERSION} has no {module.__name__}.{name}: its stdio client cannot be tested")
    for module, name, new in ((stdio, _START, _start), (utilities, "os", _Signals(vars(utilities)["os"]))):
        _saved.append((module, name, vars(module)[name]))
        setattr(module, name, new)


async def _start(command: str, args: list[str], env: Any = None, errlog: Any = None, cwd: Any = None) -> FakeProcess:
    """In place of the SDK's own function: whatever the command is, the fake server answers."""
    wire = _wire()
    return await open_process(wire, WriterAttribution(wire.attribution))


def _wire() -> Wire:
    """The wire of the running code: its run's, or the one of the last block where a thread knows of no run."""
    stacks = STACKS.get()
    return next((block.wire for block in reversed(_open) if block.wire.stacks is stacks), _open[-1].wire)


class _Signals:
    """The module `os` for code that signals by number: the numbers of fake processes mean those."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def getpgid(self, pid: int) -> int:
        return pid if _process(pid) is not None else int(self._real.getpgid(pid))

    def killpg(self, pgid: int, number: int) -> None:
        process = _process(pgid)
        if process is None:
            self._real.killpg(pgid, number)
        elif process.returncode is not None:
            raise ProcessLookupError
        elif number:
            process.send_signal(number)


def _process(pid: int) -> FakeProcess | None:
    """The fake process of that number: of several runs, the running code's comes first."""
    with _lock:
        wires = [_wire(), *(block.wire for block in reversed(_open))] if _open else []
    ends = (end for wire in wires for _, end in wire.streams if isinstance(end, Stdin))
    return next((end.process for end in ends if end.process.pid == pid), None)
