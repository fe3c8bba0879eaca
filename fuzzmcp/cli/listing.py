"""The catalogue of a real server over stdio, read with the SDK's own client and in real time."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import IO, Any

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from fuzzmcp.core.errors import CANNOT_RUN, FuzzmcpError

PAGES = 100
_TAIL = 15


class ListingError(FuzzmcpError):
    """A server whose tools cannot be listed. `stderr` are the last lines that it printed."""

    exit_code = CANNOT_RUN

    def __init__(self, message: str, stderr: str = "") -> None:
        super().__init__(message)
        self.stderr = stderr


def list_tools(command: Sequence[str], timeout: float = 30.0) -> tuple[list[dict[str, Any]], str]:
    """Start a server, list its tools over all pages, and stop it.

    Args:
        command: The command and its arguments; it gets the environment of this process.
        timeout: Real seconds for all of it.

    Returns:
        The tools as the server sent them, and a warning or the empty string.

    Raises:
        ListingError: There is no such command, or the server ended, failed, or took too long.
    """
    if shutil.which(command[0]) is None:
        raise ListingError(f"there is no command '{command[0]}'")
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # the SDK logs with a traceback what is said here in one sentence
    try:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
            try:
                return anyio.run(_listed, command, timeout, stderr)
            except Exception as error:
                stderr.seek(0)
                tail = stderr.read().rstrip().splitlines()[-_TAIL:]
                raise ListingError(_sentence(error, timeout), "\n".join(tail)) from None
    finally:
        logging.disable(before)


async def _listed(command: Sequence[str], timeout: float, stderr: IO[str]) -> tuple[list[dict[str, Any]], str]:
    server = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))
    with anyio.fail_after(timeout):
        async with stdio_client(server, errlog=stderr) as streams, ClientSession(*streams) as session:  # type: ignore[arg-type]
            await session.initialize()
            return await _pages(session)


async def _pages(session: ClientSession) -> tuple[list[dict[str, Any]], str]:
    found: list[dict[str, Any]] = []
    cursors: list[str | None] = [None]
    while len(cursors) <= PAGES:
        page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursors[-1]))
        dumped = page.model_dump(by_alias=True, mode="json", exclude_unset=True)
        found += dumped["tools"]
        cursor = dumped.get("nextCursor")
        if cursor is None:
            return found, ""
        if cursor in cursors:
            return found, f"the server repeats the cursor {cursor!r}: stopped at page {len(cursors)}"
        cursors.append(cursor)
    return found, f"the server has more than {PAGES} pages: stopped there"


def _sentence(error: BaseException, timeout: float) -> str:
    members = getattr(error, "exceptions", None)
    if members:
        return _sentence(members[0], timeout)
    if isinstance(error, TimeoutError):
        return f"the server did not list its tools within {timeout:g} s"
    streams = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
    if isinstance(error, streams) or "connection closed" in str(error).lower():
        return "the server ended before it had listed its tools"
    if isinstance(error, OSError):
        return f"the server cannot be started: {error}"
    return f"the server's tools cannot be listed: {type(error).__name__}: {error}"
