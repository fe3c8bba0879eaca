"""Standard functions are replaced while any run is active, and only then."""

from __future__ import annotations

import threading
from typing import Any

from fuzzmcp.harness.clock import other_loops, threads, time_functions, waits

_replacements = [*time_functions.REPLACEMENTS, *threads.REPLACEMENTS, *waits.REPLACEMENTS, *other_loops.REPLACEMENTS]
_saved: list[tuple[Any, str, Any]] = []
_patch_lock = threading.RLock()
_depth = 0


def replace_during_runs(owner: Any, name: str, new: Any) -> None:
    """Replace `owner.name` whenever a run is active, and at once if one is."""
    with _patch_lock:
        _replacements.append((owner, name, new))
        if _depth:
            _put(owner, name, new)


def _put(owner: Any, name: str, new: Any) -> None:
    _saved.append((owner, name, vars(owner)[name]))
    setattr(owner, name, new)


def patch() -> None:
    global _depth
    with _patch_lock:
        _depth += 1
        if _depth == 1:
            for replacement in _replacements:
                _put(*replacement)


def restore() -> None:
    global _depth
    with _patch_lock:
        _depth -= 1
        if _depth == 0:
            for owner, name, old in reversed(_saved):
                setattr(owner, name, old)
            _saved.clear()
