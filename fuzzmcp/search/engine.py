"""The search: corpus, calibrate, sweep, fuzz; each violation shrinks, is made minimal, and is set aside."""

from __future__ import annotations

import contextlib
import hashlib
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.database import ExampleDatabase
from hypothesis.errors import HypothesisWarning

from fuzzmcp.checks import CHECKS, Violation
from fuzzmcp.core import case_codec
from fuzzmcp.core.case import Case
from fuzzmcp.core.script import Action, Script, Step
from fuzzmcp.core.trace import Run
from fuzzmcp.harness.guards import frozen_gc, sigint_watch
from fuzzmcp.search.findings import Finding, bare, fingerprint_of, kinds_of, numbered, sentence_of, shape_of
from fuzzmcp.search.hypothesis_constants import none_of_this_process
from fuzzmcp.search.job import Job
from fuzzmcp.search.minimize import StopSearch, complexity, minimize, with_script
from fuzzmcp.search.pending import Pending
from fuzzmcp.search.readiness import moments, prove
from fuzzmcp.search.result import Budget, Exposure, Progress, Result
from fuzzmcp.search.sweep import sweep
from fuzzmcp.strategies import cases

_BATCH = 200
_NOTHING: dict[str, Violation] = {}
_REPLAYS = 3
_GRACE_RUNS, _GRACE_SECONDS = 200, 5.0
"""By how much a violation that is being made minimal may overrun the budget (or by a fifth, if that is more)."""
_SWEEP_SHARE = 0.6
"""The part of the budget that the sweep may use: drawn cases must get their turn."""


class Search:
    """One search over one client.

    Args:
        job: The client, the case that the others start from, and what is asked of it.
        seed: The same seed gives the same cases.
        budget: When to stop.
        on_progress: Called now and then.
        phases: Which of `corpus`, `calibrate`, `sweep`, `fuzz` to run.
        interleave: Whether to draw the order of what is due at the same moment.
        last_pass: Whether to make findings minimal; without it they are as Hypothesis, or the sweep, left them.
        until: Ends the search when it says so of a new finding.
        on_finding: Called with each new finding, before anything else is told of it.
        corpus: Saved cases, each with the check that it violated. Those that still do are known, and set aside.
        database: One of Hypothesis's example databases, for what a killed search was about to shrink; None for none.
    """

    def __init__(
        self,
        job: Job,
        *,
        seed: int = 0,
        budget: Budget | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        phases: tuple[str, ...] = ("corpus", "calibrate", "sweep", "fuzz"),
        interleave: bool = True,
        last_pass: bool = True,
        until: Callable[[Finding], bool] = lambda finding: False,
        on_finding: Callable[[Finding], None] = lambda finding: None,
        corpus: Sequence[tuple[str, Case]] = (),
        database: ExampleDatabase | None = None,
    ) -> None:
        self.job, self.base = job, job.case
        self.seed, self.budget = seed, budget or Budget()
        self.result = Result()
        self._on_progress, self._phases = on_progress, phases
        self._interleave, self._last_pass, self._until = interleave, last_pass, until
        self._on_finding, self._saved, self._pending = on_finding, corpus, Pending(database, job.case)
        self._remembers = bool(corpus) or database is not None
        self._known: dict[bytes, dict[str, Violation]] = {}
        self._aside: dict[str, list[Case]] = {}
        self._glimpsed: dict[tuple[str, str], Case] = {}
        self._enough = False
        self._pressed: Callable[[], bool] = lambda: False
        self._began = 0.0
        self._harness_error: Exception | None = None

    def run(self) -> Result:
        """Search until the budget is spent or the user interrupts.

        Raises:
            CannotRun: The client cannot be driven at all.
        """
        self._began = time.perf_counter()
        result = self.result
        try:
            with sigint_watch() as self._pressed, frozen_gc():
                with contextlib.suppress(StopSearch):
                    self._preflight()
                    for phase in self._phases:
                        if phase == "corpus" and not self._remembers:
                            continue
                        result.phase = phase
                        self._report()
                        getattr(self, f"_{phase}")()
                self._follow_up()
        except KeyboardInterrupt:
            result.interrupted = True
        result.seconds = self._elapsed()
        order = list(CHECKS)
        result.findings.sort(key=lambda f: (order.index(f.check), complexity(f.case)))
        return result

    # -- phases ----------------------------------------------------------------------------------------------------

    def _preflight(self) -> None:
        case = replace(self.base, script=Script())
        run = self._drive(case)
        prove(run)
        if run.case.transport != self.base.transport:  # it starts its server itself: bytes can be broken as well
            self.base = replace(self.base, transport=run.case.transport)
            self._pending.base = self.base
        self.result.transport = self.base.transport
        self._consider(replace(case, transport=self.base.transport))

    def _corpus(self) -> None:
        """What is known comes first: it explains what the search would find again."""
        for number, (check, case) in enumerate(self._saved):
            if check in self.job.checks and check in self._violations(case):
                self._aside.setdefault(check, []).append(case)
                known = self._finding(check, case, None)
                if known is not None:
                    self.result.known[number] = known
        for case in (*(case for _, case in self._saved), *self._pending.left()):  # whatever the budget: they are few
            self._take(case)
        self._pending.settled()

    def _calibrate(self) -> None:
        """Learn when this client gives up by itself: delays are drawn around these moments."""
        found: set[float] = set()
        for step in (Step(Action("hang")), Step(Action("hang"), count=None), Step(Action("hang"), method="list")):
            case = with_script(self.base, Script((step,)))
            found |= set(moments(self._drive(case)))
        self.result.moments = tuple(sorted(found))[:4]

    def _sweep(self) -> None:
        for case in sweep(self.base, self.result.moments):
            if self._share_used() >= _SWEEP_SHARE and "fuzz" in self._phases:
                return
            self._consider(case)

    def _follow_up(self) -> None:
        """What was seen by the way, while something else shrank, and never had its turn before the budget was spent."""
        had: set[tuple[str, str]] = set()
        while not self._enough:
            kind = next((k for k in self._glimpsed if k not in had and k[0] not in self._aside), None)
            if kind is None:
                return
            had.add(kind)
            with contextlib.suppress(StopSearch):
                self._minimal(kind[0], self._glimpsed[kind])  # which shows others, now and then

    def _fuzz(self) -> None:
        strategy = cases(
            self.base.tools,
            protocol=self.base.protocol,
            moments=self.result.moments,
            transport=self.base.transport,
            backend=self.base.backend,
            interleave=self._interleave,
        )
        batch = 0
        while not self._spent():
            self._fuzz_batch(strategy, self.seed * 1_000_003 + batch)
            batch += 1
            self._report()

    def _fuzz_batch(self, strategy: Any, batch_seed: int) -> None:
        """One Hypothesis test run; each check's failures shrink by themselves, and the smallest of each is kept."""
        best: dict[tuple[str, str], Case] = {}

        def property_holds(case: Case) -> None:
            try:
                if self._spent():
                    raise StopSearch
                fresh = self._fresh(case)
            except Exception as error:  # Hypothesis would take it for a failure of the client, and shrink it
                self._harness_error = error
                raise StopSearch from error
            if fresh:
                name, violation = next(iter(fresh.items()))
                kind = (name, violation.exception)
                if kind not in best or complexity(case) < complexity(best[kind]):
                    best[kind] = case
                    self._pending.add(case)
                raise CHECKS[name].failure(violation)

        test = seed(batch_seed)(_SETTINGS(given(case=strategy)(property_holds)))
        try:
            with warnings.catch_warnings(), none_of_this_process():
                # Old versions look for the owner of their own random among objects that `frozen_gc` hides.
                warnings.filterwarnings("ignore", "It looks like `register_random`", HypothesisWarning)
                test()
        except KeyboardInterrupt:
            for (name, _), case in best.items():
                self._add(name, case, minimal=False)
            raise
        except (Exception, StopSearch):
            if self._harness_error is not None:
                raise self._harness_error from self._harness_error.__cause__
            if not best and not self._spent():
                raise
        order = list(self.job.checks)
        for name, exception in sorted(best, key=lambda kind: (order.index(kind[0]), kind[1])):
            self._minimal(name, best[name, exception])
        self._pending.settled()

    # -- violations ------------------------------------------------------------------------------------------------

    def _consider(self, case: Case) -> None:
        if self._spent():
            raise StopSearch
        self._take(case)
        self._pending.settled()

    def _take(self, case: Case) -> None:
        fresh = self._fresh(case)
        if fresh:
            self._pending.add(case)
        for name in fresh:
            self._minimal(name, case)

    def _fresh(self, case: Case) -> dict[str, Violation]:
        """The violations of a swept or drawn case that no finding explains."""
        self.result.cases += 1
        violations = self._violations(case)
        for name in violations:
            if name not in self.result.exposed:
                self.result.exposed[name] = Exposure(self.result.cases, self.result.runs, self._elapsed())
        return {
            name: violation
            for name, violation in violations.items()
            if not any(self._explains(found, name, case, violation) for found in self._aside.get(name, ()))
        }

    def _explains(self, found: Case, check: str, case: Case, violation: Violation) -> bool:
        """Whether a violation is one that was found before.

        Another type of exception is another bug. Else it is, when all fault kinds of the finding occur in the case (on
        other methods, only if the sentence is the same), or when the finding's step in place of the case's violates the
        check as well, on the case's calls or on the finding's: then the last pass would end there.
        """
        if not self._alike(found, check, violation):
            return False
        if set(kinds_of(case)) >= set(kinds_of(found)):
            return True
        same = sentence_of(found, self._violations(found)[check]) == sentence_of(case, violation)
        if same and bare(kinds_of(case)) >= bare(kinds_of(found)):
            return True
        faulty = {replace(step, count=1) for step in found.script.steps if not step.plain}
        if len(faulty) != 1:
            return False
        (known,) = faulty
        alone = with_script(case, Script(tuple(step for step in case.script.steps if not step.plain)))
        return any(
            self._violates_with(known, check, other)
            for other in (case, replace(alone, calls=found.calls))
            if other is case or check in self._violations(other)
        )

    def _alike(self, case: Case, check: str, violation: Violation) -> bool:
        """Whether a case violates the check too, and by an exception of the same type if by any."""
        other = self._violations(case).get(check)
        return other is not None and other.exception == violation.exception

    def _violates_with(self, known: Step, check: str, case: Case) -> bool:
        """Whether the case still violates the check when every step that does something is the known one."""
        steps = tuple(
            step if step.plain else replace(known, count=step.count)
            for step in case.script.steps
            if step.plain or step.method == known.method
        )
        other = with_script(case, Script(steps))
        return other.script != case.script and check in self._violations(other)

    def _minimal(self, check: str, case: Case) -> None:
        """Make a violation minimal and add it to the findings, unless it turns out to be a known one."""
        violation = self._violations(case)[check]

        def violates(smaller: Case) -> bool:
            if self._overrun():
                raise StopSearch
            return self._alike(smaller, check, violation)

        if not self._last_pass:
            self._add(check, case, minimal=False)
            return
        try:
            smallest, done = minimize(case, violates)
        except KeyboardInterrupt:
            self._add(check, case, minimal=False)
            raise
        self._add(check, smallest, minimal=done)

    def _add(self, check: str, case: Case, *, minimal: bool) -> None:
        """Add a violation to the findings: a smallest one of its kinds, or the only one of its check."""
        violation = self._violations(case).get(check)
        if violation is None:
            return
        known = [f for f in self._aside.get(check, ()) if self._alike(f, check, violation)]
        if known and not minimal:
            return
        if any(len(kinds_of(case)) == len(kinds_of(f)) and self._explains(f, check, case, violation) for f in known):
            return
        self._aside.setdefault(check, []).append(case)
        finding = self._finding(check, case, minimal)
        if finding is not None and all(f.bug != finding.bug for f in self.result.findings):
            taken = {f.name for f in self.result.findings}
            free = next(free for free in numbered(finding.fingerprint) if f"{check}-{free}" not in taken)
            finding = replace(finding, fingerprint=free)
            self.result.findings.append(finding)
            self._on_finding(finding)
            self._report()
            if self._until(finding):
                self._enough = True
                raise StopSearch

    def _finding(self, check: str, case: Case, minimal: bool | None) -> Finding | None:
        replays = [self._replay(case) for _ in range(_REPLAYS)]
        found = [(run, verdict) for run, verdict in ((r, self._judge(r).get(check)) for r in replays) if verdict]
        if not found:
            return None
        run, violation = found[0]
        agree = len(found) == _REPLAYS and len(set(map(shape_of, replays))) == 1
        return Finding(check, case, violation, run, minimal, agree, fingerprint_of(check, case, run, violation))

    # -- runs ------------------------------------------------------------------------------------------------------

    def _violations(self, case: Case) -> dict[str, Violation]:
        key = hashlib.blake2b(case_codec.key(case).encode(errors="surrogatepass"), digest_size=16).digest()
        if key not in self._known:
            found = self._judge(self._drive(case), count=True)
            # A night has a million cases: what they have shown is forgotten, what they violate is not.
            self._known[key] = {n: replace(v, evidence=()) for n, v in found.items()} if found else _NOTHING
            for name, violation in found.items():
                self._glimpsed.setdefault((name, violation.exception), case)
        return self._known[key]

    def _judge(self, run: Run, *, count: bool = False) -> dict[str, Violation]:
        verdicts = self.job.judge(run)
        if count:
            self.result.tally.add(run, verdicts, self.job.contract)
        return {name: verdict for name, verdict in verdicts.items() if isinstance(verdict, Violation)}

    def _drive(self, case: Case) -> Run:
        if self._pressed():  # Python swallows a KeyboardInterrupt that strikes in a finaliser
            raise KeyboardInterrupt
        self.result.runs += 1
        if self.result.runs % 10 == 0:
            self._report()
        return self._replay(case)

    def _replay(self, case: Case) -> Run:
        return self.job.drive(case)

    # -- budget ----------------------------------------------------------------------------------------------------

    def _elapsed(self) -> float:
        return time.perf_counter() - self._began

    def _share_used(self) -> float:
        by_runs = 0.0 if self.budget.runs is None else self.result.runs / self.budget.runs
        by_time = 0.0 if self.budget.seconds is None else self._elapsed() / self.budget.seconds
        return max(by_runs, by_time)

    def _spent(self) -> bool:
        return self._share_used() >= 1.0

    def _overrun(self) -> bool:
        runs, seconds = self.budget.runs, self.budget.seconds
        too_many = runs is not None and self.result.runs >= runs + max(_GRACE_RUNS, runs // 5)
        return too_many or (seconds is not None and self._elapsed() >= seconds + max(_GRACE_SECONDS, seconds / 5))

    def _report(self) -> None:
        left = None if self.budget.seconds is None else max(self.budget.seconds - self._elapsed(), 0.0)
        found = len(self.result.findings)
        self._on_progress(Progress(self.result.phase, self.result.runs, found, self._elapsed(), left))


_SETTINGS = settings(
    max_examples=_BATCH,
    database=None,
    deadline=None,
    derandomize=False,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
    verbosity=Verbosity.quiet,
    print_blob=False,
    report_multiple_bugs=True,
)
