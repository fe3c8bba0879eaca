"""The log records and warnings of a run, kept away from the terminal."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

from fuzzmcp.core.trace import Log

_LOGS_MAX = 1_000


class _Collector(logging.Handler):
    """Keeps the log records from WARNING up, for one run at a time."""

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
"""Collectors that no run uses now. Making one would cost a run more than using it does."""


class collected_logs:  # noqa: N801  (a block like those of contextlib, whose generators would cost every run twice as much)
    """Collects log records from WARNING up, and Python warnings, while the block runs. None reaches the terminal.

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
