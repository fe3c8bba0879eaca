"""Words that nobody knows, and the known ones that were most likely meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that a word most likely meant, or None.

    Args:
        word: What was written.
        known: What could have been written.

    >>> nearest("hnag", ["hang", "close"])
    'hang'
    """
    matches = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return matches[0] if matches else None


def meant(word: object, known: Iterable[str], otherwise: str = "") -> str:
    """The end of a message about a word that nobody knows: the nearest known one.

    Args:
        word: What was written; anything but a text resembles nothing.
        known: What could have been written.
        otherwise: The end of the message where nothing is near.

    >>> "unknown fault 'hnag'" + meant("hnag", ["hang", "close"])
    "unknown fault 'hnag'; did you mean 'hang'?"
    >>> "unknown fault '?'" + meant("?", ["hang", "close"], ": one of hang, close")
    "unknown fault '?': one of hang, close"
    """
    guess = nearest(word, known) if isinstance(word, str) else None
    return f"; did you mean '{guess}'?" if guess else otherwise


def unknown(what: str, name: object, known: Iterable[str], otherwise: str = "") -> str:
    """The message about a name that nothing has, with the nearest one that something has, or else `otherwise`.

    Args:
        what: What it would be the name of.
        name: What was written.
        known: What could have been written.
        otherwise: The end of the message where nothing is near.

    >>> unknown("check", "spendcap", ("spend_cap", "survives"))
    "unknown check 'spendcap'; did you mean 'spend_cap'?"
    """
    return f"unknown {what} '{name}'" + meant(name, known, otherwise)
