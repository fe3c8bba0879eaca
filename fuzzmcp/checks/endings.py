"""Checks on how calls and sessions end, and on what a fault does to everything else."""

from __future__ import annotations

from math import inf

from fuzzmcp.checks.facts import NOT_EXERCISED, Facts, Verdict, Violation, held_if, seconds, shortened
from fuzzmcp.checks.interpret import interpret
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.errors import ToolNotOffered
from fuzzmcp.core.faults import BY_NAME
from fuzzmcp.core.script import OK, Step
from fuzzmcp.core.trace import PROBE, Event, Outcome

_ORDERING = 0.01
"""Seconds by which an answer may wait for no other reason than to come behind another one."""


def _of_call(facts: Facts, call: int) -> tuple[Event, ...]:
    return tuple(e for e in facts.run.events if e.call == call and e.kind in ("start", "request", "cancel", "settle"))


def finishes(facts: Facts, contract: Contract) -> Verdict:
    """Every call settles within `contract.deadline` virtual seconds, and promptly once its caller cancels it or its
    connection is gone.

    Why: MCP, basic/lifecycle, timeouts: implementations SHOULD set a timeout for every request, and a maximum SHOULD
    hold even when progress keeps coming. An idle loop without a timer proves that the client waits for ever. Nothing
    can answer any more on a stream that has ended: to wait for the timeout there is only delay.
    Do: put a deadline around the whole call (all attempts, waits and hidden requests), let cancellation through, and
    fail what is pending when the stream ends.
    """
    run = facts.run
    if not run.connected and (run.idle or any(leak.kind == "shutdown" for leak in run.leaks)):
        return Violation("connecting never came to an end", tuple(run.requests[-1:]))
    if run.stopped or any(blocking.seconds == inf for blocking in run.blocked):
        return NOT_EXERCISED  # `traffic` and `never_blocks` say why it was cut short
    cancelled_at = {e.call: e.at for e in run.events if e.kind == "cancel"}
    for outcome in run.outcomes:
        call, took = outcome.call, outcome.ended - outcome.started
        if outcome.status == "unfinished":
            how = (
                "waits for ever: nothing was left that could wake it"
                if run.idle
                else f"had not settled after {took:g} s"
            )
            return Violation(f"{facts.title(call)} {how}", _of_call(facts, call), call)
        if took > contract.deadline:
            message = f"{facts.title(call)} took {seconds(took)}; the contract allows {contract.deadline:g} s"
            return Violation(message, _of_call(facts, call), call)
        if outcome.ended - cancelled_at.get(call, outcome.ended) > contract.grace:
            late = seconds(outcome.ended - cancelled_at[call])
            return Violation(
                f"{facts.title(call)} went on for {late} after its caller cancelled it", _of_call(facts, call), call
            )
        closed = _closed_under(facts, outcome)
        if closed is not None and outcome.ended - closed.at > contract.grace:
            late = seconds(outcome.ended - closed.at)
            message = f"{facts.title(call)} waited for {late} on a connection that the server had closed"
            return Violation(message, (closed, *_of_call(facts, call)), call)
    return held_if(facts.faulty and bool(run.outcomes))


def _closed_under(facts: Facts, outcome: Outcome) -> Event | None:
    """The closing of the connection on which a call then ran into its timeout, without trying anything else."""
    last = facts.final(outcome.call)
    if facts.run.role == "agent" or last is None or not facts.timed_out(outcome):
        return None
    events = facts.run.events
    closed = [e for e in events if e.kind == "close" and e.connection == last.request.connection]
    closed = [e for e in closed if facts.before(last.request, e)]
    tried = [e for e in events if e.kind in ("open", "request") and closed and facts.before(closed[0], e)]
    return closed[0] if closed and not any(e.at < outcome.ended for e in tried) else None


def expected_errors(facts: Facts, contract: Contract) -> Verdict:
    """Only exception types that the contract accepts come out; a group is judged by its members.

    Why: policy. Callers catch what is documented. A `KeyError` out of a drifted result, a `CancelledError` that nobody
    asked for, or a `SystemExit` ends the program around the client.
    Do: turn what the wire can do into errors of your own, and name them in the contract.
    """
    run = facts.run
    for outcome in run.outcomes:
        wrong = next((e for e in outcome.exceptions if not contract.accepts_error(e)), None)
        if wrong is not None:
            message = f"{facts.title(outcome.call)} raised {_told(wrong)}"
            return Violation(message, _of_call(facts, outcome.call), outcome.call, type(wrong).__name__)
    if run.connect_error is not None and facts.faulty:
        members = Outcome(0, "raised", 0, 0, error=run.connect_error).exceptions
        wrong = next((e for e in members if not contract.accepts_error(e)), None)
        if wrong is not None:
            last = tuple(run.requests[-1:])
            return Violation(f"the session raised {_told(wrong)}", last, exception=type(wrong).__name__)
    return held_if(facts.faulty and (any(o.error for o in run.outcomes) or run.connect_error is not None))


def _told(error: BaseException) -> str:
    """An exception in a few words: type and message, the rest of a long one as an ellipsis."""
    return f"{type(error).__name__}: {shortened(' '.join(str(error).split()))}"


def survives(facts: Facts, contract: Contract) -> Verdict:
    """A call made after the script works, on the same session.

    Why: a fault ends one request, not the session (JSON-RPC 2.0 has no fatal errors). Not judged when the script closed
    the transport, or changed the catalogue, nor by a tool that the framework does not offer.
    Do: keep the receive loop alive whatever a frame, a handler or a timeout does.
    """
    run = facts.run
    told = any("changes" in action.fault.ways for _, step in run.steps for action in step.actions)  # perhaps too late
    changed = run.case.changed is not None and told
    if not facts.faulty or changed or _closed(facts):
        return NOT_EXERCISED
    if run.probe is None:
        return _went_down(facts)
    if isinstance(run.probe.error, ToolNotOffered):
        return NOT_EXERCISED  # nothing was asked of the session; `expected_errors` tells what is missing
    reading = interpret(run.probe.value)
    if run.probe.status == "returned" and not contract.is_error(reading):
        return held_if(True)
    how = f"raised {type(run.probe.error).__name__}" if run.probe.error is not None else run.probe.status
    how = "came back as an error" if run.probe.status == "returned" else how
    return Violation(f"after the script, an ordinary call on the same session {how}", _of_call(facts, PROBE), PROBE)


def _closed(facts: Facts) -> bool:
    """Whether the script has closed the connection."""
    return any("closes" in BY_NAME[name].traits for name in facts.played_names)


def _went_down(facts: Facts) -> Verdict:
    """Whether the session ended in the middle of its work, before there could be a probe."""
    error = facts.run.connect_error
    if facts.run.role == "agent" or not facts.run.connected or error is None or facts.run.stopped:
        return NOT_EXERCISED
    what = Outcome(0, "raised", 0, 0, error=error).exceptions[0]
    message = f"the session ended by itself while calls were made: {_told(what)}"
    return Violation(message, tuple(facts.run.requests[-1:]))


def cleans_up(facts: Facts, contract: Contract) -> Verdict:
    """No task, thread, stream or exception is left behind, and shutdown is bounded.

    Why: policy. What one failed call leaves behind adds up over a day of calls, and an exception that nobody retrieves
    is an error that nobody sees.
    Do: own every task (a task group), await what you start, join your threads, close what you open.
    """
    run = facts.run
    leaks = [leak for leak in run.leaks if run.connected or leak.kind != "shutdown"]
    if leaks and facts.faulty:
        first = leaks[0]
        what = {
            "task": f"a task was left behind: {first.what}",
            "thread": f"a thread was left behind: {first.what}",
            "stream": f"a stream was left open: {first.what}",
            "exception": f"an exception was never retrieved: {first.what}",
            "shutdown": first.what,
        }[first.kind]
        return Violation(what, run.events[-1:])
    return held_if(facts.faulty and run.connected)


def never_blocks(facts: Facts, contract: Contract) -> Verdict:
    """The event loop is never blocked.

    Why: policy. `time.sleep` in one call stops every other call, every timeout and every ping of the process.
    Do: `await asyncio.sleep(…)`, and hand blocking work to a thread.
    """
    if facts.run.blocked:
        first = facts.run.blocked[0]
        if first.seconds == inf:
            message = f"the event loop never turned again: {first.where}"
        else:
            message = f"the event loop was blocked for {first.seconds:g} s by {first.where}"
        return Violation(message, tuple(facts.run.requests[-1:]))
    return held_if(facts.faulty)


def isolation(facts: Facts, contract: Contract) -> Verdict:
    """A fault on one call does not fail, cancel or delay another in flight.

    Why: requests are independent (JSON-RPC 2.0); one slow customer must not stop the rest.
    Do: no lock across an await of an answer, no shared task group that one failure cancels.
    """
    run = facts.run
    shared = any(BY_NAME[name].traits & {"shared", "closes"} for name in facts.played_names)
    hit = {e.request.call for e in facts.exchanges if e.step is not None and not _merely_ordered(e.step)}
    hit |= {e.call for e in run.events if e.kind == "cancel"}
    hidden = any(e.step is not None and e.request.method != "tools/call" for e in facts.exchanges)
    if run.role == "agent" or len(run.outcomes) < 2 or shared or hidden or run.stopped:
        return NOT_EXERCISED
    exercised = False
    for outcome in run.outcomes:
        others = [o for o in run.outcomes if o.call in hit and _overlap(facts, o.call, outcome.call)]
        if outcome.call in hit or not others:
            continue
        exercised = True
        problem = _disturbed(facts, outcome, contract)
        if problem:
            message = f"{facts.title(outcome.call)} {problem} while only {facts.title(others[0].call)} met a fault"
            return Violation(message, _of_call(facts, outcome.call), outcome.call)
    return held_if(exercised)


def _merely_ordered(step: Step) -> bool:
    """Whether the step only puts valid answers in an order: no client's patience ends within milliseconds."""
    at = step.answer.at
    return step.answer.name == OK.name and not step.extras and isinstance(at, float) and at <= _ORDERING


def _overlap(facts: Facts, one: int, other: int) -> bool:
    """Whether both calls were under way at some time: each began before the other had settled."""
    marks = {(e.kind, e.call): e for e in facts.run.events if e.kind in ("start", "settle")}

    def begins_before_end(first: int, second: int) -> bool:
        end = marks.get(("settle", second))
        return end is None or facts.before(marks["start", first], end)

    return one != other and begins_before_end(one, other) and begins_before_end(other, one)


def _disturbed(facts: Facts, outcome: Outcome, contract: Contract) -> str:
    if outcome.status != "returned":
        return outcome.status if outcome.error is None else f"raised {type(outcome.error).__name__}"
    exchange = facts.final(outcome.call)
    if exchange is None or exchange.settled_by is None:
        return ""
    waited = exchange.at - outcome.started
    hinted = any(e.settled_by and e.settled_by.answer and e.settled_by.answer.hint for e in facts.exchanges)
    if waited > contract.grace and not hinted:  # to pause all calls on a rate limit is good practice
        return f"was not sent for {seconds(waited)}"
    late = outcome.ended - exchange.settled_by.at
    return f"was held up for {seconds(late)}" if late > contract.grace else ""
