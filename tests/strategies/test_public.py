"""What `fuzzmcp.strategies` exports."""

from __future__ import annotations

import pytest

from fuzzmcp import strategies


@pytest.mark.parametrize("name", strategies.__all__)
def test_every_public_strategy_is_documented_with_an_example(name: str) -> None:
    doc = getattr(strategies, name).__doc__
    assert ">>>" in doc
    assert "Args:" in doc


def test_the_public_names_are_sorted() -> None:
    assert strategies.__all__ == sorted(strategies.__all__)
