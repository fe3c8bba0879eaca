"""What goes wrong in fuzzmcp, by name."""

from __future__ import annotations


class ToolNotOffered(LookupError):
    """A framework offers its agent no such tool, though the server has it."""
