"""Checks on the client's half of the protocol: lists, cancellations, traffic, duties towards the server."""

from __future__ import annotations

from collections import Counter

from fuzzmcp.checks.facts import Exchange, Facts, Verdict, Violation, held_if
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.trace import Event


def relists(facts: Facts, contract: Contract) -> Verdict:
    """After `list_changed`, a `tools/list` comes before the next `tools/call`.

    Why: MCP, server/tools, list changed notification: the catalogue that the client holds is out of date, and so are
    the schemas that it validates against (2026-07-28: whatever `ttlMs` says).
    Do: mark the list as stale in the notification handler; list again before the next call.
    """
    exercised = False
    for change in _list_changes(facts):
        before = [e for e in facts.exchanges if e.request.connection == change.connection]
        listed = [e.request for e in before if e.request.method == "tools/list"]
        if not any(facts.before(e, change) for e in listed):
            continue
        call = next((e.request for e in before if _is_next_call(facts, change, e.request)), None)
        if call is None:
            continue
        exercised = True
        if not any(facts.before(change, e) and facts.before(e, call) for e in listed):
            title = facts.title(call.call) if call.call is not None else "tools/call"
            message = f"the catalogue changed, and {title} was sent without listing again"
            return Violation(message, (change, call), call.call)
    return held_if(exercised)


def _list_changes(facts: Facts) -> list[Event]:
    return [e for e in facts.run.events if e.kind == "deliver" and e.method == "notifications/tools/list_changed"]


def _is_next_call(facts: Facts, change: Event, request: Event) -> bool:
    """A `tools/call` after the change, once the client must have seen it: time went by, or a call settled behind it."""
    if request.method != "tools/call" or not facts.before(change, request):
        return False
    if request.at > change.at:
        return True
    return any(e.kind == "settle" and facts.before(change, e) and facts.before(e, request) for e in facts.run.events)


def cancels(facts: Facts, contract: Contract) -> Verdict:
    """A request given up on is cancelled on the wire; `initialize` never, and no unknown or finished id.

    Why: MCP, basic/utilities/cancellation and basic/lifecycle, timeouts: when a request times out the sender SHOULD
    cancel it and stop waiting; a cancellation MUST name a request sent in this direction and believed in progress;
    `initialize` MUST NOT be cancelled. Over stdio in 2026-07-28 the notification is a MUST.
    Do: send one `notifications/cancelled` with the id of every request that you stop waiting for.
    """
    wrong = _wrong_cancellation(facts)
    if wrong:
        return wrong
    exercised = False
    for exchange in facts.exchanges:
        given_up = _given_up(facts, exchange)
        if given_up is None:
            withdrawn = exchange.cancelled_by is not None and facts.heard(exchange) is None
            exercised = exercised or withdrawn
            continue
        exercised = True
        if exchange.cancelled_by is None:
            method = exchange.request.method
            message = f"{method} {exchange.id!r} was given up without notifications/cancelled"
            return Violation(message, (exchange.request, given_up), exchange.request.call)
    return _sent_after_cancel(facts) or held_if(exercised)


def _wrong_cancellation(facts: Facts) -> Violation | None:
    seen: set[tuple[int, str]] = set()
    for event in facts.run.events:
        if event.kind != "notify" or event.method != "notifications/cancelled":
            continue
        params = (event.frame or {}).get("params")
        name = params.get("requestId") if isinstance(params, dict) else None
        meant = [e for e in facts.exchanges if e.request.connection == event.connection and e.id == name]
        meant = [e for e in meant if facts.before(e.request, event)]
        if not meant:
            return Violation(f"a cancellation names the unknown id {name!r}", (event,))
        exchange = meant[-1]
        if exchange.request.method == "initialize":
            return Violation("initialize was cancelled", (exchange.request, event))
        settled = exchange.settled_by
        if settled is not None and settled.at < event.at and not _behind_no_utf8(facts, settled):
            message = f"request {name!r} was cancelled after its answer had come"
            return Violation(message, (exchange.request, settled, event), exchange.request.call)
        if (event.connection, repr(name)) in seen:
            return Violation(f"request {name!r} was cancelled twice", (exchange.request, event), exchange.request.call)
        seen.add((event.connection, repr(name)))
    return None


def _behind_no_utf8(facts: Facts, delivered: Event) -> bool:
    """Whether bytes that are no UTF-8 went before: a client whose reader they ended cannot know of the answer."""
    return any(
        e.action is not None and "unreadable" in e.action.fault.traits and e.connection == delivered.connection
        for e in facts.run.events[: facts.position[id(delivered)]]
    )


def _given_up(facts: Facts, exchange: Exchange) -> Event | None:
    """The event that shows that the client no longer waits for an unanswered request on an open connection."""
    call, request = exchange.request.call, exchange.request
    if request.method != "tools/call" or call is None or facts.run.role == "agent":
        return None
    closed = [e.at for e in facts.run.events if e.kind == "close" and e.connection == request.connection]
    outcome = facts.outcomes.get(call)
    if outcome is None or outcome.status == "unfinished" or (closed and min(closed) <= outcome.ended):
        return None
    moved_on = [e for e in facts.run.events if e.kind in ("request", "settle") and e.call == call]
    moved_on = [e for e in moved_on if facts.before(request, e) and e.method in ("tools/call", "")]
    for event in moved_on:
        came = [e.at for e in (exchange.settled_by, exchange.nearly_by) if e is not None]
        answered = bool(came) and min(came) <= outcome.ended  # who asks twice may still wait for both
        hung_up = any(e.kind == "hang_up" and facts.before(e, event) for e in facts.run.events)
        return None if answered or hung_up else event
    return None


def _sent_after_cancel(facts: Facts) -> Violation | None:
    for cancel in facts.run.events:
        if cancel.kind == "cancel" and cancel.call is not None:
            for exchange in facts.tool_calls.get(cancel.call, ()):
                if facts.before(cancel, exchange.request):
                    message = f"{facts.title(cancel.call)} was sent again after its caller had cancelled it"
                    return Violation(message, (cancel, exchange.request), cancel.call)
    return None


def traffic(facts: Facts, contract: Contract) -> Verdict:
    """The run stays within the frame budget: no endless paging, reconnecting or re-listing.

    Why: MCP, server/utilities/pagination: cursors are opaque and nothing promises an end; a page loop never goes idle,
    so no timeout of a single request ends it.
    Do: stop at a repeated cursor, and bound the number of pages and reconnections.
    """
    if "frame budget" in facts.run.stopped:
        methods = Counter(e.method or e.kind for e in facts.run.events if e.kind in ("request", "notify", "reply"))
        name, count = max(methods.items(), key=lambda pair: (pair[1], pair[0]))
        message = f"{facts.run.stopped}: {count:,} of the frames were {name}"
        return Violation(message, tuple(facts.run.requests[:3]))
    return held_if(facts.faulty)


def peer_duties(facts: Facts, contract: Contract) -> Verdict:
    """A server's `ping` is answered while a call is pending; a refused capability gets an error, not silence.

    Why: MCP, basic/utilities/ping: the receiver MUST respond promptly. JSON-RPC 2.0: every request has a response.
    Do: answer server requests from the receive loop, not from behind the call that is pending.
    """
    exercised = False
    replies: dict[str, Event] = {}
    for event in facts.run.events:
        if event.kind == "reply" and event.frame:
            replies.setdefault(repr(event.frame.get("id")), event)
    for asked in facts.run.events:
        if (
            asked.kind != "deliver"
            or asked.action is None
            or "asks" not in asked.action.fault.traits
            or not asked.frame
        ):
            continue
        reply = replies.get(repr(asked.frame.get("id")))
        gone = [e.at for e in facts.run.events if e.kind in ("close", "hang_up") and e.connection == asked.connection]
        if reply is None and gone and min(gone) < asked.at + contract.grace:
            continue
        exercised = True
        if reply is None:
            return Violation(f"the server's {asked.method} was never answered", (asked,), asked.call)
        if reply.at - asked.at > contract.grace:
            message = f"the server's {asked.method} was answered only after {reply.at - asked.at:g} s"
            return Violation(message, (asked, reply), asked.call)
        if asked.method == "ping" and "result" not in (reply.frame or {}):
            return Violation("the server's ping was answered with an error", (asked, reply), asked.call)
    return held_if(exercised)
