"""After every test, everything that a run replaced is what it was."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from typing import Any

import pytest
import trio

from fuzzmcp.harness.clock import thread_registry

from .runs import STANDARD, STANDARD_METHODS


@pytest.fixture(autouse=True)
def _everything_is_restored() -> Any:
    core = trio._core._run
    before = core._r, core._ALLOW_DETERMINISTIC_SCHEDULING
    yield
    assert (time.sleep, time.monotonic, time.monotonic_ns, time.time, time.time_ns) == STANDARD
    assert (threading.Thread.start, concurrent.futures.Future.result) == STANDARD_METHODS
    assert (core._r, core._ALLOW_DETERMINISTIC_SCHEDULING) == before
    assert threading.get_ident() not in thread_registry.registrations
