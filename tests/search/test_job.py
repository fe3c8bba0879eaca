"""A job is put together from options and configuration without a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.config import Config, find
from fuzzmcp.core.errors import BadValue
from fuzzmcp.core.request_limits import Allowed
from fuzzmcp.search.job import Job, Options, job_of

NAIVE = "fuzzmcp.examples.naive_agent:connect"


@pytest.fixture
def bare(tmp_path: Path) -> Config:
    """A project that configures nothing."""
    return Config(tmp_path)


def configured(folder: Path, text: str) -> Config:
    (folder / "fuzzmcp.toml").write_text(text)
    return find(folder)


def test_nothing_asked_for_is_every_check_of_the_default_case(bare: Config) -> None:
    job = job_of(NAIVE, "429", Options(), bare)
    assert (str(job.case.script), job.checks, job.catalogue, job.client) == ("429", tuple(CHECKS), "crm", NAIVE)
    assert not job.calls_configured


def test_a_job_drives_its_case_and_judges_the_run_by_its_own_checks(bare: Config) -> None:
    job = job_of(NAIVE, "429cap", Options(check=("spend_cap",)), bare)
    assert list(job.judge(job.drive(job.case))) == ["spend_cap"]


def test_an_option_goes_before_the_configuration(tmp_path: Path) -> None:
    config = configured(tmp_path, 'checks = ["finishes"]\n[contract]\nmax_requests = 3\n')
    job = job_of(NAIVE, "", Options(check=("survives",), max_requests=Allowed(5)), config)
    assert (job.checks, job.contract.max_requests) == (("survives",), 5)
    job = job_of(NAIVE, "", Options(), config)
    assert (job.checks, job.contract.max_requests) == (("finishes",), 3)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (Options(check=("spend_cup",)), "checks"),
        (Options(skip=tuple(CHECKS)), "skip"),
        (Options(backend="no_such_loop"), "backend"),
        (Options(tools="no_such_module:server"), "tools"),
        (Options(deadline=-1.0), "contract"),
        (Options(max_requests=Allowed(None, {"get_odrer": 2})), "max_requests"),
        (Options(outputs={"get_odrer": {}}), "output"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_that_cannot_be_used_is_told_by_its_key(options: Options, key: str, bare: Config) -> None:
    with pytest.raises(BadValue) as caught:
        job_of(NAIVE, "", options, bare)
    assert (caught.value.key, caught.value.place) == (key, None)


@pytest.mark.parametrize("line", ['checks = ["spend_cup"]', 'tools = "no_such_module:server"', 'calls = ["nothing()"]'])
def test_a_value_of_the_configuration_is_told_by_its_place(line: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"fuzzmcp\.toml, line 1: ") as caught:
        job_of(NAIVE, "", Options(), configured(tmp_path, f"{line}\n"))
    assert caught.value.place is not None


def test_a_job_of_a_target_alone_asks_everything(bare: Config) -> None:
    made: Any = job_of(NAIVE, "", Options(), bare)
    assert Job(made.target, made.case).checks == tuple(CHECKS)
