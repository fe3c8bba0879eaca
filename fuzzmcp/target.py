"""Loading a client by its name, as the command line and exported tests do.

A client of `fuzzmcp.clients` that cannot be imported is told with the command that installs its framework.
"""

from __future__ import annotations

from typing import Any

from fuzzmcp.clients._table import why_missing
from fuzzmcp.harness import target as harness_target
from fuzzmcp.harness.target import Target, TargetError, target_of

__all__ = ["Target", "TargetError", "find", "load", "target_of"]


def load(text: str) -> Target:
    """Import what `module:attr` or `path.py:attr` names, a client or an agent.

    Raises:
        TargetError: It cannot be imported or found, or is no client.

    >>> load("fuzzmcp.examples.careful_agent:connect").role
    'client'
    """
    return target_of(find(text), text)


def find(text: str, what: str = "client") -> Any:
    """Import what `module:attr` or `path.py:attr` names, of any kind.

    Args:
        text: The name.
        what: What it should be, for the message.

    Raises:
        TargetError: It cannot be imported or found.
    """
    try:
        return harness_target.find(text, what)
    except TargetError as error:
        missing = error.__cause__
        known = why_missing(text.rpartition(":")[0], missing) if isinstance(missing, ImportError) else None
        if known is None:
            raise
        raise TargetError(known) from None
