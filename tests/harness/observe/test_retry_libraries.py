"""What is known of retry libraries: for each, the function that its loop retries, read from a frame of its own."""

from __future__ import annotations

import asyncio
import functools
import importlib
import subprocess
import sys
from types import FrameType
from typing import Any

import pytest

from fuzzmcp.harness.observe.retry_libraries import RETRIED, retried


def loops(sees: list[Any]) -> None:
    """Called from the retried function: note what each frame above it says."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found = retried(frame)
        if found is not None:
            sees.append((found[0].co_name, found[1]))
        frame = frame.f_back


def tried(library: str, function: Any) -> Any:
    """The function, decorated by a library."""
    module = importlib.import_module(library)
    if library == "tenacity":
        return module.retry(stop=module.stop_after_attempt(2))(function)
    if library == "stamina":
        return module.retry(on=ValueError, attempts=2, wait_initial=0, wait_jitter=0)(function)
    return module.on_exception(module.constant, ValueError, max_tries=2, jitter=None, interval=0)(function)


@pytest.mark.parametrize("library", RETRIED)
def test_the_decorated_coroutine_is_found_in_the_loop_of_the_library(library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    sees: list[Any] = []

    async def fetch() -> int:
        loops(sees)
        return 1

    assert asyncio.run(tried(library, fetch)()) == 1
    assert ("fetch", library) in sees


@pytest.mark.parametrize("library", RETRIED)
def test_the_decorated_function_is_found_in_the_loop_of_the_library(library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    sees: list[Any] = []

    def fetch() -> int:
        loops(sees)
        return 1

    assert tried(library, fetch)() == 1
    assert ("fetch", library) in sees


def test_a_callable_object_and_a_partial_are_seen_through() -> None:
    tenacity = pytest.importorskip("tenacity")
    sees: list[Any] = []

    class Fetch:
        def __call__(self, extra: int) -> int:
            loops(sees)
            return extra

    retrying = tenacity.Retrying(stop=tenacity.stop_after_attempt(2))
    assert retrying(functools.partial(Fetch(), 7)) == 7
    assert sees == [("__call__", "tenacity")]


def test_no_other_frame_is_taken_for_one_of_a_library() -> None:
    fn = target = wrapped = loops
    assert retried(sys._getframe()) is None
    assert (fn, target) == (wrapped, wrapped)


def test_none_of_the_libraries_is_imported() -> None:
    code = "import sys, fuzzmcp.harness.observe.retry_libraries as r; print(sorted(set(r.RETRIED) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
