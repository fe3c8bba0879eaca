"""How many requests a call may cost, as the command line says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Allowed(NamedTuple):
    """The values of `--max-requests`: for every call, None where nothing was said, and for the calls of some tools."""

    every: int | None = None
    tools: Mapping[str, int] = {}

    def __bool__(self) -> bool:
        return self.every is not None or bool(self.tools)

    @property
    def texts(self) -> tuple[str, ...]:
        """As the command line takes them."""
        return (*(() if self.every is None else (str(self.every),)), *(f"{tool}={n}" for tool, n in self.tools.items()))

    def of(self, tool: str) -> int | None:
        """Requests that a call of this tool may cost; None for any number.

        >>> Allowed(4, {"refund_order": 1}).of("refund_order"), Allowed(tools={"refund_order": 1}).of("get_order")
        (1, None)
        """
        return self.tools.get(tool, self.every)
