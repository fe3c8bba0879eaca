"""The command line, driven by the tests: in this process, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from fuzzmcp.cli import main

ROOT = Path(__file__).parents[1]
NAIVE = "examples/naive_agent.py:connect"
SDK = "examples/sdk_client.py:connect"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, _tidy(arguments))


def in_a_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fuzzmcp", *_tidy(arguments)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=120)


def _tidy(arguments: tuple[str, ...]) -> list[str]:
    """A search that does not say where it saves its findings saves none: the tests leave nothing behind."""
    saves = arguments[:1] != ("run",) or "--save" in arguments
    return list(arguments if saves else (arguments[0], "--no-save", *arguments[1:]))


def written(folder: Path, name: str, source: str) -> str:
    """A module in `folder`, as the start of a target's name."""
    path = folder / f"{name}.py"
    path.write_text(source)
    return str(path)


SIGNALLED = """
import signal
from contextlib import asynccontextmanager
from fuzzmcp.examples.naive_agent import connect as naive
connections = 0

@asynccontextmanager
async def connect(server):
    global connections
    connections += 1
    if connections == {connection}:
        signal.raise_signal(signal.{name})
    async with naive(server) as call:
        yield call
"""


def signalled(folder: Path, name: str, connection: int) -> str:
    """The naive agent, whose process gets the signal of that name at its so many-th connection."""
    return written(folder, f"client_and_{name}", SIGNALLED.format(name=name, connection=connection)) + ":connect"
