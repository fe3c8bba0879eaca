"""What is known of the libraries that retry for others: where their loops keep the function that they call again.

A loop in such a library says little; the function that was decorated says which layer it is. Nothing is imported: a
library is known by the module of the frame that loops, and the function is read from that frame.
"""

from __future__ import annotations

import functools
from types import CodeType, FrameType
from typing import Any

RETRIED = {
    "tenacity": ("fn",),  # AsyncRetrying.__call__, Retrying.__call__
    "stamina": ("wrapped", "callable_"),  # the wrappers of stamina.retry; RetryingCaller and its kin
    "backoff": ("target",),  # the wrappers of on_exception and on_predicate, _async.py and _sync.py
}
"""Names of the variables that hold the function, by library. It is called from that very frame, so it is there."""


def retried(frame: FrameType) -> tuple[CodeType, str] | None:
    """The code of the function that a loop of a retry library calls again, and the name of the library.

    Args:
        frame: The frame that loops.

    >>> import sys
    >>> retried(sys._getframe()) is None
    True
    """
    library = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    for name in RETRIED.get(library, ()):
        code = _code_of(frame.f_locals.get(name))
        if code is not None:
            return code, library
    return None


def _code_of(function: Any) -> CodeType | None:
    """The code of a function, below partials, bound methods, wrappers and objects with `__call__`."""
    for _ in range(32):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            break
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    return code if isinstance(code, CodeType) else None
