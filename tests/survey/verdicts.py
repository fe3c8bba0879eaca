"""What people say of the findings: each was looked at by hand, in the framework's source, and is true or is a choice.

`examples/clients/verdicts.toml` is written by hand. There is no third verdict: what was our own mistake is mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from fuzzmcp.checks import CHECKS
from fuzzmcp.clients._table import ADAPTERS
from fuzzmcp.core.script import Script, ScriptError
from fuzzmcp.core.spelling import unknown
from fuzzmcp.core.toml import TomlError, parsed
from survey.results import Found, Result
from survey.rows import Row, rows_of

Word = Literal["true", "contract"]
WORDS: dict[str, str] = {
    "true": "a mistake of the client, or of what it is built on",
    "contract": "a choice that a client may make, and that its users should know of",
}
_KEYS = ("clients", "check", "scripts", "verdict", "why", "where")


class VerdictError(ValueError):
    """A file of verdicts that cannot be used; the message names the place."""


@dataclass(frozen=True)
class Verdict:
    """One thing that people found out.

    Args:
        clients: Clients that it is said of, or single rows of them.
        check: The check that is violated.
        scripts: The smallest scripts that show it; any where it is empty.
        word: `true` or `contract`.
        why: One sentence.
        where: The place in somebody's source.
    """

    clients: tuple[str, ...]
    check: str
    scripts: tuple[str, ...]
    word: Word
    why: str
    where: str

    def covers(self, row: Row, found: Found) -> bool:
        """Whether it is said of this finding."""
        return (
            (row.name in self.clients or row.adapter.module in self.clients)
            and self.check == found.check
            and (not self.scripts or found.faults in self.scripts)
        )


class Seen(NamedTuple):
    """A finding, the row it was found in, and what is said of it; None where nobody has looked at it."""

    row: Row
    found: Found
    verdict: Verdict | None


def read(path: Path) -> tuple[Verdict, ...]:
    """The verdicts in a file; none where there is no file.

    Raises:
        VerdictError: It cannot be used.
    """
    return parse(path.read_bytes(), path.name) if path.exists() else ()


def parse(data: bytes, name: str = "verdicts") -> tuple[Verdict, ...]:
    """The verdicts in the bytes of a file.

    Raises:
        VerdictError: It says something that no verdict can say.
    """
    try:
        table, _ = parsed(data)
    except TomlError as error:
        raise VerdictError(
            f"{name}: {error}" if error.line is None else f"{name}: line {error.line}: {error}"
        ) from None
    _known(name, "key", table, ("verdict",))
    entries = table.get("verdict", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise VerdictError(f"{name}: expected [[verdict]] tables")
    return tuple(_verdict(f"{name}: verdict {number}", entry) for number, entry in enumerate(entries, 1))


def _verdict(place: str, entry: Mapping[str, Any]) -> Verdict:
    _known(place, "key", entry, _KEYS)
    clients, scripts = _texts(place, entry, "clients"), _texts(place, entry, "scripts")
    rows = rows_of(ADAPTERS)
    _known(place, "client", clients, tuple(dict.fromkeys(n for row in rows for n in (row.adapter.module, row.name))))
    texts = {key: _text(place, entry, key) for key in ("check", "verdict", "why", "where")}
    _known(place, "check", [texts["check"]], tuple(CHECKS))
    _known(place, "verdict", [texts["verdict"]], tuple(WORDS))
    if not clients:
        raise VerdictError(f"{place}: clients: expected one at least")
    spelled = tuple(_spelled(place, script) for script in scripts)
    word: Word = "true" if texts["verdict"] == "true" else "contract"
    return Verdict(clients, texts["check"], spelled, word, texts["why"], texts["where"])


def _spelled(place: str, script: str) -> str:
    """The script in its shortest spelling, which is that of a finding."""
    try:
        return str(Script.parse(script))
    except ScriptError as error:
        raise VerdictError(f"{place}: scripts: {error}") from None


def _known(place: str, what: str, names: Iterable[str], known: tuple[str, ...]) -> None:
    for name in names:
        if name not in known:
            raise VerdictError(f"{place}: " + unknown(what, name, known, f": expected {', '.join(known)}"))


def _texts(place: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise VerdictError(f"{place}: {key}: expected a list of texts")
    return tuple(value)


def _text(place: str, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value.strip() or "\n" in value.strip():
        raise VerdictError(f"{place}: {key}: expected one line of text")
    return value.strip()


def seen(rows: Iterable[Row], results: Mapping[str, Result], verdicts: Iterable[Verdict]) -> tuple[Seen, ...]:
    """Every finding of these rows with what is said of it: the first verdict that covers it."""
    verdicts = tuple(verdicts)
    return tuple(
        Seen(row, found, next((verdict for verdict in verdicts if verdict.covers(row, found)), None))
        for row in rows
        if row.name in results
        for found in results[row.name].findings
    )


def unused(verdicts: Iterable[Verdict], all_seen: Iterable[Seen]) -> tuple[Verdict, ...]:
    """The verdicts that are said of nothing any more."""
    used = [one.verdict for one in all_seen]
    return tuple(verdict for verdict in verdicts if verdict not in used)
