"""Checks on answers: the right one, a valid one, through the right channel."""

from __future__ import annotations

from typing import Any

from fuzzmcp.checks.facts import Exchange, Facts, Verdict, Violation, held_if
from fuzzmcp.checks.interpret import shows
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.script import Action
from fuzzmcp.core.trace import Answer, Event, Outcome, Reading


def right_answer(facts: Facts, contract: Contract) -> Verdict:
    """A returned value belongs to the call that asked for it.

    Why: JSON-RPC 2.0, section 5: a response carries the id of its request. Late, repeated and stray responses come in
    every order; a client that takes the next one for its own hands one customer's order to another.
    Do: keep pending requests by id, and drop what matches none.
    """
    delivered = [e for e in facts.run.events if e.kind == "deliver" and e.answer and e.answer.kind == "success"]
    compared = False
    for call, reading in facts.readings.items():
        if facts.run.role == "agent":
            continue
        own = [e for e in delivered if e.call == call and not _foreign(e)]
        others = [e for e in delivered if (e.call != call and e.call is not None) or _foreign(e)]
        others = [e for e in others if e.frame is None or _is_tool_result(e)]
        others = [e for e in others if e.at <= facts.outcomes[call].ended]
        if call not in facts.tool_calls:  # it sent nothing: the answer to an equal call may come from a cache
            others = [e for e in others if _foreign(e) or not _equal(facts, call, e.call)]
        compared = compared or bool(own and others and any(shows(reading, e.answer) for e in own))  # type: ignore[arg-type]
        wrong = next((e for e in others if shows(reading, e.answer)), None)  # type: ignore[arg-type]
        if wrong is not None and not any(shows(reading, e.answer) for e in own):  # type: ignore[arg-type]
            whose = "an answer that nobody asked for" if _foreign(wrong) else f"the answer to {_asked(facts, wrong)}"
            message = f"{facts.title(call)} returned {whose}"
            return Violation(message, (wrong, *_settling(facts, call)), call)
    return held_if(compared and facts.faulty)


def _foreign(event: Event) -> bool:
    return event.answer is not None and event.answer.foreign


def _equal(facts: Facts, one: int, other: int | None) -> bool:
    calls = facts.run.case.calls
    if other is None or not 0 <= other < len(calls):
        return False
    return calls[one].tool == calls[other].tool and calls[one].arguments == calls[other].arguments


def _is_tool_result(event: Event) -> bool:
    result = (event.frame or {}).get("result")
    return isinstance(result, dict) and "content" in result


def _asked(facts: Facts, event: Event) -> str:
    return f"another call ({facts.title(event.call)})" if event.call is not None else "another request"


def _settling(facts: Facts, call: int) -> tuple[Event, ...]:
    return tuple(e for e in facts.run.events if e.kind == "settle" and e.call == call)


def drift_caught(facts: Facts, contract: Contract) -> Verdict:
    """Content that breaks the tool's `outputSchema` is never returned as a success.

    Why: MCP 2025-06-18, server/tools, output schema: servers MUST return conforming structured content, and clients
    SHOULD validate it. A renamed field that passes silently becomes a wrong decision later.
    Do: validate structured content against the schema from `tools/list`, and surface a mismatch as an error.
    """
    met = False
    for call, exchange, outcome, answer in _final_answers(facts):
        if not answer.visible or _changed_before(facts, exchange):
            continue
        met = True
        reading = facts.readings.get(call if facts.run.role == "client" else 0)
        if outcome.status != "returned" or reading is None or contract.is_error(reading):
            continue
        words = reading.is_error is None and reading.structured is None and reading.text != ""
        valid = _keeps_schema(facts, exchange, reading)
        if (facts.run.role == "agent" or words or valid) and not shows(reading, answer):
            continue
        fault = exchange.fault.spelling if exchange.fault else "drift"
        message = f"{facts.title(call)} returned content that breaks its outputSchema ({fault}) as a success"
        return Violation(message, (exchange.request, exchange.settled_by, *_settling(facts, call)), call)  # type: ignore[arg-type]
    return held_if(met)


def _keeps_schema(facts: Facts, exchange: Exchange, reading: Reading) -> bool:
    """Whether the returned value is one that the tool promised, wherever the client has it from."""
    tool = facts.tool(exchange)
    return tool is not None and reading.structured is not None and tool.accepts_output(reading.structured)


def _final_answers(facts: Facts) -> list[tuple[int, Exchange, Outcome, Answer]]:
    """For each call: its last request, when that was answered while the client waited, with outcome and answer."""
    found = []
    for call in facts.tool_calls:
        exchange, outcome = facts.final(call), facts.outcome_of(call)
        if exchange is None or outcome is None or exchange.settled_by is None:
            continue
        answer = exchange.settled_by.answer
        if answer is not None and facts.in_time(exchange, outcome):
            found.append((call, exchange, outcome, answer))
    return found


def valid_accepted(facts: Facts, contract: Contract) -> Verdict:
    """A valid answer that arrived in time is delivered, whatever happens to later or hidden requests.

    Why: MCP, server/tools: results may hold any content blocks and, where the schema is open, more properties than it
    names; a result that was received is the result, even when a `tools/list` behind it fails.
    Do: validate against the schema and nothing stricter; never let bookkeeping requests replace a result in hand.
    """
    delivered = False
    for call, exchange, outcome, answer in _final_answers(facts):
        uncertain = _changed_before(facts, exchange) and not facts.timed_out(outcome)
        if answer.kind != "success" or answer.visible or uncertain:
            continue
        if exchange.fault is not None and _may_be_refused(exchange.fault):
            continue
        problem = _refused(facts, call, outcome, answer, contract)
        if problem:
            fault = f" ({exchange.fault})" if exchange.fault else ""
            message = f"a valid answer to {facts.title(call)}{fault} arrived, but {problem}"
            return Violation(message, (exchange.request, exchange.settled_by, *_settling(facts, call)), call)  # type: ignore[arg-type]
        delivered = delivered or facts.faulty
    return held_if(delivered)


def _may_be_refused(fault: Action) -> bool:
    """What a client may refuse although it is valid: too much, or a `format` that it asserts, as JSON Schema allows."""
    edits = fault.value if isinstance(fault.value, tuple) else ()
    return "refusable" in fault.fault.traits or any(edit.op == "reformat" for edit in edits)


def _refused(facts: Facts, call: int, outcome: Outcome, answer: Answer, contract: Contract) -> str:
    if outcome.status == "raised":
        error = outcome.exceptions[0] if outcome.exceptions else outcome.error
        return f"the call raised {type(error).__name__}"
    if outcome.status == "unfinished":
        return "the call never returned it"
    reading = facts.readings.get(outcome.call)
    if reading is None or facts.run.role == "agent":
        return ""
    if reading.is_error or (contract.is_error(reading) and not shows(reading, answer)):
        return "it came back as an error"
    if isinstance(outcome.value, str) and not outcome.value and (answer.text or answer.value is not None):
        return "it came back empty"
    return _changed_on_the_way(reading, answer)


def _changed_on_the_way(reading: Reading, answer: Answer) -> str:
    """What of the answer is visibly changed or lost in the value. Values of another shape cannot be compared."""
    mine: Any = reading.structured
    whole = reading.is_error is not None  # text and structured content side by side, each for itself
    both = isinstance(mine, dict) and isinstance(answer.value, dict)
    if both and mine != answer.value and mine.keys() & answer.value.keys() and (whole or not shows(reading, answer)):
        return "it came back altered"
    if whole and mine is None and not reading.text and (answer.text or answer.value is not None):
        return "it came back empty"
    if whole and reading.text and reading.text != answer.text and reading.text in answer.text:
        return "parts of it were lost"
    return ""


def _changed_before(facts: Facts, exchange: Exchange) -> bool:
    """Whether the catalogue changed while the request was under way: then either schema may be the right one.

    A change at the very moment of the request counts as well: the client had no chance to see it.
    """
    if facts.run.case.changed is None or exchange.settled_by is None:
        return False
    return any(
        e.method == "notifications/tools/list_changed" and e.at >= exchange.at and facts.before(e, exchange.settled_by)
        for e in facts.run.events
        if e.kind == "deliver"
    )


def error_channels(facts: Facts, contract: Contract) -> Verdict:
    """An execution error surfaces as one, a protocol error as one; neither as success, neither as the other.

    Why: MCP, server/tools, error handling: execution errors (`isError`) SHOULD reach the model, which can correct
    itself; protocol errors say that the request itself was wrong, and MAY.
    Do: return the result with its error flag (or raise an error of the tool's); raise the protocol error with its code.
    For an agent: an execution error reaches the transcript; a protocol error is logged for a person and stays out of
    it.
    """
    met = False
    for call, exchange, outcome, answer in _final_answers(facts):
        if answer.kind not in ("execution_error", "protocol_error"):
            continue
        met = True
        judge = _agent_channel if facts.run.role == "agent" else _client_channel
        problem = judge(facts, outcome, answer, contract)
        if problem:
            what = answer.kind.replace("_", " ")
            message = f"the {what} of {facts.title(call)} ({exchange.fault or answer.code}) {problem}"
            return Violation(message, (exchange.request, exchange.settled_by, *_settling(facts, call)), call)  # type: ignore[arg-type]
    return held_if(met)


def _client_channel(facts: Facts, outcome: Outcome, answer: Answer, contract: Contract) -> str:
    reading = facts.readings.get(outcome.call)
    if reading is not None and not contract.is_error(reading):
        told = contract.errors_as_text and answer.kind == "execution_error" and answer.text in reading.text
        return "" if told else "came back as a success"
    if answer.kind == "protocol_error":
        as_result = reading is not None and not contract.protocol_errors_as_results
        return "came back as an execution error" if as_result else ""
    codes = [code for error in outcome.exceptions if (code := _code(error)) is not None]
    return f"was raised as protocol error {codes[0]}" if codes else ""


def _code(error: BaseException) -> int | None:
    """The JSON-RPC code that an exception carries as `code` or `error.code`."""
    for holder in (error, getattr(error, "error", None)):
        code = getattr(holder, "code", None)
        if isinstance(code, int) and not isinstance(code, bool) and code < 0:
            return code
    return None


def _agent_channel(facts: Facts, outcome: Outcome, answer: Answer, contract: Contract) -> str:
    if outcome.status != "returned":
        return ""
    transcript = facts.readings[outcome.call].text or repr(outcome.value)
    shown = answer.text in transcript or answer.text.splitlines()[0] in transcript
    if answer.kind == "execution_error":
        return "" if shown else "never reached the transcript"
    logged = any(answer.text in log.message for log in facts.run.logs)
    if shown and not contract.protocol_errors_as_results:
        return "reached the transcript"
    return "" if logged else "was logged for nobody"
