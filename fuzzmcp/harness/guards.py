"""Blocks around runs that guard the process: the user's Ctrl-C, the terminal, and garbage collection."""

from __future__ import annotations

import contextlib
import gc
import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any


class _Presses:
    """Counts how often the user pressed Ctrl-C."""

    count = 0

    def __call__(self, number: int, frame: Any) -> None:
        self.count += 1
        raise KeyboardInterrupt


_outer: _Presses | None = None
"""The handler of the outermost block of this process."""


class sigint_watch:  # noqa: N801  (a block like those of contextlib, whose generators would cost each run twice as much)
    """Tells the user's Ctrl-C from a KeyboardInterrupt that the client raises: `with sigint_watch() as pressed`.

    A block within a block shares its handler, because setting one costs a fiftieth of a run.
    """

    __slots__ = ("_already", "_own", "_presses")

    def __enter__(self) -> Callable[[], bool]:
        global _outer
        here = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGINT) if here else None
        self._own = False
        if here and _outer is not None:
            self._presses = _outer
            if before is not _outer:  # the client of an earlier run has set another one
                signal.signal(signal.SIGINT, _outer)
        else:
            self._presses = _Presses()
            if before is signal.default_int_handler:  # another handler stays in charge of Ctrl-C
                self._own, _outer = True, self._presses
                signal.signal(signal.SIGINT, _outer)
        self._already = self._presses.count
        return self.pressed

    def __exit__(self, *_: object) -> None:
        global _outer
        if self._own:
            _outer = None
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def pressed(self) -> bool:
        """Whether the user has pressed Ctrl-C since the block began."""
        return self._presses.count > self._already


@contextlib.contextmanager
def terminations() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C while the block runs. CI systems end jobs so. The findings are still reported."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, frame: Any) -> None:
        if _outer is not None:
            _outer(number, frame)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class silenced:  # noqa: N801  (as above)
    """Swallows what the client prints, so that the terminal and a report on stdout stay usable.

    Args:
        quiet: Swallow it. Else the block does nothing.
    """

    __slots__ = ("_before", "_quiet")

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def __enter__(self) -> None:
        if self._quiet:
            self._before = sys.stdout, sys.stderr
            sys.stdout = sys.stderr = io.StringIO()

    def __exit__(self, *_: object) -> None:
        if self._quiet:
            sys.stdout, sys.stderr = self._before


class gc_paused:  # noqa: N801  (as above)
    """No garbage collection while the block runs.

    The garbage of a run stays young, so one quick collection at its end finds all of it. A task that failed reports its
    exception when it is collected. Without this block it might do so in a later run.
    """

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()


_frozen_by_others = False


@contextlib.contextmanager
def frozen_gc() -> Iterator[None]:
    """The garbage collector ignores what is alive already, as modules and schemas are no garbage of the runs.

    The block does nothing if another part of the process has frozen objects: its end would thaw those too.
    """
    global _frozen_by_others
    # The answer is kept once it is yes, because the count looks at every object.
    _frozen_by_others = _frozen_by_others or gc.get_freeze_count() > 0
    if _frozen_by_others:
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
