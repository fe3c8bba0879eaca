"""The words of the page: what a client is called, what a check came to, what a client did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.protocol import era_of
from fuzzmcp.report.escape import counted
from fuzzmcp.report.markdown import code, plain
from survey.driving import package_of
from survey.results import Reaction, Result
from survey.rows import Row, environments_of
from survey.verdicts import Seen

NOTHING = "–"
NOT_LOOKED_AT = "not looked at"
_SCRIPT = 40


def label(row: Row, result: Result | None) -> str:
    """What a row is called: the framework, its version, and what tells it from its other rows."""
    packages = {} if result is None else result.packages
    named = package_of(row.adapter.requires[0]) if row.adapter.requires else "mcp"
    words = [row.adapter.framework, packages.get(named, "")]
    text = " ".join(filter(None, words))
    if named != "mcp" and len(environments_of(row.adapter)) > 1:
        text += f" (mcp {packages['mcp']})" if "mcp" in packages else f" ({row.environment.name})"
    beside = ["stateless"] if era_of(row.protocol) == "stateless" else []
    beside += [row.transport] if row.transport != "memory" else []
    return ", ".join((text, *beside))


def anchor(row: Row, check: str = "", number: int = 0) -> str:
    """The name of a place on the page: a row's section, or its finding of a check."""
    return "-".join((row.name, *filter(None, (check, str(number or "")))))


def groups() -> dict[str, tuple[str, ...]]:
    """The checks by what they are about, which is the module they stand in."""
    found: dict[str, list[str]] = {}
    for name, check in CHECKS.items():
        found.setdefault(check.judge.__module__.rpartition(".")[2], []).append(name)
    if "client_messages" in found:  # one check, about what else the protocol demands
        found.setdefault("protocol", []).extend(found.pop("client_messages"))
    return {module.capitalize(): tuple(names) for module, names in found.items()}


def word_of(one: Seen) -> str:
    """What is said of a finding."""
    return NOT_LOOKED_AT if one.verdict is None else one.verdict.word


def cell(row: Row, status: str, found: Sequence[Seen]) -> str:
    """A check in the table. What nobody has looked at comes before what is true, that before a choice.

    Args:
        row: Whose cell it is.
        status: `held`, `violated` or `not exercised`.
        found: The findings of that check, the smallest script first.
    """
    if status != "violated":
        return "held" if status == "held" else NOTHING
    if not found:
        return "**violated**"
    words = [word_of(one) for one in found]
    word = next(word for word in (NOT_LOOKED_AT, "true", "contract") if word in words)
    script = f"[{code(found[0].found.faults, _SCRIPT)}](#{anchor(row, found[0].found.check, 1)})"
    more = f", {len(found) - 1} more" if len(found) > 1 else ""
    return f"**violated**<br>{script}<br>*{word}*{more}"


def told(reaction: Reaction) -> str:
    """What a client did with one script, in a few words."""
    if reaction.status == "not reached":
        return NOTHING
    return ", ".join((_done(reaction), *_beside(reaction)))


def _done(reaction: Reaction) -> str:
    error = code(reaction.error) if reaction.error else ""
    match reaction.status:
        case "returned" if reaction.flag is None and not reaction.answered:
            return "returns, no flag"
        case "returned":
            return "returns an error" if reaction.flag else "returns"
        case "raised":
            return f"raises {error}"
        case "no connection" if reaction.endless:
            return "connecting never ends"
        case "no connection":
            return f"cannot connect: {error}" if error else "cannot connect"
        case "unfinished":
            return "asks for ever" if reaction.requests > 1 or reaction.lists > 2 else "waits for ever"
        case other:
            return plain(f"{other}: {reaction.error}" if reaction.error else other)


def _beside(reaction: Reaction) -> Iterator[str]:
    if reaction.seconds and not reaction.endless:
        yield f"{reaction.seconds:,g} s"
    if reaction.requests > 1:
        yield counted(reaction.requests, "request")
    if reaction.lists > 2:
        yield counted(reaction.lists, "list")
    if reaction.cancels:
        yield "cancels"
    if reaction.logs:
        yield "logs"
