"""Retry libraries: which variable of their loops holds the function that is retried.

Every loop of such a library lies in the same line. The function that it retries tells which layer it is. No library is
imported: the frame of the loop names its module, and holds the function in a variable.
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
"""Names of the variables that hold the function, by library. The loop calls the function, so it holds it."""


def retried(frame: FrameType) -> tuple[CodeType, str] | None:
    """The code of the function that a loop retries, and the name of its library; None for a loop of no retry library.

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
