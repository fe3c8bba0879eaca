"""The HTTP backend below a run of `fuzzmcp.harness.run`: what it plays there, and what it was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fuzzmcp.core.script import Script
from fuzzmcp.harness.observe.stacks import Stacks
from fuzzmcp.harness.target import Target
from fuzzmcp.upstream.record import Exchange
from fuzzmcp.upstream.server import Upstream
from fuzzmcp.upstream.sessions import HttpSession, register, registration_now


class Below:
    """The backend of one run. Each upstream without a script that is asked within the run plays its script.

    Args:
        script: What it plays; None for nothing.
        upstream: What a client gets that asks for its backend.
        call: The call of a request whose context names none, where only one can have sent it.
    """

    def __init__(self, script: Script | None, upstream: Upstream, call: int | None = None) -> None:
        self.upstream = upstream
        self._session = HttpSession(call=call, script=script, context_known=False)

    def join(self, stacks: Stacks, budget: int, on_spent: Callable[[], None]) -> None:
        """Belong to the run that is going on.

        Args:
            stacks: Those of the run.
            budget: HTTP requests that the client may send.
            on_spent: Called on the loop's thread when it has sent more.
        """
        self._session.stacks, self._session.budget, self._session.on_spent = stacks, budget, on_spent
        register(registration_now().loop_run, self._session)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The HTTP requests of the run, of all upstreams, in order."""
        return tuple(exchange() for exchange in self._session.exchanges)


def below_of(target: Target) -> Below | None:
    """The backend for one run of a target that asks for one, with nothing wrong; None for a target that does not."""
    return None if target.backend is None else Below(None, beside(target.function))


def beside(function: Any) -> Upstream:
    """An upstream without a script, that answers as the `backend` beside a function does, where its module has one.

    >>> beside(beside).requests
    ()
    """
    module = sys.modules.get(getattr(getattr(function, "func", function), "__module__", "") or "")
    found = getattr(module, "backend", None)
    return found.playing(Script()) if isinstance(found, Upstream) else Upstream()
