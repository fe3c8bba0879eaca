"""How a request waits in virtual time: as a task, in a worker thread, or holding up the event loop."""

from __future__ import annotations

import math
import sys
from types import FrameType

import anyio

from fuzzmcp.core.trace import Site
from fuzzmcp.harness.clock import Registration


async def sleep_until(registration: Registration, moment: float) -> None:
    """Let the other tasks go on until virtual second `moment`, which may be infinite."""
    if moment == math.inf:
        await anyio.sleep_forever()
    await anyio.sleep(max(0.0, moment - registration.loop_run.now()))


def block_until(registration: Registration, moment: float, site: Site | None) -> None:
    """Wait as `time.sleep` does: a thread waits for the clock, the event loop's own thread moves it.

    Args:
        registration: That of the calling thread.
        moment: Virtual second, or infinity.
        site: The client's code line that sent the request: it is what blocks the event loop.

    Raises:
        LoopStalled: It is the event loop's own thread, and nothing would ever end the wait.
    """
    frame = _frame_at(site)
    if registration.thread is None and moment == math.inf:
        registration.loop_run.block_for_ever(frame, "a blocking request waits for an answer that never comes")
    registration.block(max(0.0, moment - registration.loop_run.now()), frame)


def _frame_at(site: Site | None) -> FrameType:
    """The running frame that stands there."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if site is not None and (frame.f_code.co_filename, frame.f_lineno) == (site.file, site.line):
            return frame
        frame = frame.f_back
    return sys._getframe(1)
