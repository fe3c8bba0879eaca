"""What is seen of a client without its help: code locations, logs, warnings and exceptions that nobody retrieved."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import os
import sys
import sysconfig
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any

from fuzzmcp.retry_libraries import retried
from fuzzmcp.trace import Log, Loop, Site

CALL: ContextVar[int | None] = ContextVar("fuzzmcp_call", default=None)
"""The call that the running code works for. Set around each call, inherited by the tasks it starts."""

STACKS: ContextVar[Stacks | None] = ContextVar("fuzzmcp_stacks", default=None)
"""The stacks of the run that the running code belongs to, for whoever else records requests in it."""

_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CLIENTS = tuple(_HERE + folder + os.sep for folder in ("clients", "examples"))
_LIBRARIES = tuple(
    sorted({os.path.realpath(p) + os.sep for p in map(sysconfig.get_path, ("stdlib", "purelib", "platlib")) if p})
)
_HARNESS_FILE, _JOBS = _HERE + "harness.py", _HERE + os.path.join("clock", "threads.py")
_TRIO_THREADS = os.path.join(os.sep, "trio", "_threads.py")
_MACHINERY_FILES = tuple(
    library + name
    for library in _LIBRARIES
    for name in (
        "contextlib.py", "threading.py",
        *(package + os.sep for package in ("anyio", "asyncio", "concurrent", "outcome", "sniffio", "trio")),
    )
)  # fmt: skip
_AWAITABLES = (
    (types.CoroutineType, "cr_frame", "cr_await"),
    (types.AsyncGeneratorType, "ag_frame", "ag_await"),
    (types.GeneratorType, "gi_frame", "gi_yieldfrom"),
)
_STEPPED = (types.CoroutineType, types.AsyncGeneratorType)
_LOGS_MAX = 1_000


class Stacks:
    """Takes the stack of each request, and names the code that sent it and the place that came back to send it again.

    Of a coroutine the frame object stays the same for as long as it lives. So the innermost frame that two successive
    requests of one call share is the one that looped. A stack goes on into the task that started the running one, and
    from a thread into the call that the thread works for. Frames are compared while both are alive, and let go with
    `clear`: no frame outlives its run.
    """

    def __init__(self, own_files: tuple[str, ...] = ()) -> None:
        self._own = own_files
        self._births: dict[Any, _Birth] = {}
        self._roots: dict[int | None, weakref.ref[Any]] = {}
        self._before: dict[Hashable, set[FrameType]] = {}

    def call_started(self) -> None:
        """The running task begins with the call that its context names."""
        task = _current_task()
        if task is not None:
            self._roots[CALL.get()] = weakref.ref(task)

    def task_started(self, task: Any, parent: Any, depth: int = 2) -> None:
        """Remember who started a task, so that a stack can go on across tasks.

        Args:
            task: The new task, of either loop.
            parent: The task that was running when it was made, or None.
            depth: Frames between this one and the first that may be the client's.
        """
        code = getattr(_coroutine_of(task), "cr_code", None)
        if code is not None and _is_ours(code.co_filename):
            return
        if parent is not None:
            self._births[task] = _Birth(weakref.ref(parent), _coroutines(sys._getframe(depth)), self._level(parent) + 1)
        elif CALL.get() is not None:  # a thread has asked the loop for it
            self._births[task] = _Birth(None, 0, 2)

    def watch_trio(self) -> None:
        """Be told of each new task of the trio run that is going on."""
        import trio

        stacks = self

        class Births(trio.abc.Instrument):
            def task_spawned(self, task: Any) -> None:
                with suppress(RuntimeError):  # nobody runs: trio itself has made it
                    stacks.task_started(task, trio.lowlevel.current_task(), 2)

        trio.lowlevel.add_instrument(Births())

    def take(self, call: Hashable | None, depth: int = 2, *, sure: bool = True) -> tuple[Site | None, Loop | None]:
        """Where the running request comes from, and the place that looped if its call has sent one before.

        Args:
            call: The call that the request belongs to, or None. Whoever counts requests of another kind has another
                key for them.
            depth: Frames between this one and the first of the client's.
            sure: Whether the running code works for the call, as its context says. One that does not, such as a worker
                behind a queue, is not below what asked for the request.
        """
        frame = sys._getframe(depth)
        if call is None:
            own = self._own_frame(frame)
            return (self._sender(self._chain(frame)) if own is None else _site(own)), None
        chain = self._chain(frame)
        site = self._sender(chain)
        before = self._before.get(call)
        self._before[call] = {frame for _, frames in chain for frame in frames}
        return site, None if before is None else _innermost_shared(before, chain, sure)

    def _own_frame(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the client's own code on the running stack: most requests need to know no more.

        As for `_running`, what lies outside of the outermost coroutine is not the client's.
        """
        found, inside = None, False
        while frame is not None:
            code = frame.f_code
            kind = _KINDS[code.co_filename]
            if kind == _HARNESS:
                break
            if kind <= _LIBRARY:
                if found is None and (kind == _OWN or _place(code.co_filename)[0] in self._own):
                    found = frame
                if code.co_flags & _COROUTINE:
                    if found is not None:
                        return found
                    inside = True
            frame = frame.f_back
        return None if inside else found

    def _sender(self, chain: _Chain) -> Site | None:
        """The innermost place in the client's own code, or the entry into the library where all is a library's."""
        frame = None
        for _, frames in chain:
            for frame in frames:
                name = frame.f_code.co_filename
                if _KINDS[name] == _OWN or _place(name)[0] in self._own:
                    return _site(frame)
        return None if frame is None else _site(frame)

    def clear(self) -> None:
        """Let go of every frame and task."""
        self._before.clear()
        self._births.clear()

    def _chain(self, frame: FrameType | None) -> _Chain:
        """The client's frames, innermost first, task by task: the running one, and those that it comes from."""
        task = _current_task()
        running = _running(frame)
        if task is None:  # a thread
            return [(1, running), *self._root()]
        birth = self._births.get(task)
        level = 0 if birth is None else birth.level
        asked = None if isinstance(task, asyncio.Task) else _asked_by_a_thread(frame)
        if asked is None:
            chain = [(level, running)]
        else:
            chain = [(level + 2, asked[0]), (level + 1, _asking_thread()), (level, asked[1])]
        while birth is not None:
            if birth.parent is None:
                chain += [(1, _asking_thread()), *self._root()]
                break
            parent = birth.parent()
            if parent is None:
                break
            frames = list(_suspended(_coroutine_of(parent)))[: birth.frames]
            chain.append((birth.level - 1, frames[::-1]))
            birth = self._births.get(parent)
        return chain

    def _root(self) -> _Chain:
        """The task that the call of the running thread began in."""
        reference = self._roots.get(CALL.get())
        task = None if reference is None else reference()
        return [] if task is None else [(0, list(_suspended(_coroutine_of(task)))[::-1])]

    def _level(self, task: Any) -> int:
        birth = self._births.get(task)
        return 0 if birth is None else birth.level


@dataclass(frozen=True, slots=True)
class _Birth:
    """How a task came into being: by whom, how many frames of that one lay above it, and how deep it lies itself."""

    parent: weakref.ref[Any] | None
    frames: int
    level: int


_Chain = list[tuple[int, list[FrameType]]]
"""The frames of each task that a request comes from, innermost first, each with the number of tasks above it."""


_OWN, _LIBRARY, _MACHINERY, _HARNESS = range(4)
"""What a source file is: the client's, an installed package's that may be a layer of it; or event loops, threads and
fuzzmcp, which are passed by; or where the client's code ends, for what follows is whoever runs it."""


class _Kinds(dict[str, int]):
    """The kind of each source file, by the name that code objects have of it."""

    def __missing__(self, filename: str) -> int:
        path, of_library = _place(filename)
        if filename == _HARNESS_FILE:
            kind = _HARNESS
        elif _is_ours(filename) or path.startswith(_MACHINERY_FILES):
            kind = _MACHINERY
        else:
            kind = _LIBRARY if of_library else _OWN
        self[filename] = kind
        return kind


_KINDS = _Kinds()


@lru_cache(maxsize=4096)
def _place(filename: str) -> tuple[str, bool]:
    """The real path of a source file, and whether it lies among installed packages or the standard library."""
    path = os.path.realpath(filename)
    return path, path.startswith(_LIBRARIES)


def installed(filename: str) -> bool:
    """Whether a source file lies among installed packages or the standard library."""
    return _place(filename)[1]


@lru_cache(maxsize=4096)
def _is_ours(filename: str) -> bool:
    """Whether a source file belongs to fuzzmcp itself; the clients that ship with it do not."""
    return filename.startswith(_HERE) and not filename.startswith(_CLIENTS)


def _current_task() -> Any:
    """The running task of this thread, asyncio's or trio's, or None."""
    with suppress(RuntimeError):
        return asyncio.current_task()
    trio = sys.modules.get("trio")
    if trio is not None:
        with suppress(RuntimeError):
            return trio.lowlevel.current_task()
    return None


def _coroutine_of(task: Any) -> Any:
    return task.get_coro() if hasattr(task, "get_coro") else task.coro


def _running(frame: FrameType | None) -> list[FrameType]:
    """The client's frames on a stack, innermost first: from its outermost coroutine on, or all where there is none."""
    frames, last = [], 0
    while frame is not None:
        code = frame.f_code
        kind = _KINDS[code.co_filename]
        if kind <= _LIBRARY:
            frames.append(frame)
            if code.co_flags & _COROUTINE:
                last = len(frames)
        elif kind == _HARNESS:
            break
        frame = frame.f_back
    return frames[:last] if last else frames


def _coroutines(frame: FrameType | None) -> int:
    """How many of the client's frames on a stack are coroutines."""
    count = 0
    while frame is not None:
        code = frame.f_code
        if code.co_flags & _COROUTINE:
            kind = _KINDS[code.co_filename]
            if kind == _HARNESS:
                break
            count += kind <= _LIBRARY
        frame = frame.f_back
    return count


def _suspended(awaitable: Any) -> Iterator[FrameType]:
    """The client's frames of a suspended coroutine and of what it awaits, outermost first."""
    while awaitable is not None:
        frame, inner = None, None
        for kind, of_frame, of_inner in _AWAITABLES:
            if isinstance(awaitable, kind):
                frame, inner = getattr(awaitable, of_frame), getattr(awaitable, of_inner)
                break
        else:  # the step of an async generator, and the like: it says to nobody but the collector whose step it is
            inner = next((o for o in gc.get_referents(awaitable) if isinstance(o, _STEPPED)), None)
        if frame is not None and frame.f_code.co_flags & _COROUTINE and _KINDS[frame.f_code.co_filename] <= _LIBRARY:
            yield frame
        awaitable = inner


def _asked_by_a_thread(frame: FrameType | None) -> tuple[list[FrameType], list[FrameType]] | None:
    """The client's frames on both sides of trio's `to_thread.run_sync`, whose task does what its thread asks it for."""
    inner: list[FrameType] = []
    for outer in _outwards(frame):
        kind = _KINDS[outer.f_code.co_filename]
        if kind == _HARNESS:
            return None
        if kind <= _LIBRARY:
            inner.append(outer)
        elif outer.f_code.co_filename.endswith(_TRIO_THREADS):
            return inner, _running(outer)
    return None


def _asking_thread() -> list[FrameType]:
    """The client's frames in the thread that has asked the loop for something, if there is just one that works."""
    own, asking = threading.get_ident(), []
    for ident, frame in sys._current_frames().items():
        if ident != own and any(f.f_code.co_filename == _JOBS for f in _outwards(frame)):
            asking.append(_running(frame))
    return asking[0] if len(asking) == 1 else []


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _site(frame: FrameType) -> Site:
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno, code.co_name)


def _innermost_shared(before: set[FrameType], chain: _Chain, sure: bool) -> Loop | None:
    """The innermost frame that was there before: by a retry library's loop, the function that it retries."""
    for level, frames in chain:
        for place, frame in enumerate(frames):
            if frame in before:
                depth = (level, len(frames) - 1 - place) if sure else None
                found = retried(frame)
                if found is not None:
                    code, library = found
                    return Loop(code.co_filename, code.co_firstlineno, code.co_name, depth, library)
                code = frame.f_code
                return Loop(code.co_filename, frame.f_lineno, code.co_name, depth)
    return None


class _Collector(logging.Handler):
    """Writes down records from WARNING up, for one run at a time."""

    now: Callable[[], float]
    into: list[Log] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.into is not None and len(self.into) < _LOGS_MAX:
            try:
                message = record.getMessage()
            except Exception as error:
                message = f"{record.msg!r} ({type(error).__name__} while formatting)"
            self.into.append(Log(self.now(), record.name, record.levelname, message))


_spare = [_Collector(logging.WARNING)]
"""Collectors that no run uses: to make one costs a run more than to use it."""


class collected_logs:  # noqa: N801  (a block, as in contextlib, whose generators would cost every run twice as much)
    """Log records from WARNING up and Python warnings, while the block runs; none of them reaches the terminal.

    Args:
        now: The virtual clock, in seconds.
    """

    __slots__ = ("_collector", "_handlers", "_now", "_warnings")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def __enter__(self) -> list[Log]:
        logs: list[Log] = []
        self._collector = _spare.pop() if _spare else _Collector(logging.WARNING)
        self._collector.now, self._collector.into = self._now, logs
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("always")
        warnings.showwarning = self._show
        root = logging.getLogger()
        self._handlers, root.handlers = root.handlers, [self._collector]
        return logs

    def __exit__(self, *_: object) -> None:
        logging.getLogger().handlers = self._handlers
        self._warnings.__exit__(None, None, None)
        self._collector.into = None
        del self._collector.now
        _spare.append(self._collector)

    def _show(self, message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if self._collector.into is not None:
            self._collector.into.append(Log(self._now(), "warnings", category.__name__, str(message)))
