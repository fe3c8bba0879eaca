"""What the zoo proves: every planted bug is found and ends in its stored script, and nothing in fuzzmcp is idle."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from benchmark.searches import find

import fuzzmcp
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.faults import BY_NAME
from fuzzmcp.core.script import Script
from fuzzmcp.examples.zoo import ZOO

CANARY = "RetriesSpendCap"
BUDGET = 2_000


LATE = {
    "CancelsOnce",
    "CancelsSiblings",
    "CancelsTheHandshake",
    "CancelsTheNewestRequest",
    "ChecksFirstItemsOnly",
    "ChecksFirstResultOnly",
    "ChecksKeysOnly",
    "ChecksTopLevelOnly",
    "ChecksTypesOnly",
    "FollowsEveryCursor",
    "ForgetsChangeWhileListing",
    "ForgetsTheConnectionOfAFailedHandshake",
    "GivesUpAllForOne",
    "HasNoPageLimit",
    "HasTwoPlaces",
    "HoldsALockWhileItWaits",
    "IgnoresClosedObjects",
    "IgnoresEnums",
    "IgnoresReferences",
    "KeepsOneResultForAll",
    "LosesAllToOneBadTool",
    "NeverStopsRelisting",
    "ReadsNumbersFromText",
    "RepeatsRefundsAfterReconnecting",
    "RepeatsRefundsAfterTimeouts",
    "RetriesListingForEver",
    "ServesTheLastResult",
    "ShieldsListing",
    "TakesNullForAbsent",
    "TakesRepeatsForAnswers",
    "TakesTheNextResponse",
    "WaitsForRefresh",
    "WritesOffSilentServer",
}
"""Bugs that show after more than 200 runs only: `make promises` searches for them as well."""


def searched_for(name: str) -> object:
    """A parameter, marked where its search takes long."""
    return pytest.param(name, marks=pytest.mark.slow) if name in LATE else name


@pytest.mark.parametrize("name", [*map(searched_for, ZOO)])
def test_the_search_finds_the_bug_and_ends_in_its_stored_script(name: str) -> None:
    planted = ZOO[name]
    found = find(name, "search", 1, BUDGET)
    assert found.script == f"{planted.script} | {' ; '.join(planted.calls)}"


def test_the_canary_is_found_at_once() -> None:
    """If this fails, the search is blind: trust no silence of it."""
    found = find(CANARY, "search", 7, 100)
    assert found.known


def test_there_are_bugs_enough() -> None:
    assert len(ZOO) >= 48


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_catches_at_least_two_bugs(check: str) -> None:
    assert Counter(planted.check for planted in ZOO.values())[check] >= 2


@pytest.mark.parametrize("fault", BY_NAME)
def test_every_fault_is_needed_by_a_bug(fault: str) -> None:
    steps = [step for planted in ZOO.values() for step in Script.parse(planted.script).steps]
    # A step that is plain stands for `ok`, and so does an answer that only has extras around it.
    assert any(action.name == fault for step in steps for action in step.actions)


@cache
def caught_by(name: str) -> frozenset[str]:
    """The checks that the stored case of a bug violates."""
    planted = ZOO[name]
    return frozenset(fuzzmcp.violations(fuzzmcp.run(planted.client, planted.script, calls=planted.calls)))


@pytest.mark.parametrize("check", CHECKS)
def test_without_this_check_a_bug_would_be_lost(check: str) -> None:
    assert any(caught_by(name) == {check} for name, planted in ZOO.items() if planted.check == check)
