"""Fewer examples, for properties that have tests of their own elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import settings


@contextmanager
def few_examples() -> Iterator[None]:
    """Ten examples for each Hypothesis test that runs in this block and does not ask for another number."""
    before = settings.default
    settings.register_profile("few", before, max_examples=10)
    settings.load_profile("few")
    try:
        yield
    finally:
        settings.register_profile("as before", before)
        settings.load_profile("as before")
