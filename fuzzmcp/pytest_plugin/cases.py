"""Saved cases as tests: one item for each file in the folder of regressions."""

from __future__ import annotations

import io
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fuzzmcp.core.config import Config, ConfigError, find, shown
from fuzzmcp.pytest_plugin.failures import explained, failure

if TYPE_CHECKING:
    from fuzzmcp.core.case import Case
    from fuzzmcp.core.trace import Run
    from fuzzmcp.search.corpus import Replayed, SavedCase
    from fuzzmcp.search.job import Job

_NEAREST = pytest.StashKey[dict[Path, "Config | ConfigError"]]()
_CLIENTS = pytest.StashKey[dict["Path | None", "_Client"]]()
_FAULTS = re.compile(rb"^\s*faults\s*=", re.MULTILINE)


def case_file(path: Path, parent: pytest.Collector) -> CaseFile | None:
    """The collector of a file, if it is a case that is to be collected.

    It is, when it lies in the folder of regressions of the nearest configuration and that names a client; and when
    somebody has named the file.
    """
    named = parent.session.isinitpath(path)
    found = _nearest(path.parent, parent.config)
    if isinstance(found, ConfigError):
        return CaseFile.from_parent(parent, path=path, problem=str(found)) if named and _is_case(path) else None
    ours = os.path.realpath(path.parent) == os.path.realpath(found.path("regressions")) and path.name[0] != "."
    if not (ours and found.client is not None) and not (named and (ours or _is_case(path))):
        return None
    return CaseFile.from_parent(parent, path=path, config_of_client=found)


def _nearest(folder: Path, config: pytest.Config) -> Config | ConfigError:
    known = config.stash.setdefault(_NEAREST, {})
    if folder not in known:
        try:
            known[folder] = find(folder)
        except ConfigError as error:
            known[folder] = error
    return known[folder]


def _is_case(path: Path) -> bool:
    """Whether a file looks like a case: other plugins may want other files of this ending."""
    try:
        return _FAULTS.search(path.read_bytes()) is not None
    except OSError:
        return False


class CaseFile(pytest.File):
    """A file with one saved case."""

    def __init__(self, *, config_of_client: Config | None = None, problem: str = "", **options: Any) -> None:
        super().__init__(**options)
        self._config_of_client, self._problem = config_of_client, problem

    def collect(self) -> list[CaseItem]:
        from fuzzmcp.core.withheld import given_calls
        from fuzzmcp.search.corpus import CaseFileError, read

        config = self._config_of_client
        if config is None:
            raise self.CollectError(self._problem)
        if config.client is None:
            place = shown(config.file) if config.file else "pyproject.toml"
            table = "" if place.endswith("fuzzmcp.toml") else "under [tool.fuzzmcp] "
            raise self.CollectError(
                f"{shown(self.path)}: no client is configured to replay this case: "
                f'write client = "my_client.py:connect" {table}in {place}'
            )
        try:
            saved = read(self.path, config.folder, given_calls(config.calls))
        except CaseFileError as error:
            raise self.CollectError(str(error).replace(str(self.path), shown(self.path), 1)) from None
        return [CaseItem.from_parent(self, name=_name_of(saved), saved=saved, config_of_client=config)]


def _name_of(saved: SavedCase) -> str:
    """The script, as far as it fits into the name of a test."""
    from fuzzmcp.report.escape import one_line

    return one_line(str(saved.case.script), 80).replace("::", ":")


class CaseItem(pytest.Item):
    """A saved case: it passes when the client keeps all its promises in it."""

    def __init__(self, *, saved: SavedCase, config_of_client: Config, **options: Any) -> None:
        super().__init__(**options)
        self._saved, self._config_of_client = saved, config_of_client

    def setup(self) -> None:
        known = self.config.stash.setdefault(_CLIENTS, {})
        config = self._config_of_client
        self._client = known.setdefault(config.file, _Client(config))
        self._client.prove_itself(self._saved.case)

    def runtest(self) -> None:
        from fuzzmcp.search.corpus import replayed

        client = self._client
        result = replayed(self._saved, client.job)
        if result.status != "fixed":
            raise failure(result.status, self._text(result))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"

    def _text(self, result: Replayed) -> str:
        """What a reader needs to understand the failure and to see it again."""
        from fuzzmcp.report.build import subject_of, violated
        from fuzzmcp.report.terminal.console import show_finding
        from fuzzmcp.report.terminal.style import console_for

        again = ("fuzzmcp", "replay", shown(self.path))
        out = io.StringIO()
        console = console_for(out)
        for finding in violated(subject_of(self._client.job), result.run, result.violations):
            console.print()
            show_finding(replace(finding, replay=again), console)
        if not result.violations:
            out.write(f"\nFAULTS={result.run.case.script}\nagain {' '.join(again)}\n")
        told = not self._saved.note or self._saved.note in result.message
        note = "" if told else f"\nsaved as: {self._saved.note}\n"
        return f"{result.message}\n{out.getvalue()}{note}".rstrip()


class _Client:
    """The configured client, loaded when the first case needs it, and known to run without any fault."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._job: Job | BaseException | None = None
        self._proven: dict[tuple[str, ...], BaseException | None] = {}

    @property
    def job(self) -> Job:
        if self._job is None:
            self._job = self._loaded()
        if isinstance(self._job, BaseException):
            raise self._job
        return self._job

    def _loaded(self) -> Job | BaseException:
        from fuzzmcp.core.errors import FuzzmcpError
        from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, DEFAULT_VERSION
        from fuzzmcp.search.job import Options, job_of

        config = self._config
        options = Options(
            protocol=config.protocol or DEFAULT_VERSION, transport=config.transport or DEFAULT_TRANSPORT, quiet=False
        )
        try:
            return job_of(config.spelled("client"), "", options, config)
        except FuzzmcpError as error:
            return failure("error", explained(error))

    def drive(self, case: Case) -> Run:
        return self.job.drive(case)

    def prove_itself(self, case: Case) -> None:
        """A client that fails without any fault is an error, and no failure of its promises."""
        from fuzzmcp.search.readiness import CannotRun, plain, unready

        key = (case.protocol, case.transport, case.backend, repr([tool.name for tool in case.tools]))
        if key not in self._proven:
            run = self.drive(plain(case))
            self._proven[key] = failure("error", _ending(CannotRun(run))) if unready(run) else None
        if (problem := self._proven[key]) is not None:
            raise problem


def _ending(error: Any) -> str:
    """Why a client cannot be run, with its own traceback."""
    from fuzzmcp.report.escape import own_frames_cut, places_without_own

    run = error.run
    places = places_without_own(run.outcomes[0].traceback) if run.outcomes else ""
    details = own_frames_cut(run.connect_traceback) if run.connect_traceback else places
    return f"{error}\n\n{details}".rstrip()
