"""A campaign: what a job does every night. The canary, the saved cases, then a search that saves what it finds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis.database import ExampleDatabase

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.errors import CANNOT_RUN, FuzzmcpError
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.harness.target import target_of
from fuzzmcp.search import Budget, Search
from fuzzmcp.search.corpus import FAILS, FIXED, CaseFileError, Replayed, SavedCase, case_files, read, replayed, save
from fuzzmcp.search.findings import Finding, kinds_of, numbered, short
from fuzzmcp.search.job import Job
from fuzzmcp.search.readiness import plain, prove
from fuzzmcp.search.result import Progress, Result

CANARY_RUNS = 300


class CanaryMissed(FuzzmcpError):
    """The planted bug was not found: whatever such a campaign does not find proves nothing."""

    exit_code = CANNOT_RUN


@dataclass(frozen=True)
class Plan:
    """What a campaign is to do.

    Args:
        job: The client, the case that the search starts from, and what is asked of it.
        seed: The same seed gives the same search.
        budget: When the search ends; the canary and the saved cases come before.
        folder: Where findings are saved, and saved cases are replayed from; None for nowhere.
        baseline: A file or folder of saved cases that may fail; None, or one that is not there, for none.
        max_findings: End the search after so many new findings; None for no limit.
        canary: Whether to look first for a planted bug in a client of fuzzmcp's own.
        database: Hypothesis's example database; None for none.
    """

    job: Job
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    folder: Path | None = None
    baseline: Path | None = None
    max_findings: int | None = None
    canary: bool = True
    database: ExampleDatabase | None = None


@dataclass(frozen=True)
class Outcome:
    """What a campaign brings home.

    Args:
        plan: What was to be done.
        result: Of the search: its findings are the new ones, its known ones are those that a saved case showed again.
        replays: Every saved case, as it is today, in the order of the search's corpus.
        expected: Names of the saved cases of the baseline.
        files: Where each new finding is saved, by its name.
    """

    plan: Plan
    result: Result
    replays: tuple[Replayed, ...]
    expected: frozenset[str]
    files: dict[str, Path]

    @property
    def stale(self) -> tuple[str, ...]:
        """Saved cases that fail no more: `fuzzmcp prune` removes them."""
        return tuple(seen.saved.name for seen in self.replays if seen.status == FIXED)

    @property
    def unexpected(self) -> tuple[str, ...]:
        """What fails and is not in the baseline: new findings, and saved cases that still fail."""
        saved = [seen.saved.name for seen in self.replays if seen.status != FIXED]
        return (
            *(name for name in saved if name not in self.expected),
            *(finding.name for finding in self.result.findings),
        )


def run_campaign(
    plan: Plan,
    *,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    on_replayed: Callable[[Replayed], None] = lambda replayed: None,
    on_finding: Callable[[Finding, Path | None], None] = lambda finding, path: None,
) -> Outcome:
    """Carry out a campaign.

    Args:
        plan: What to do.
        on_progress: Called now and then.
        on_replayed: Called with each saved case.
        on_finding: Called with each new finding once it is saved: what it tells can no longer be lost.

    Raises:
        CanaryMissed: The planted bug was not found.
        CannotRun: The client cannot be driven at all.
        CaseFileError: A saved case cannot be used; nothing has been run.
        OSError: A finding cannot be saved.
    """
    job, corpus = plan.job, _corpus(plan)
    if plan.canary:
        look_for_canary(job.case, plan.seed, quiet=job.quiet)
    prove(job.drive(plain(job.case)))
    replays = []
    for saved in corpus:
        replays.append(replayed(saved, job))
        on_replayed(replays[-1])
    files: dict[str, Path] = {}

    def found(finding: Finding) -> None:
        path = None if plan.folder is None else keep(plan.folder, finding, job.target.role, job.case.calls)
        if path is not None:
            files[finding.name] = path
        on_finding(finding, path)

    search = Search(
        job,
        seed=plan.seed,
        budget=plan.budget,
        on_progress=on_progress,
        until=lambda finding: plan.max_findings is not None and len(search.result.findings) >= plan.max_findings,
        on_finding=found,
        corpus=[(saved.check, saved.case) for saved in corpus],
        database=plan.database,
    )
    result = search.run()
    return Outcome(plan, result, tuple(replays), names_in(plan.baseline), files)


def saved_case(finding: Finding, role: str = "client") -> SavedCase:
    """A finding as a case to save."""
    return SavedCase(finding.check, finding.case, finding.violation.message, role=role)


def keep(folder: Path, finding: Finding, role: str = "client", given: Sequence[Call] | None = None) -> Path:
    """Save a finding, unless there is a file of it, and return the file.

    Args:
        folder: The folder of saved cases.
        finding: What to save.
        role: That of the client.
        given: The calls that the user gave: their secrets are withheld. None for those of the finding.

    Raises:
        OSError: It cannot be written.
    """
    saved = saved_case(finding, role)
    return save(folder, name_in(folder, finding.name, saved), saved, given)[0]


def name_in(folder: Path, name: str, saved: SavedCase) -> str:
    """The name under which a folder has a finding, or else is to have it.

    That is the finding's own. A file of the four digits of older versions is the same finding if it has the same check
    and the same fault kinds. A file of the same digits with others is another one, and stays as it is.

    Args:
        folder: The folder of saved cases; it may be missing.
        name: The finding's name.
        saved: The finding as a case to save.
    """
    old = short(name)
    if old != name and (folder / f"{old}.toml").exists() and _is_of(folder / f"{old}.toml", saved):
        return old
    paths = ((each, folder / f"{each}.toml") for each in numbered(name))
    return next(each for each, path in paths if not path.exists() or _is_of(path, saved))


def _is_of(path: Path, saved: SavedCase) -> bool:
    """Whether a case file is of this finding; of what cannot be read nobody can say that it is not."""
    try:
        found = read(path, given=saved.case.calls)
    except CaseFileError:
        return True
    return found.check == saved.check and kinds_of(found.case) == kinds_of(saved.case)


def _corpus(plan: Plan) -> tuple[SavedCase, ...]:
    """The saved cases of folder and baseline, each name once."""
    paths = {path.stem: path for path in (*_places(plan.baseline), *_places(plan.folder))}
    return tuple(read(path, given=plan.job.case.calls) for _, path in sorted(paths.items()))


def names_in(place: Path | None) -> frozenset[str]:
    """The names of the saved cases in a file or folder."""
    return frozenset(path.stem for path in _places(place))


def _places(place: Path | None) -> Sequence[Path]:
    return case_files([place]) if place is not None and place.exists() else ()


def look_for_canary(base: Case, seed: int, *, quiet: bool = True) -> None:
    """Find a bug that was planted, save it, read it, and see it fail again: the whole way that a finding goes.

    Args:
        base: Tools, calls and backend to do it with.
        seed: The seed of the search.
        quiet: Swallow what is printed.

    Raises:
        CanaryMissed: It was not found, or got lost on the way; the message says where.
    """
    from fuzzmcp.examples.zoo.retries import RetriesSpendCap

    case = replace(base, protocol=DEFAULT_VERSION, transport=DEFAULT_TRANSPORT)
    job = Job(target_of(RetriesSpendCap), case, quiet=quiet)
    search = Search(
        replace(job, checks=("spend_cap",)), seed=seed, budget=Budget(CANARY_RUNS), until=lambda finding: True
    )
    found = search.run().findings
    if not found:
        raise CanaryMissed(f"the canary lives: a planted bug was not found in {search.result.runs:,} runs")
    with tempfile.TemporaryDirectory() as folder:
        again = read(keep(Path(folder), found[0], given=base.calls), Path(folder), base.calls)
        seen = replayed(again, job)
    if seen.status != FAILS:
        raise CanaryMissed(f"the canary's case was saved as '{again.case.script}'; replayed: {seen.status}")
