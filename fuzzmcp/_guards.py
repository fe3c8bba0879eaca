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


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Tell the user's Ctrl-C from a KeyboardInterrupt that the client raises."""
    pressed = False

    def handler(number: int, frame: Any) -> None:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: pressed  # Ctrl-C is not ours to handle here
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
