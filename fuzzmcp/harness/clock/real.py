"""The functions of the standard library that runs replace, as they are."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

real_sleep, real_monotonic = time.sleep, time.monotonic
real_lock: Any = threading.Lock
real_start, real_join = threading.Thread.start, threading.Thread.join
real_pool, real_submit = ThreadPoolExecutor.__init__, ThreadPoolExecutor.submit
real_new_event_loop = asyncio.new_event_loop
