"""The page: results as Markdown. Pure functions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby

from fuzzmcp.core.protocol import DEFAULT_VERSION
from history.pairs import Pair
from history.results import Half, Result, spelled

_HEAD = """\
# Bugs of the past, found again

Each row is a bug that people reported of a library, and the version that mended it. Both versions are searched with the
same client, check, seeds and budget of runs: `make history` makes an environment for each and writes this page.

**Found** counts the searches of the affected version that ended in exactly the smallest script of the row. **Runs** is
how many it took until the check was first violated: the same for every seed where the sweep sees it, which draws
nothing. **Seconds** is how long each whole search took, with shrinking, in one process. **Silent** means: on the fixed
version no search found that case, and the script itself, replayed there, does not violate the check. Only that check
was asked, and it may find other things there: they are named.
"""


def page(pairs: Sequence[Pair], results: Mapping[str, Result]) -> str:
    """The whole page.

    Args:
        pairs: Every pair, in the order of the page.
        results: What came of them, by name; those without are listed as not run.
    """
    done = [pair for pair in pairs if pair.name in results]
    apart = sum(results[pair.name].told_apart(pair) for pair in done)
    parts = [_HEAD, f"{apart} of {len(pairs)} pairs are told apart.\n"]
    if done:
        rows = [_row(pair, results[pair.name]) for pair in done]
        head = ("library", "affected → fixed", "check", "smallest script", "found", "runs", "seconds", "fixed version")
        parts.append("\n".join([_cells(head), _cells(["---"] * len(head)), *map(_cells, rows)]) + "\n")
    missing = [f"`{pair.name}`" for pair in pairs if pair.name not in results]
    if missing:
        parts.append(f"Not run: {', '.join(missing)}.\n")
    parts += [_told(pair, results.get(pair.name)) for pair in pairs]
    parts.append(_made([results[pair.name] for pair in done]))
    return "\n".join(part for part in parts if part)


def _row(pair: Pair, result: Result) -> list[str]:
    affected, fixed = result.affected, result.fixed
    link = f"[{pair.package}](#{pair.name})"
    versions = f"{pair.affected} → {pair.fixed}"
    if affected.failure:
        told = [f"not run: {_plain(affected.failure)}", "", ""]
    else:
        exposed = ", ".join("–" if search.exposed is None else str(search.exposed) for search in affected.searches)
        seconds = ", ".join(f"{search.seconds:.0f}" for search in affected.searches)
        told = [f"{affected.found(pair)} of {len(affected.searches)}", exposed, seconds]
    return [link, versions, f"`{pair.check}`", f"`{pair.script}`", *told, _of_fixed(pair, fixed)]


def _of_fixed(pair: Pair, half: Half) -> str:
    if half.failure:
        return f"not run: {_plain(half.failure)}"
    found, searches = half.found(pair), len(half.searches)
    told = f"found by {found} of {searches}" if found else f"silent, {searches} of {searches}"
    if half.replayed == "violated":
        told += "; the replay violates it"
    others = _others(pair, half)
    return told + (f"; finds {', '.join(f'`{other}`' for other in others)}" if others else "")


def _others(pair: Pair, half: Half) -> list[str]:
    """The scripts of other findings of the check, in order of their first search."""
    known = spelled(pair.script, pair.calls)
    found = dict.fromkeys(finding for search in half.searches for finding in search.findings)
    return list(dict.fromkeys(finding.split(" | ")[0] for finding in found if finding != known))


def _told(pair: Pair, result: Result | None) -> str:
    """What the bug was, where it was, and how to see it."""
    client = f"tests/history/clients/{pair.client.replace(':', '.py:')}"
    words = ["fuzzmcp", "replay", client, pair.script, *(word for call in pair.calls for word in ("--call", call))]
    words += ["--check", pair.check]
    if pair.protocol != DEFAULT_VERSION:
        words += ["--protocol", pair.protocol]
    lines = [
        f'## <a id="{pair.name}"></a>{pair.package} {pair.affected} → {pair.fixed}\n',
        f"{pair.bug} ({pair.source})\n",
        f"- Where it was, in {pair.affected}: {pair.place}.",
        f"- Where it is mended, in {pair.fixed}: {pair.mended}.",
        f"- Again: `{shlex.join(words)}`",
        f"- Make: `make history PAIRS={pair.name}`",
    ]
    if result is not None:
        found = dict.fromkeys(other for half in (result.affected,) for other in _others(pair, half))
        if found:
            lines.append(f"- The check finds in {pair.affected} too: {', '.join(f'`{other}`' for other in found)}.")
        for version, half in ((pair.affected, result.affected), (pair.fixed, result.fixed)):
            if half.installed:
                lines.append(f"- With {version}: {', '.join(half.installed)}.")
    return "\n".join(lines) + "\n"


def _made(results: Sequence[Result]) -> str:
    """When, and with what, the results were made."""
    stamps = sorted((r.date, r.fuzzmcp, r.python, ", ".join(str(s.seed) for s in r.affected.searches)) for r in results)
    lines = []
    for (date, fuzzmcp, python, seeds), same in groupby(stamps):
        count = len(list(same))
        lines.append(f"- {count} on {date}, with fuzzmcp {fuzzmcp} on Python {python}, seeds {seeds or 'none'}")
    return "\n".join(["## When\n", *lines]) + "\n" if lines else ""


def _cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Text that cannot break out of its cell."""
    return " ".join(text.replace("|", "\\|").split())
