"""What is different on trio."""

from __future__ import annotations

import contextlib
import sys

import pytest
import trio
import trio.testing

from fuzzmcp.harness.clock import Deadlock, VirtualClock

from .runs import never


def test_waiting_until_all_tasks_are_blocked_is_not_idle_on_trio() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 5)
            await trio.testing.wait_all_tasks_blocked()
            assert trio.current_time() == 0.0

    VirtualClock("trio").run(main)


def test_a_trio_task_that_swallows_cancellation_for_ever_does_not_hang_the_end() -> None:
    async def immortal() -> None:
        while True:
            with contextlib.suppress(trio.Cancelled):
                await trio.sleep_forever()

    with pytest.raises(Deadlock):
        VirtualClock("trio").run(immortal)


def test_a_shielded_trio_task_does_not_hang_the_end() -> None:
    async def main() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()

    with pytest.raises(Deadlock):
        VirtualClock("trio").run(main)


def test_without_trio_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trio", None)
    with pytest.raises(RuntimeError, match=r"pip install fuzzmcp\[trio\]"):
        VirtualClock("trio").run(never)


def _schedule(seed: int) -> list[int]:
    steps: list[int] = []

    async def child(number: int) -> None:
        for _ in range(5):
            await trio.sleep(1)
            steps.append(number)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(5):
                nursery.start_soon(child, number)

    VirtualClock("trio", seed=seed).run(main)
    return steps


def test_the_seed_chooses_trios_schedule() -> None:
    # Fails when trio renames its private random source, or draws from another one.
    assert [_schedule(seed) for seed in range(8)] == [_schedule(seed) for seed in range(8)]
    assert len({tuple(_schedule(seed)) for seed in range(8)}) > 4
