"""The threads of trio, which outlive runs: a job that they do for a run takes turns with the run's own threads.

The pools of asyncio and anyio are made anew for each loop, so their threads are the run's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fuzzmcp.harness.clock import internals
from fuzzmcp.harness.clock.patches import replace_during_runs
from fuzzmcp.harness.clock.thread_registry import current
from fuzzmcp.harness.clock.threads import at_work, unregistered


@functools.cache
def watch_trio_threads() -> None:
    """Register the jobs of trio's threads with the run that asks for them."""
    cache = internals.trio_thread_cache()
    original = cache.start_thread_soon

    def start_thread_soon(self: Any, fn: Callable[[], Any], deliver: Callable[[Any], object], name: Any = None) -> Any:
        registration = current()
        if registration is None:
            return original(self, fn, deliver, name)
        loop_run, scheduler = registration.loop_run, registration.loop_run.ensure_scheduler()
        me = scheduler.register(loop_run.watchdog, name=name or "")
        me.pool = True
        work = at_work(loop_run, me)

        def begin() -> Any:
            work.__enter__()
            return fn()

        def deliver_and_end(outcome: Any) -> None:
            try:
                deliver(outcome)
            finally:
                if not me.gone:
                    work.__exit__(None, None, None)

        with unregistered():  # a cached thread outlives the run, so it is none of the client's threads
            return original(self, begin, deliver_and_end, name)

    replace_during_runs(cache, "start_thread_soon", start_thread_soon)
