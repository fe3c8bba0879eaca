"""Which frames are the client's: of a stack that runs, and of a task that waits.

A frame is judged by the file of its code. Most files need no list: fuzzmcp knows its own folder, Python knows where it
keeps packages and the standard library, and the rest is the client's. Which function calls the client, and which file
starts the threads of a run, is asked of those functions and modules themselves.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
import sysconfig
import threading
import types
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, TypeVar

from fuzzmcp.core.package import is_ours
from fuzzmcp.core.trace import Site
from fuzzmcp.harness.clock import JOBS_FILE, VirtualClock

_Function = TypeVar("_Function", bound=Callable[..., Any])

_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
_LIBRARIES = tuple(
    sorted({os.path.realpath(p) + os.sep for p in map(sysconfig.get_path, ("stdlib", "purelib", "platlib")) if p})
)
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


_OWN, _LIBRARY, _MACHINERY, _HARNESS = range(4)
"""What a source file is.

* own: The client's code.
* library: An installed package. It may be a layer of the client, as an SDK is.
* machinery: Event loops, threads and fuzzmcp. Their frames are skipped, wherever they lie on a stack.
* harness: Machinery, with functions among it that call the client. Such a function ends the client's part of a stack.
"""

_CALLERS: set[CodeType] = set()
"""The functions that call the client."""


class _Kinds(dict[str, int]):
    """The kind of each source file, by the file name of its code objects. Each look at a frame asks for one."""

    def __missing__(self, filename: str) -> int:
        path, of_library = _place(filename)
        if is_ours(filename) or path.startswith(_MACHINERY_FILES):
            kind = _MACHINERY
        else:
            kind = _LIBRARY if of_library else _OWN
        self[filename] = kind
        return kind


_KINDS = _Kinds()


def calls_the_client(function: _Function) -> _Function:
    """Mark a function that calls the client's code: its frame, and those outside of it, are not the client's.

    The mark is on the code object. So it goes with the function into another file, and costs a call nothing. Functions
    of the same file that the client calls are skipped like all that is ours. Of several marks on a stack the innermost
    counts.
    """
    code = function.__code__
    _CALLERS.add(code)
    _KINDS[code.co_filename] = _HARNESS
    return function


# All that runs in virtual time has begun here. Marks further in only save the walk through the loop's frames.
calls_the_client(VirtualClock.run)


@lru_cache(maxsize=4096)
def _place(filename: str) -> tuple[str, bool]:
    """The real path of a source file, and whether it lies among installed packages or the standard library."""
    path = os.path.realpath(filename)
    return path, path.startswith(_LIBRARIES)


def installed(filename: str) -> bool:
    """Whether a source file lies among installed packages or the standard library."""
    return _place(filename)[1]


def coroutine_of(task: Any) -> Any:
    """The coroutine of a task, of either loop."""
    return task.get_coro() if hasattr(task, "get_coro") else task.coro


def running(frame: FrameType | None) -> list[FrameType]:
    """The client's frames on a running stack, innermost first.

    They begin with the client's outermost coroutine: an ordinary function outside of it started the loop, and is on
    every stack of the run. All frames count where none is a coroutine, as in a thread.
    """
    frames, last = [], 0
    while frame is not None:
        code = frame.f_code
        kind = _KINDS[code.co_filename]
        if kind <= _LIBRARY:
            frames.append(frame)
            if code.co_flags & _COROUTINE:
                last = len(frames)
        elif kind == _HARNESS and code in _CALLERS:
            break
        frame = frame.f_back
    return frames[:last] if last else frames


def is_own(frame: FrameType, files: Collection[str]) -> bool:
    """Whether a frame belongs to the client's own code.

    Args:
        frame: The frame.
        files: Files that are the client's own although they are installed.
    """
    name = frame.f_code.co_filename
    return _KINDS[name] == _OWN or _place(name)[0] in files


def own_frame(frame: FrameType | None, files: Collection[str]) -> FrameType | None:
    """The innermost frame of the client's own code on a running stack, for a request of which no more is asked.

    It is the first frame of `running` that `is_own` accepts, found without a list of the others.

    Args:
        frame: Where to begin.
        files: Files that are the client's own although they are installed.
    """
    found, inside = None, False
    while frame is not None:
        code = frame.f_code
        kind = _KINDS[code.co_filename]
        if kind == _HARNESS and code in _CALLERS:
            break
        if kind <= _LIBRARY:
            if found is None and (kind == _OWN or _place(code.co_filename)[0] in files):
                found = frame
            if code.co_flags & _COROUTINE:
                if found is not None:
                    return found
                inside = True
        frame = frame.f_back
    return None if inside else found


def coroutines(frame: FrameType | None) -> int:
    """How many of the client's frames on a running stack are coroutines."""
    count = 0
    while frame is not None:
        code = frame.f_code
        kind = _KINDS[code.co_filename]
        if kind <= _LIBRARY:
            count += code.co_flags & _COROUTINE != 0
        elif kind == _HARNESS and code in _CALLERS:
            break
        frame = frame.f_back
    return count


def suspended(awaitable: Any) -> Iterator[FrameType]:
    """The client's frames of a suspended coroutine, and of all that it awaits, outermost first."""
    while awaitable is not None:
        frame, inner = None, None
        for kind, of_frame, of_inner in _AWAITABLES:
            if isinstance(awaitable, kind):
                frame, inner = getattr(awaitable, of_frame), getattr(awaitable, of_inner)
                break
        else:  # such as `anext()`: only the garbage collector can tell which generator this is a step of
            inner = next((o for o in gc.get_referents(awaitable) if isinstance(o, _STEPPED)), None)
        if frame is not None and frame.f_code.co_flags & _COROUTINE and _KINDS[frame.f_code.co_filename] <= _LIBRARY:
            yield frame
        awaitable = inner


def asked_by_a_thread(frame: FrameType | None) -> tuple[list[FrameType], list[FrameType]] | None:
    """The client's frames on both sides of a request that a thread has made to trio. None for any other stack.

    A task of trio's that waits in `to_thread.run_sync` also runs what its thread asks for. So one stack holds, from the
    inside out, the function that the thread asks for, trio's own code, and the function that waits for the thread.
    """
    inner: list[FrameType] = []
    trio_threads = _trio_threads()
    for outer in _outwards(frame):
        code = outer.f_code
        kind = _KINDS[code.co_filename]
        if kind == _HARNESS and code in _CALLERS:
            return None
        if kind <= _LIBRARY:
            inner.append(outer)
        elif code.co_filename == trio_threads:
            return inner, running(outer)
    return None


@lru_cache(maxsize=1)
def _trio_threads() -> str:
    """The file of trio in which its tasks do what threads ask for.

    This is a private fact of trio: the code that runs such a request lies in the file of `to_thread.run_sync`.
    """
    import trio  # the running task is one of trio's, so this loads nothing

    code: CodeType = inspect.unwrap(trio.to_thread.run_sync).__code__
    return code.co_filename


def asking_thread() -> list[FrameType]:
    """The client's frames in the thread that has asked the loop for something, innermost first.

    No one has recorded which thread that was. So there are none unless just one thread does a job of the run. Threads
    of trio's cache are not seen.
    """
    own, asking = threading.get_ident(), []
    for ident, frame in sys._current_frames().items():
        if ident != own and any(f.f_code.co_filename == JOBS_FILE for f in _outwards(frame)):
            asking.append(running(frame))
    return asking[0] if len(asking) == 1 else []


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and all outside of it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def site_of(frame: FrameType) -> Site:
    """The place at which a frame stands."""
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno, code.co_name)
