"""Virtual time: an hour's wait costs microseconds, and an idle loop without a timer proves that it waits for ever.

When nothing is ready, the clock jumps to the next timer; nothing else moves it, except `time.sleep`. So a run depends
on no wall clock, and the same run gives the same times.

A `LoopRun` is one run of one event loop, in `asyncio_loop` or `trio_loop`. The `thread_registry` knows the threads of
each run, so the functions that stand in for the standard ones find the time of their thread there. Only one thread of a
run works at a time: the `thread_scheduler` says which, and its docstring explains threads in virtual time. Waits of
threads (`waits`) take virtual time. A loop that a thread makes for itself (`other_loops`) lives in the time of the run.

Code outside of this package imports the names below and no module. The modules import only downwards: `base`,
`internals`, `managed`, `thread_scheduler`, `loop_run`, `thread_registry`, `time_functions`, `threads`, `waits`,
`asyncio_loop`, `other_loops`, `patches`, `pools`, `watchdog`, `trio_loop`, `virtual`, `synchronous`.
"""

from fuzzmcp.harness.clock.base import EPOCH, Deadlock, LoopStalled
from fuzzmcp.harness.clock.internals import failed_unseen
from fuzzmcp.harness.clock.loop_run import Blocked, Handle, LoopRun
from fuzzmcp.harness.clock.synchronous import virtual_block
from fuzzmcp.harness.clock.thread_registry import Registration, current
from fuzzmcp.harness.clock.threads import JOBS_FILE
from fuzzmcp.harness.clock.virtual import VirtualClock

__all__ = [
    "EPOCH",
    "JOBS_FILE",
    "Blocked",
    "Deadlock",
    "Handle",
    "LoopRun",
    "LoopStalled",
    "Registration",
    "VirtualClock",
    "current",
    "failed_unseen",
    "virtual_block",
]
