"""What a run keeps away from the process around it: Ctrl-C told apart, prints, garbage collection."""

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


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Tell the user's Ctrl-C from a KeyboardInterrupt that the client raises.

    A block within a block shares its handler: to set one costs as much as a fiftieth of a run.
    """
    global _outer
    here = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT) if here else None
    if here and _outer is not None:
        shared, already = _outer, _outer.count
        if before is not shared:  # the client of an earlier run has set its own
            signal.signal(signal.SIGINT, shared)
        yield lambda: shared.count > already
    elif before is not signal.default_int_handler:
        yield lambda: False  # Ctrl-C is not ours to handle here
    else:
        presses = _outer = _Presses()
        signal.signal(signal.SIGINT, presses)
        try:
            yield lambda: presses.count > 0
        finally:
            _outer = None
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def terminations() -> Iterator[None]:
    """Take SIGTERM, with which CI systems and schedulers end a job, for a Ctrl-C: what was found is still reported."""
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


@contextlib.contextmanager
def prints(quiet: bool) -> Iterator[None]:
    """Swallow what the client prints, so that the terminal and a report on stdout stay usable."""
    if not quiet:
        yield
        return
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """No collection during the run: its garbage stays young, so that one quick collection at its end finds it all.

    Which run reports a forgotten exception would otherwise depend on the runs before it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def elders_spared() -> Iterator[None]:
    """Whatever is alive already is not looked at by the collector: modules and schemas are no garbage of the runs."""
    if gc.get_freeze_count():  # somebody else's, who would not like to see them thawed
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
