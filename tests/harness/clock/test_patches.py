"""Nothing stays replaced after a run: see also `conftest.py`, which looks after every test."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from fuzzmcp.harness.clock import VirtualClock, base

from .runs import STANDARD, both


@both
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_exception_of_main_comes_out_and_everything_is_restored(backend: str, error: type[BaseException]) -> None:
    async def main() -> None:
        await anyio.sleep(1)
        raise error

    with pytest.raises(error):
        VirtualClock(backend).run(main)


@both
def test_a_name_imported_during_a_run_is_the_real_thing_afterwards(backend: str) -> None:
    async def main() -> Callable[[], float]:
        from time import monotonic

        assert monotonic() == base.UPTIME
        return monotonic

    monotonic = VirtualClock(backend).run(main)
    assert STANDARD[1]() <= monotonic() <= STANDARD[1]()
