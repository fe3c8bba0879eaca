"""How a request waits in virtual time: as a task, in a worker thread, or holding up the event loop."""

from __future__ import annotations

import math
import sys
from types import FrameType

import anyio

from fuzzmcp.core.trace import Site
from fuzzmcp.harness.clock import Blocked, LoopStalled
from fuzzmcp.harness.clock.loop_run import where_is
from fuzzmcp.harness.clock.thread_registry import Registration


async def sleep_until(registration: Registration, moment: float) -> None:
    """Let the other tasks go on until virtual second `moment`, which may be infinite."""
    if moment == math.inf:
        await anyio.sleep_forever()
    await anyio.sleep(max(0.0, moment - registration.loop_run.now()))


def block_until(registration: Registration, moment: float, site: Site | None) -> None:
    """Wait as `time.sleep` does: a thread waits for the clock, the event loop's own thread moves it.

    Args:
        registration: Where the calling thread belongs.
        moment: Virtual second, or infinity.
        site: The client's code line that sent the request: it is what blocks the event loop.

    Raises:
        LoopStalled: It is the event loop's own thread, and nothing would ever end the wait.
    """
    loop_run, seconds = registration.loop_run, max(0.0, moment - registration.loop_run.now())
    frame = _frame_at(site)
    if registration.thread is not None:
        loop_run.sleep_in_thread(registration.thread, seconds, frame)
        return
    if seconds == math.inf:
        loop_run.blocked.append(Blocked(loop_run.now(), math.inf, where_is(frame)))
        raise LoopStalled("the loop does not turn: a blocking request waits for an answer that never comes")
    loop_run.block(seconds, frame)


def _frame_at(site: Site | None) -> FrameType:
    """The running frame that stands there."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if site is not None and (frame.f_code.co_filename, frame.f_lineno) == (site.file, site.line):
            return frame
        frame = frame.f_back
    return sys._getframe(1)
