"""What goes wrong in fuzzmcp, by name."""

from __future__ import annotations


class ToolNotOffered(LookupError):
    """A framework offers its agent no such tool, though the server has it."""


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
