"""Checks on retrying: how often, how soon, and whether at all.

Rate limits, retry-after, spend caps and backoff are nowhere in the MCP specification: these checks are policy.
"""

from __future__ import annotations

from itertools import pairwise

from fuzzmcp.checks.facts import Exchange, Facts, Verdict, Violation, held_if, seconds
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.trace import Event
from fuzzmcp.harness.observe.layers import attempts_of, stack_of

_EPSILON = 1e-6
_REFUSALS = (-32700, -32600, -32601, -32602)


def _shown(first: Exchange, second: Exchange) -> tuple[Event, ...]:
    return tuple(event for event in (first.request, first.settled_by, second.request) if event is not None)


def _returned(exchange: Exchange) -> str:
    """The layer that sent this request again, for the end of a sentence."""
    loop = exchange.request.loop
    if loop is None:
        return ""
    return f" (by {loop}, which {loop.library} retries)" if loop.library else f" (by {loop})"


def request_budget(facts: Facts, contract: Contract) -> Verdict:
    """At most `contract.max_requests` requests per call, or what `contract.max_requests_per_tool` says of its tool.

    Why: policy. Retries multiply: a loop of 4 over an SDK's 3 is 12 requests on an API that is already overloaded.
    Do: keep one retry layer, bound it, and switch the others off; `fuzzmcp stack` shows which there are.
    """
    for call, exchanges in facts.tool_calls.items():
        tool = facts.tool(exchanges[0])
        allowed = contract.requests_for(tool.name if tool else "")
        if len(exchanges) > allowed:
            layers = str(stack_of(attempts_of(facts.run, call)))
            message = f"{facts.title(call)} cost {len(exchanges)} requests; the contract allows {allowed}"
            message += f": {layers}" if layers else ""
            return Violation(message, tuple(e.request for e in exchanges), call)
    tempted = any(e.fault and e.kind != "success" for found in facts.tool_calls.values() for e in found)
    return held_if(tempted)


def retry_after(facts: Facts, contract: Contract) -> Verdict:
    """No new request of a call before the moment that its rate limit named.

    Why: policy. The server said when it will answer again; asking earlier is refused, and often counted.
    Do: read the seconds of `retry-after` (they may be decimal), and wait at least that long or give up.
    """
    hinted = False
    for call, first, second in facts.in_turn():
        told = facts.heard(first, second)
        if told is None or told.answer is None or not told.answer.hint:
            continue
        hinted = True
        until = told.at + told.answer.hint
        early = next(
            (e for e in facts.tool_calls[call] if facts.before(told, e.request) and e.at < until - _EPSILON), None
        )
        if early is not None:
            waited, title = seconds(early.at - told.at), facts.title(call)
            message = f"{title} was sent again after {waited}; retry-after said {told.answer.hint:g} s"
            message += _returned(early)
            return Violation(message, _shown(first, early), call)
    return held_if(hinted)


def spend_cap(facts: Facts, contract: Contract) -> Verdict:
    """Nothing is sent again for a call whose spend cap was reached.

    Why: policy. A spend cap carries no retry-after; no retry succeeds until access is restored.
    Do: stop at the first such answer and tell the user.
    """
    capped = False
    for call, first, second in facts.in_turn():
        told = facts.heard(first, second)
        if told is None or first.fault is None or "capped" not in first.fault.fault.traits:
            continue
        capped = True
        if second is not None:
            waited = seconds(second.at - told.at)
            message = f"{facts.title(call)} was sent again {waited} after its spend cap was reached"
            return Violation(message, _shown(first, second), call)
    return held_if(capped)


def no_pointless_retry(facts: Facts, contract: Contract) -> Verdict:
    """Protocol errors and execution errors that are not transient are not retried.

    Why: policy. The same request gets the same refusal: invalid params, an unknown tool, a failed validation. Codes
    of the server's own trouble (-32603, -32000 and below) are left out, and so is a retry behind a fresh `tools/list`.
    Do: retry only what is known to be transient; surface the rest at once.
    """
    refused = False
    for call, first, second in facts.in_turn():
        reason = _refusal(first, facts.heard(first, second))
        refused = refused or bool(reason)
        if reason and second is not None and not _listed_between(facts, first, second):
            message = f"{facts.title(call)} was sent again after {reason}, which the same request meets again"
            return Violation(message, _shown(first, second), call)
    return held_if(refused)


def _refusal(exchange: Exchange, told: Event | None) -> str:
    answer = told.answer if told else None
    if answer is None or exchange.fault is None:
        return ""
    if answer.kind == "protocol_error" and answer.code in _REFUSALS:
        return f"protocol error {answer.code}"
    if answer.kind == "execution_error" and not exchange.fault.fault.traits & {"transient", "capped"}:
        return "an execution error that is not transient"
    return ""


def _listed_between(facts: Facts, first: Exchange, second: Exchange) -> bool:
    return any(
        e.request.method == "tools/list"
        and facts.before(first.request, e.request)
        and facts.before(e.request, second.request)
        for e in facts.exchanges
    )


def backoff(facts: Facts, contract: Contract) -> Verdict:
    """From the third attempt on, the waits on transient errors without a hint grow.

    Why: policy. Many clients that come back at a fixed interval keep an overloaded server overloaded.
    Do: double the wait each time, up to a cap. A client that draws its waits at random says `jitter` in its contract;
    then only waits of zero are held against it.
    """
    tried = False
    for call, exchanges in facts.tool_calls.items():
        waits: list[tuple[float, Exchange, Exchange]] = []
        for first, second in pairwise(exchanges):
            told = facts.heard(first, second)
            if told is None or not _unhinted(first, told):
                waits = []
                continue
            waits.append((second.at - told.at, first, second))
            tried = tried or len(waits) > 1
            if len(waits) > 1 and not _grows([wait for wait, _, _ in waits], contract.jitter):
                shown = ", ".join(seconds(wait) for wait, _, _ in waits)
                message = (
                    f"{facts.title(call)} was sent again and again without growing waits: {shown}{_returned(second)}"
                )
                return Violation(message, tuple(e.request for _, _, e in waits), call)
    return held_if(tried)


def _unhinted(exchange: Exchange, told: Event) -> bool:
    """Whether the answer is a transient error that names no wait."""
    answer = told.answer
    if answer is None or exchange.fault is None or answer.hint is not None:
        return False
    return answer.kind == "execution_error" and "transient" in exchange.fault.fault.traits


def _grows(waits: list[float], jitter: bool) -> bool:
    last, before, first = waits[-1], waits[-2], waits[0]
    if jitter:
        return last > 0
    capped = abs(last - before) <= _EPSILON and before > first + _EPSILON
    return last > before + _EPSILON or capped


def unsafe_retry(facts: Facts, contract: Contract) -> Verdict:
    """A tool not marked idempotent or read-only is not sent again after an ambiguous fault.

    Why: policy, and the meaning of `idempotentHint` and `readOnlyHint`. When no answer came, the tool may have run: a
    second refund is a second payment.
    Do: retry such a tool only after an answer that says it did not run; otherwise surface the doubt.
    """
    doubtful = False
    for call, first, second in facts.in_turn():
        if not _in_doubt(facts, first, second):
            continue
        doubtful = True
        if second is not None:
            fault, title = first.fault or first.step, facts.title(call)
            message = f"{title} may run twice: it was sent again after '{fault}', which does not say whether it ran"
            return Violation(message, _shown(first, second), call)
    return held_if(doubtful)


def _in_doubt(facts: Facts, exchange: Exchange, following: Exchange | None) -> bool:
    """Whether a call that must not run twice went without an answer, or was given up before one came."""
    tool = facts.tool(exchange)
    if tool is None or tool.repeatable or (exchange.fault is None and exchange.step is None):
        return False
    return facts.heard(exchange, following) is None
