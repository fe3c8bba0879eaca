"""What a search is about to shrink, kept in an example database: a killed search loses none of it."""

from __future__ import annotations

import json

from hypothesis.database import ExampleDatabase

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.case_codec import SETTINGS, call_data, from_data, to_data
from fuzzmcp.core.withheld import withhold

_KEY = b"fuzzmcp.pending.1"


class Pending:
    """Violating cases that are no findings yet.

    Hypothesis uses no database for tests whose seed is given, as ours is, so cases are saved here as they are: they
    also survive a change of the strategies.

    Args:
        database: One of Hypothesis's example databases; None keeps nothing.
        base: Tools, protocol, transport and backend of the cases.
    """

    def __init__(self, database: ExampleDatabase | None, base: Case) -> None:
        self._database, self.base = database, base
        self._added: list[bytes] = []

    def add(self, case: Case) -> None:
        """Keep a case until `settled`, unless it has a secret that the user gave: then it is not kept at all."""
        if self._database is not None and not withhold(case, self.base.calls)[1]:
            self._added.append(_dumped(case))
            self._database.save(_KEY, self._added[-1])

    def settled(self) -> None:
        """What was added has become findings, or turned out to be known."""
        while self._database is not None and self._added:
            self._database.delete(_KEY, self._added.pop())

    def left(self) -> list[Case]:
        """What an earlier search has left, to be settled like one's own; what cannot be read any more is let go of."""
        found = []
        for data in sorted(self._database.fetch(_KEY)) if self._database is not None else ():
            self._added.append(data)
            try:
                found.append(_loaded(data, self.base))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        return found


def _dumped(case: Case) -> bytes:
    facts = to_data(case, always=("outputs", "schedule"), without=("calls", "tools", *SETTINGS))
    return json.dumps(facts | {"calls": list(map(str, case.calls))}, sort_keys=True).encode()


def _loaded(data: bytes, base: Case) -> Case:
    facts = json.loads(data)
    calls = [call_data(Call.parse(text)) for text in facts["calls"]]
    return from_data(facts | {"calls": calls}, base)
