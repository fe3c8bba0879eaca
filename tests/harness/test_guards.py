"""What a run keeps away from the process around it."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator

import pytest

from fuzzmcp.harness import guards
from fuzzmcp.harness.guards import frozen_gc, gc_paused, sigint_watch


def press() -> None:
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_press_is_told_from_an_exception_of_the_client() -> None:
    with sigint_watch() as pressed:
        with pytest.raises(KeyboardInterrupt):
            raise KeyboardInterrupt
        assert not pressed()
        press()
        assert pressed()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_block_within_a_block_counts_its_own_presses_only() -> None:
    with sigint_watch() as outer:
        press()
        with sigint_watch() as inner:
            assert not inner()
            press()
            assert inner()
        assert outer()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_one_client_leaves_behind_does_not_take_the_next_ones_presses() -> None:
    taken = []
    with sigint_watch():
        with sigint_watch():
            signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
        with sigint_watch() as pressed:
            press()
            assert pressed()
    assert taken == []


def test_a_handler_of_the_user_stays_in_charge() -> None:
    taken = []
    signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
    try:
        with sigint_watch() as pressed:
            signal.raise_signal(signal.SIGINT)
            assert not pressed()
        assert taken == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process of a user, unlike in that of these tests, where `conftest` freezes what was collected."""
    gc.unfreeze()
    monkeypatch.setattr(guards, "_frozen_by_others", False)
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_what_somebody_else_has_frozen_is_not_thawed() -> None:
    gc.freeze()
    with frozen_gc():
        pass
    assert gc.get_freeze_count() > 0


@pytest.mark.usefixtures("nothing_frozen")
def test_the_elders_are_spared_for_the_length_of_the_block() -> None:
    assert gc.get_freeze_count() == 0
    with frozen_gc():
        assert gc.get_freeze_count() > 0
        with frozen_gc():
            pass
        assert gc.get_freeze_count() > 0, "the outer block goes on"
    assert gc.get_freeze_count() == 0


def test_collection_is_paused_for_the_length_of_the_block() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
