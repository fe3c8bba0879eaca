"""What is seen of a client without its help: code locations, logs, warnings and exceptions that nobody retrieved."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import sys
import sysconfig
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import FrameType
from typing import Any

from fuzzmcp.trace import Log, Site

CALL: ContextVar[int | None] = ContextVar("fuzzmcp_call", default=None)
"""The call that the running code works for. Set around each call, inherited by the tasks it starts."""

_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CLIENTS = tuple(_HERE + folder + os.sep for folder in ("clients", "examples"))
_LIBRARIES = tuple(
    sorted({os.path.realpath(p) + os.sep for p in map(sysconfig.get_path, ("stdlib", "purelib", "platlib")) if p})
)
_LOGS_MAX = 1_000


class Stacks:
    """Takes the coroutine stack of each request, and names the code that sent it and the loop that sent it again.

    The innermost coroutine frame that two successive requests of one call share is the one that looped. Frames are
    compared while both are alive, and let go with `clear`: no frame outlives its run.
    """

    def __init__(self, own_files: tuple[str, ...] = ()) -> None:
        self._own = own_files
        self._parents: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._before: dict[int, list[FrameType]] = {}

    def task_started(self, task: Any, parent: Any) -> None:
        """Remember who started a task, so that a stack can go on across tasks."""
        code = getattr(task.get_coro(), "cr_code", None)
        if parent is not None and not (code is not None and _ours(code.co_filename)):
            self._parents[task] = weakref.ref(parent)

    def take(self, call: int | None, depth: int = 2) -> tuple[Site | None, Site | None]:
        """Where the running request comes from, and the place that looped if its call has sent one before.

        Args:
            call: The call that the request belongs to, or None.
            depth: Frames between this one and the first of the client's.
        """
        frames = self._chain(sys._getframe(depth))
        site = self._sender(frames)
        if call is None:
            return site, None
        before = self._before.get(call)
        self._before[call] = frames
        return site, None if before is None else _innermost_shared(before, frames)

    def _sender(self, frames: list[FrameType]) -> Site | None:
        """The innermost place in the client's own code, or the entry into the library where all is a library's."""
        for frame in frames:
            path, installed = _place(frame.f_code.co_filename)
            if not installed or path in self._own:
                return _site(frame)
        return _site(frames[-1]) if frames else None

    def clear(self) -> None:
        """Let go of every frame."""
        self._before.clear()

    def _chain(self, frame: FrameType | None) -> list[FrameType]:
        """Coroutine frames of the client, innermost first, continued into the tasks that started this one."""
        frames = []
        while frame is not None:
            code = frame.f_code
            if _ours(code.co_filename):
                break  # the client's code ends here: what follows is the harness, and whoever runs it
            if code.co_flags & _COROUTINE:
                frames.append(frame)
            frame = frame.f_back
        task = _current_task() if self._parents else None
        while task is not None:
            reference = self._parents.get(task)
            task = reference() if reference is not None else None
            if task is not None:
                frames.extend(reversed(list(_suspended(task.get_coro()))))
        return frames


@lru_cache(maxsize=4096)
def _place(filename: str) -> tuple[str, bool]:
    """The real path of a source file, and whether it lies among installed packages or the standard library."""
    path = os.path.realpath(filename)
    return path, path.startswith(_LIBRARIES)


@lru_cache(maxsize=4096)
def _ours(filename: str) -> bool:
    """Whether a source file belongs to fuzzmcp itself; the clients that ship with it do not."""
    return filename.startswith(_HERE) and not filename.startswith(_CLIENTS)


def _current_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _suspended(awaitable: Any) -> Iterator[FrameType]:
    """Frames of a suspended coroutine and of what it awaits, outermost first, the client's only."""
    while awaitable is not None:
        frame = getattr(awaitable, "cr_frame", None) or getattr(awaitable, "ag_frame", None)
        if frame is not None and not _ours(frame.f_code.co_filename):
            yield frame
        awaitable = getattr(awaitable, "cr_await", None) or getattr(awaitable, "ag_await", None)


def _site(frame: FrameType) -> Site:
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno, code.co_name)


def _innermost_shared(before: list[FrameType], now: list[FrameType]) -> Site | None:
    shared = None
    for old, new in zip(reversed(before), reversed(now), strict=False):
        if old is not new:
            break
        shared = new
    return None if shared is None else _site(shared)


class _Collector(logging.Handler):
    def __init__(self, now: Callable[[], float], into: list[Log]) -> None:
        super().__init__(logging.WARNING)
        self._now, self._into = now, into

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._into) < _LOGS_MAX:
            try:
                message = record.getMessage()
            except Exception as error:
                message = f"{record.msg!r} ({type(error).__name__} while formatting)"
            self._into.append(Log(self._now(), record.name, record.levelname, message))


@contextmanager
def collected_logs(now: Callable[[], float]) -> Iterator[list[Log]]:
    """Log records from WARNING up and Python warnings, while the block runs; none of them reaches the terminal.

    Args:
        now: The virtual clock, in seconds.
    """
    logs: list[Log] = []
    root = logging.getLogger()
    others, root.handlers = root.handlers, [_Collector(now, logs)]

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        logs.append(Log(now(), "warnings", category.__name__, str(message)))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            yield logs
    finally:
        root.handlers = others
