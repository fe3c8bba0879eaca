"""What goes wrong in fuzzmcp, by name."""

from __future__ import annotations


class ToolNotOffered(LookupError):
    """A framework offers its agent no such tool, though the server has it."""


class BadValue(ValueError):
    """A value that cannot be used, whoever gave it: an option, the configuration, a marker.

    Attributes:
        key: The setting, by the name that the configuration has for it.
        message: What is wrong with the value.
        place: Where the configuration says it; None for a value that was given otherwise.
        cause: The user's own exception behind it, if there is one.
    """

    def __init__(self, key: str, message: str, place: str | None = None, cause: BaseException | None = None) -> None:
        super().__init__(f"{place or key}: {message}")
        self.key, self.message, self.place, self.cause = key, message, place, cause


class ScriptError(ValueError):
    """A script that cannot be read.

    Attributes:
        text: What was read.
        position: Where reading stopped, in characters from the start.
        suggestion: The nearest known word, or None.
    """

    def __init__(self, message: str, text: str, position: int, suggestion: str | None = None) -> None:
        hint = f"; did you mean '{suggestion}'?" if suggestion else ""
        super().__init__(f"script, character {position + 1}: {message}{hint}")
        self.text, self.position, self.suggestion = text, position, suggestion
