"""Virtual time: an hour's wait costs microseconds, and an idle loop without a timer proves that it waits for ever.

When nothing is ready, the clock jumps to the next timer; nothing else moves it, except `time.sleep`. So a run depends
on no wall clock, and the same run gives the same times.

A `LoopRun` is one run of one event loop, in `asyncio_loop` or `trio_loop`. Its thread, and the threads it starts, have
their `places`, where the functions that stand in for the standard ones look up whose time it is. Of several threads
only one is at work at a time: they are a `crew`. What they wait for (`waits`) takes virtual time, and a loop that one
of them makes (`other_loops`) lives in it too. The modules import only downwards: `base`,
`internals`, `workers`, `crew`, `loop_run`, `places`, `time_functions`, `threads`, `waits`, the main loop of asyncio,
`other_loops`, `patches`, `pools`, `watchdog`, the one of trio, `virtual`.
"""

from fuzzmcp.harness.clock.base import EPOCH, Deadlock, LoopStalled
from fuzzmcp.harness.clock.loop_run import Blocked, Handle
from fuzzmcp.harness.clock.virtual import VirtualClock

__all__ = ["EPOCH", "Blocked", "Deadlock", "Handle", "LoopStalled", "VirtualClock"]
