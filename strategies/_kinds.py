"""What a script can be drawn from: each applicable fault with the values, styles and moments worth trying."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from hypothesis import strategies as st

from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.core.drift import Drift
from fuzzmcp.core.fault_row import Fault, When
from fuzzmcp.core.faults import ANSWERS, EXTRAS, LATE, RANK, RANK_OF_LATE, why_inapplicable
from fuzzmcp.core.protocol import DEFAULT_TRANSPORT, METHODS, TRANSPORTS, VERSIONS
from fuzzmcp.core.script import OK, Action, action
from fuzzmcp.core.spelling import unknown
from fuzzmcp.strategies.drifts import drifts, edits_of

_RANK = RANK | {LATE: RANK_OF_LATE}


@dataclass(frozen=True)
class Kind:
    """One fault at one method, with every way to play it that is worth trying.

    A draw takes one choice for every kind, so that none looks simpler to the shrinker than it is; `rest` are the ways
    that take more.
    """

    method: str
    name: str
    actions: st.SearchStrategy[Action | None]
    rest: st.SearchStrategy[Action] | None = None

    @classmethod
    def of(cls, method: str, actions: Sequence[Action]) -> Kind:
        """The kind with exactly these ways to play it, simplest first."""
        # Twice the same, for a list of one would be no choice at all.
        return cls(method, actions[0].name, st.sampled_from(actions if len(actions) > 1 else [*actions, *actions]))

    @property
    def delayable(self) -> bool:
        return self.name not in (OK.name, LATE) and ANSWERS[self.name].timing == "any"

    def action(self, draw: st.DrawFn) -> Action:
        """Draw one way to play it."""
        return draw(self.actions) or draw(self.rest)  # type: ignore[arg-type]


def checked(
    protocol: str, methods: Iterable[str], vocabulary: Iterable[str] | None, transport: str = DEFAULT_TRANSPORT
) -> None:
    """Raise ValueError for a word that nobody knows, or a vocabulary of which nothing applies."""
    methods = tuple(methods)
    _known("protocol version", [protocol], VERSIONS)
    _known("transport", [transport], TRANSPORTS)
    _known("method", methods, tuple(METHODS))
    if vocabulary is None:
        return
    names = tuple(vocabulary)
    _known("fault", names, (*ANSWERS, *EXTRAS, LATE))
    bare = [OK.name if name == LATE else name for name in names]
    reasons = [why_inapplicable(name, method, protocol, transport) for name in bare for method in methods]
    if all(reasons):
        raise ValueError(f"nothing to draw from: {'; '.join(filter(None, reasons)) or 'no fault is named'}")


def _known(what: str, words: Iterable[str], known: tuple[str, ...]) -> None:
    for word in words:
        if word not in known:
            raise ValueError(unknown(what, word, known))


def answer_kinds(
    carrier: tuple[str, str],
    methods: Sequence[str],
    vocabulary: frozenset[str] | None,
    delays: Sequence[float],
    tools: Sequence[Tool],
) -> list[Kind]:
    """Every answer that `carrier` (protocol and transport) can carry, simplest first, plain `ok` in any case."""
    kinds = []
    for fault in ANSWERS.values():
        for method in methods:
            named = vocabulary is None or fault.name in vocabulary or fault.name == OK.name
            if named and why_inapplicable(fault.name, method, *carrier) is None:
                kinds.append(_drift(method, tools) if fault.value_kind == "drift" else Kind.of(method, _plain(fault)))
    if vocabulary is None or vocabulary & {OK.name, LATE}:
        whens: list[When] = ["cancel", *(at for at in delays if at)]
        late = [replace(OK, at=at) for at in whens]
        kinds += [replace(Kind.of(method, late), name=LATE) for method in methods]
    return sorted(kinds, key=lambda kind: _RANK[kind.name])


def extra_kinds(
    carrier: tuple[str, str], method: str, vocabulary: frozenset[str] | None, delays: Sequence[float]
) -> list[Kind]:
    """Every extra at a method that `carrier` (protocol and transport) can carry, simplest first."""
    return [
        Kind.of(method, _extras(fault, delays))
        for fault in EXTRAS.values()
        if (vocabulary is None or fault.name in vocabulary) and why_inapplicable(fault.name, method, *carrier) is None
    ]


def _drift(method: str, tools: Sequence[Tool]) -> Kind:
    """Single edits, in one draw of four several; the bare `drift` when nothing is known about the results."""
    single = list(dict.fromkeys(Action("drift", (edit,)) for tool in tools for edit in edits_of(tool)))
    if not single:
        return Kind.of(method, [action("drift")])
    several = st.one_of([drifts(tool) for tool in tools if edits_of(tool)]).map(_drifted)
    return Kind(method, "drift", st.sampled_from([*single, *[None] * (len(single) // 3)]), several)


def _drifted(edits: Drift) -> Action:
    return Action("drift", edits)


def _extras(fault: Fault, delays: Sequence[float]) -> list[Action]:
    whens: list[When] = [None, *(at for at in delays if at or fault.place == "behind")]
    if fault.timing == "any":
        whens.append("cancel")
    return [Action(plain.name, plain.value, at=at) for at in whens for plain in _plain(fault)]


@cache
def _plain(fault: Fault) -> tuple[Action, ...]:
    """The fault with each value and style, the bare name first, then what is shortest to read."""
    bare = [] if fault.required else [action(fault.name)]
    found = bare + [action(fault.name, value) for value in fault.values]
    if fault.styled:
        found += [Action(each.name, each.value, "json") for each in found]
    return tuple(dict.fromkeys(found))
