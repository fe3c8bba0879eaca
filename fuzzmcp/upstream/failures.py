"""How a request ends without an answer. The transports turn each failure into the exception of their library."""

from __future__ import annotations


class Hopeless(Exception):
    """A request ended without an answer. No client sees this: each transport says it in the words of its library."""

    word = "unanswered"


class TimedOut(Hopeless):
    """The client's own time limit ended the wait."""

    word = "timed out"


class Closed(Hopeless):
    """The server closed the connection without an answer."""

    word = "closed"
