"""Log records and warnings of a run."""

from __future__ import annotations

import logging
import warnings

import pytest

from fuzzmcp.harness.observe.logs import collected_logs


def test_a_record_that_cannot_be_formatted_is_kept_all_the_same() -> None:
    with collected_logs(lambda: 7.0) as logs:
        logging.getLogger("x").warning("%d items", "many")
    assert (logs[0].at, logs[0].level) == (7.0, "WARNING")
    assert logs[0].message.startswith("'%d items' (TypeError")


def test_the_same_warning_twice_is_two_warnings() -> None:
    with collected_logs(lambda: 0.0) as logs:
        for _ in range(2):
            warnings.warn("again", UserWarning, stacklevel=1)
    assert [log.message for log in logs] == ["again", "again"]


def test_a_flood_of_records_is_cut_off() -> None:
    with collected_logs(lambda: 0.0) as logs:
        for n in range(5_000):
            logging.getLogger("x").error("n %d", n)
    assert len(logs) == 1_000


def test_logging_is_restored_also_after_an_error() -> None:
    before = list(logging.getLogger().handlers)

    def breaks() -> None:
        with collected_logs(lambda: 0.0):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        breaks()
    assert list(logging.getLogger().handlers) == before
