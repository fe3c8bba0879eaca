"""The vocabulary as a table of data."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from fuzzmcp.core.fault_row import Fault, Trait, Way
from fuzzmcp.core.faults import ANSWERS, BY_NAME, EXTRAS, FAULTS, ODD_RESULTS, RANK, why_inapplicable
from fuzzmcp.core.protocol import METHODS, TRANSPORTS, VERSIONS, era_of
from fuzzmcp.core.script import Script, action

rows = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@rows
def test_every_row_explains_itself(fault: Fault) -> None:
    assert fault.summary
    assert fault.summary == fault.summary.strip()
    assert len(fault.summary) < 60
    assert fault.detail.endswith(".")
    assert "  " not in fault.detail


@rows
def test_every_row_names_known_methods_versions_and_traits(fault: Fault) -> None:
    assert fault.methods
    assert set(fault.methods) <= set(METHODS)
    assert fault.versions
    assert set(fault.versions) <= set(VERSIONS)
    assert fault.transports
    assert set(fault.transports) <= set(TRANSPORTS)
    assert fault.traits <= set(get_args(Trait))
    assert fault.ways <= set(get_args(Way))
    assert fault.role == ("answer" if fault.name in ANSWERS else "extra")


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault.takes and not fault.takes.required])
def test_every_default_is_a_value_that_the_fault_takes(fault: Fault) -> None:
    assert fault.takes
    step = Script.parse(f"{fault.methods[0]}:{fault.name}").steps
    played = step[0].answer if fault.role == "answer" else step[0].extras[0]
    assert played.value == fault.takes.default
    assert played == action(fault.name)


def test_every_trait_and_every_way_is_one_of_some_fault() -> None:
    assert {trait for fault in FAULTS for trait in fault.traits} == set(get_args(Trait))
    assert {way for fault in FAULTS for way in fault.ways} == set(get_args(Way))


@pytest.mark.parametrize("word", [*get_args(Trait), *get_args(Way)])
def test_the_row_documents_every_trait_and_every_way(word: str) -> None:
    assert f"`{word}`" in (Fault.__doc__ or "")


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(FAULTS) == len(ANSWERS) + len(EXTRAS)


def test_the_rank_is_the_order_of_the_table_with_ok_first() -> None:
    assert [fault.name for fault in FAULTS] == sorted(RANK, key=RANK.__getitem__)
    assert FAULTS[0].name == "ok"


def test_only_one_answer_at_a_time_can_be_silent_and_valid() -> None:
    assert not [fault.name for fault in FAULTS if {"silent", "valid"} <= fault.traits]
    assert not [fault.name for fault in FAULTS if {"execution_error", "protocol_error"} <= fault.traits]


def test_the_bare_odd_is_the_first_odd_result() -> None:
    assert action("odd").value == ODD_RESULTS[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_is_of_one_era(version: str) -> None:
    assert era_of(version) == ("stateless" if version >= "2026" else "handshake")


@pytest.mark.parametrize("name", BY_NAME)
def test_a_fault_is_applicable_where_its_row_says_so_and_nowhere_else(name: str) -> None:
    fault = BY_NAME[name]
    for method, version, transport in product(METHODS, VERSIONS, TRANSPORTS):
        reason = why_inapplicable(name, method, version, transport)
        fits = method in fault.methods and version in fault.versions and transport in fault.transports
        assert (reason is None) == fits
        assert reason is None or name in reason
