"""Where a run is cut short, so that a broken promise can still be seen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """How far a run may go before it is cut short.

    Args:
        deadline: Virtual seconds that a call may take; one that takes twice as long is given up.
        frames: Messages that the client may send.
        shutdown: Virtual seconds that closing the session may take.
        grace: Virtual seconds between the last call and the probe, for what the client does in the background.
        stall: Real seconds that the event loop may stand still.
    """

    deadline: float = 300.0
    frames: int = 1_000
    shutdown: float = 60.0
    grace: float = 5.0
    stall: float = 10.0
