"""How a server's catalogue differs from the one that was saved, and the scripts that play the difference to a client.

A backend that renames a field breaks agents that nobody touched. Told beforehand, in the words of drift, it can be
tried: every difference of an outputSchema that an edit can show is one, applied to the saved tool's sample output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fuzzmcp.core.catalogue.schema_diff import Change, differences
from fuzzmcp.core.catalogue.schema_view import Document, case_free, text_of
from fuzzmcp.core.catalogue.schema_words import MISSING, come_or_gone, shown
from fuzzmcp.core.catalogue.tools import Catalogue, Tool
from fuzzmcp.core.drift import Drift, Edit, apply
from fuzzmcp.core.protocol import TEXT_MAX
from fuzzmcp.core.script import Script, Step, action

Json = Any
Part = Literal["tool", "description", "annotations", "arguments", "output"]
_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""Annotations with what the specification says of a tool that does not say it."""
_OVERWRITE = ("retype", "replace", "drop", "reformat")


@dataclass(frozen=True)
class Difference:
    """One difference between two catalogues.

    Args:
        tool: The tool's name.
        part: What of it: the `tool` as such, its `description` (and whatever else is there to be shown), its
            `annotations`, the `arguments` that it takes, or its structured `output`.
        path: Where, in the arguments or in the output of the old catalogue.
        words: The difference in the words of drift, or a sentence.
        note: What the words alone do not tell, or the empty string.
        edit: The edit of the old sample output that plays it; None where there is none.
        may: The new schema allows this without demanding it.
        fault: The fault that plays it: `drift`, `unstructured`, `toolgone`, or the empty string.

    >>> from fuzzmcp.core.catalogue.tools import crm, evolved
    >>> print(diff(crm(), evolved(crm()))[0])
    get_order: order_id>orderId
    """

    tool: str
    part: Part
    path: tuple[str, ...]
    words: str
    note: str = ""
    edit: Edit | None = None
    may: bool = False
    fault: Literal["drift", "unstructured", "toolgone", ""] = ""

    def __str__(self) -> str:
        part = "arguments: " if self.part == "arguments" else ""
        return f"{self.tool}: {part}{self.words}"


def diff(old: Catalogue, new: Catalogue) -> tuple[Difference, ...]:
    """Every difference, in the order of the old catalogue, then that of the new one; within a tool by part and path.

    Nothing is a difference but what is said: tools in another order, a `$ref` written out, titles and `examples` in a
    schema are none. What cannot be played is told all the same.

    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> diff(crm(), crm())
    ()
    """
    return tuple(_differences(old, new))


def _differences(old: Catalogue, new: Catalogue) -> Iterator[Difference]:
    now = {tool.name: tool for tool in reversed(new)}
    before = {tool.name: tool for tool in old}
    fresh = [tool.name for tool in new if tool.name not in before]
    for tool in old:
        if tool.name in now:
            yield from _of_tool(tool, now[tool.name])
        else:
            heir = next((name for name in fresh if case_free(name) == case_free(tool.name)), None)
            note = f"perhaps it is {heir} now" if heir else ""
            yield Difference(tool.name, "tool", (), "the tool is gone", note, fault="toolgone")
    for name in dict.fromkeys(fresh):
        yield Difference(name, "tool", (), "the tool is new")
    for name in now:
        if sum(tool.name == name for tool in new) > 1:
            yield Difference(name, "tool", (), "the server lists two tools of this name")


def _of_tool(old: Tool, new: Tool) -> Iterator[Difference]:
    yield from _described(old, new)
    yield from _annotated(old, new)
    for change in differences(old.input_schema, new.input_schema, sent=True):
        yield _difference(old.name, "arguments", change)
    yield from _output(old, new)


def _difference(tool: str, part: Part, change: Change) -> Difference:
    fault: Literal["drift", ""] = "drift" if change.edit else ""
    return Difference(tool, part, change.path, change.words, change.note, change.edit, change.may, fault)


def _described(old: Tool, new: Tool) -> Iterator[Difference]:
    """Whatever else a definition says: a model reads it, so another text is another tool."""
    apart = ("name", "inputSchema", "outputSchema", "annotations")
    for key in sorted({*old.definition, *new.definition}.difference(apart)):
        before, after = old.definition.get(key), new.definition.get(key)
        if text_of(before) == text_of(after):
            continue
        if key == "description" and before is not None and after is not None:
            yield Difference(old.name, "description", (), f"another description: {shown(after)}")
        else:
            yield Difference(old.name, "description", (), _changed(key, before, after))


def _changed(key: str, before: Json, after: Json) -> str:
    if before is None or after is None:
        return come_or_gone(key, MISSING if before is None else before, MISSING if after is None else after)
    return f"{key} {shown(before)} is now {shown(after)}"


def _annotated(old: Tool, new: Tool) -> Iterator[Difference]:
    left, right = ((tool.definition.get("annotations") or {}) for tool in (old, new))
    for key in sorted({*left, *right}):
        before, after = (_HINTS.get(key) if marks.get(key) is None else marks[key] for marks in (left, right))
        if text_of(before) == text_of(after):
            continue
        note = ""
        if key in ("readOnlyHint", "idempotentHint") and old.repeatable != new.repeatable:
            note = "safe to send again now" if new.repeatable else "a client must not send it again by itself any more"
        elif key == "destructiveHint" and after and not new.repeatable:
            note = "sending it again by itself can do more harm than before"
        yield Difference(old.name, "annotations", (), _changed(key, before, after), note)


def _output(old: Tool, new: Tool) -> Iterator[Difference]:
    before, after = old.output_schema, new.output_schema
    if after is None:
        if before is not None:
            note = "results are not structured any more"
            yield Difference(old.name, "output", (), "the outputSchema is gone", note, fault="unstructured")
        return
    if before is None:
        yield Difference(old.name, "output", (), "an outputSchema is new", "results are structured now")
        return
    found = [_difference(old.name, "output", change) for change in differences(before, after)]
    yield from _admitted(found, old, after)


def _admitted(found: list[Difference], old: Tool, after: Json) -> Iterator[Difference]:
    """The differences of an output; where what they play together is not what the server could send, that is told."""
    drifts = tuple(_drifts(found))
    too_long = [drift for drift in drifts if len(str(_script(drift))) > TEXT_MAX]
    if too_long:
        for each in found:
            yield replace(each, edit=None, fault="", note=each.note or "too many edits for a script")
        return
    yield from found
    if found and all(each.edit for each in found):
        document = Document(after)
        reasons = [document.why_not(apply(drift, old.sample_output)) for drift in drifts]
        if reason := next(filter(None, reasons), ""):
            words = "played, this is not all that the outputSchema demands now"
            yield Difference(old.name, "output", (), words, shown(reason))


# -- playing -----------------------------------------------------------------------------------------------------------


def scripts_of(found: Sequence[Difference]) -> tuple[tuple[str, Script], ...]:
    """The scripts that play the differences to a client of the old catalogue, each with the name of the tool to call.

    One script plays as much of a tool as fits together; what is allowed as an alternative at the same place (null, or
    a value left out) is played by another.

    >>> from fuzzmcp.core.catalogue.tools import crm, evolved
    >>> [(name, str(script)) for name, script in scripts_of(diff(crm(), evolved(crm())))][:2]
    [('get_order', 'drift(order_id>orderId)'), ('refund_order', 'drift(refund_id>refundId)')]
    """
    scripts: list[tuple[str, Script]] = []
    for tool in dict.fromkeys(each.tool for each in found):
        own = [each for each in found if each.tool == tool]
        scripts += [(tool, _script(drift)) for drift in _drifts(own)]
        faults = dict.fromkeys(each.fault for each in own if each.fault and each.edit is None)
        scripts += [(tool, Script((Step(action(fault)),))) for fault in faults]
    return tuple(scripts)


def plays(script: Script, difference: Difference) -> bool:
    """Whether a script of the same tool plays this difference."""
    answer = script.steps[0].answer
    if difference.edit is not None:
        return isinstance(answer.value, tuple) and difference.edit in answer.value
    return bool(difference.fault) and answer.name == difference.fault


def checks_of(tool: Tool, script: Script) -> tuple[str, ...]:
    """The checks that a script of `scripts_of` is for: a drift that the old outputSchema does not reject is nobody's
    to catch; it has to arrive as it is.

    >>> from fuzzmcp.core.catalogue.tools import crm
    >>> checks_of(crm()[0], Script.parse("drift(total:string)")), checks_of(crm()[0], Script.parse("drift(-note)"))
    (('drift_caught',), ('valid_accepted',))
    """
    answer = script.steps[0].answer
    if not isinstance(answer.value, tuple):
        refused = "protocol_error" in answer.fault.traits
        return ("error_channels", "no_pointless_retry") if refused else ("drift_caught",)
    drifted = apply(answer.value, tool.sample_output)
    return ("valid_accepted" if tool.accepts_output(drifted) else "drift_caught",)


def _script(drift: Drift) -> Script:
    return Script((Step(action("drift", drift)),))


def _drifts(found: Sequence[Difference]) -> Iterator[Drift]:
    """What must be with as much of what may be as fits, then the rest of what may be, each with all that must."""
    edits = [(each.edit, each.may) for each in found if each.edit]
    must = [edit for edit, may in edits if not may]
    waiting = [edit for edit, may in edits if may]
    taken = _Taken(must)
    while must or waiting:
        picked = dict.fromkeys(edit for edit in waiting if taken.takes(edit))
        alternatives = _Taken(tuple(picked))
        drift = tuple(edit for edit, may in edits if (edit in picked if may else alternatives.allows(edit)))
        if drift:
            yield drift
        waiting = [edit for edit in waiting if edit not in picked]
        if not waiting:
            return
        taken = _Taken(())


class _Taken:
    """Edits that are made together: none overwrites the place of another, or a place around it."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._around: set[tuple[str, ...]] = set()
        self._overwritten: set[tuple[str, ...]] = set()
        for edit in edits:
            self._add(edit)

    def allows(self, edit: Edit) -> bool:
        inside = any(edit.path[: i + 1] in self._overwritten for i in range(len(edit.path)))
        return not inside and not (edit.op in _OVERWRITE and edit.path in self._around)

    def takes(self, edit: Edit) -> bool:
        """Add an edit if it is allowed."""
        allowed = self.allows(edit)
        if allowed:
            self._add(edit)
        return allowed

    def _add(self, edit: Edit) -> None:
        self._around |= {edit.path[: i + 1] for i in range(len(edit.path))}
        if edit.op in _OVERWRITE:
            self._overwritten.add(edit.path)
