"""How the plugin's failures look: their text alone, without the plugin's own frames."""

from __future__ import annotations

import traceback
from functools import lru_cache
from typing import Any

import pytest


def failure(title: str, text: str) -> BaseException:
    """An exception that pytest prints as `title: text` and nothing else; its first line is the line of the summary."""
    return _kind(title)(text, pytrace=False)  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def _kind(title: str) -> Any:
    return type(title, (pytest.fail.Exception,), {"__module__": "builtins"})  # the module of pytest's own outcomes


def explained(error: BaseException) -> str:
    """What an error says, and the user's own traceback behind it, if there is one."""
    from fuzzmcp.report.escape import own_frames_cut

    cause = getattr(error, "cause", None) or error.__cause__
    if cause is None:
        return str(error)
    frames = own_frames_cut("".join(traceback.format_exception(type(cause), cause, cause.__traceback__)))
    return f"{error}\n\n{frames}" if 'File "' in frames else str(error)
