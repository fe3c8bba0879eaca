"""Where reports go: files found writable beforehand, and a standard output kept for one of them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fuzzmcp.cli.usage import BadOption, say
from fuzzmcp.core.spelling import unknown
from fuzzmcp.report.formats import FORMATS

if TYPE_CHECKING:
    from fuzzmcp.report.model import Report

STDOUT = "-"


@dataclass(frozen=True)
class Wanted:
    """A report that somebody asked for: its kind, the file or `-`, and the option that said so."""

    kind: str
    file: str
    option: str = "--report"


def report_file(text: str, kinds: Collection[str] = FORMATS.keys(), what: str = "kind of report") -> Wanted:
    """What `--report KIND=FILE` asks for.

    Raises:
        BadOption: There is no such kind, or no file.
    """
    kind, mark, file = text.partition("=")
    if kind not in kinds:
        raise BadOption("--report", unknown(what, kind, kinds, f": one of {', '.join(kinds)}"))
    if not mark or not file:
        raise BadOption("--report", f"expected {kind}=FILE, or {kind}=- for stdout")
    return Wanted(kind, file)


def found_writable(reports: Sequence[Wanted]) -> tuple[Wanted, ...]:
    """The same reports, once it is sure that each can be written and has a place of its own.

    Raises:
        BadOption: A file cannot be written, or two reports go to the same place.
    """
    taken: dict[str, Wanted] = {}
    for wanted in reports:
        file = Path(wanted.file)
        place = file if file.exists() else file.parent
        if wanted.file != STDOUT and (file.is_dir() or not place.exists() or not os.access(place, os.W_OK)):
            raise BadOption(wanted.option, f"cannot write to '{wanted.file}'")
        key = STDOUT if wanted.file == STDOUT else os.path.realpath(file)
        if key in taken:
            where = "stdout" if wanted.file == STDOUT else f"'{wanted.file}'"
            raise BadOption(wanted.option, f"{taken[key].kind} and {wanted.kind} cannot both go to {where}")
        taken[key] = wanted
    return tuple(reports)


def to_stdout(reports: Sequence[Wanted]) -> bool:
    """Whether standard output is wanted for a report."""
    return any(wanted.file == STDOUT for wanted in reports)


def write_reports(report: Report, reports: Sequence[Wanted], stdout: TextIO) -> None:
    """Write each report to its file, or to the standard output that was kept for it."""
    for wanted in reports:
        write_text(FORMATS[wanted.kind].written(report), wanted, stdout)


def write_text(text: str, wanted: Wanted, stdout: TextIO) -> None:
    """Write the text of one report to its file, or to the standard output that was kept for it.

    Raises:
        BadOption: The file cannot be written.
    """
    if wanted.file == STDOUT:
        stdout.write(text)
        stdout.flush()
        return
    try:
        _write_whole(Path(wanted.file), text)
    except OSError as error:
        raise BadOption(wanted.option, f"cannot write to '{wanted.file}': {error.strerror}") from None


def append_summary(report: Report) -> None:
    """Append the Markdown summary to the file that GitHub Actions shows with the job, where there is one.

    What goes wrong with it is said on stderr, and changes nothing else: the summary is an extra.
    """
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    try:
        with open(file, "a", encoding="utf-8") as summary:
            summary.write(FORMATS["markdown"].written(report))
    except (OSError, ValueError) as error:
        say(f"warning: no summary: cannot write to '{file}': {getattr(error, 'strerror', None) or error}")


def _write_whole(file: Path, text: str) -> None:
    """Write a file that is never seen half written: beside its place first. A pipe or a device is written as it is."""
    file = Path(os.path.realpath(file))
    data = text.encode("utf-8")
    if (file.exists() and not file.is_file()) or not os.access(file.parent, os.W_OK):
        file.write_bytes(data)
        return
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def reserved_stdout(reserved: bool) -> Iterator[TextIO]:
    """Keep standard output for one report alone: all else that is printed goes to stderr, also past `sys.stdout`."""
    stdout = sys.stdout
    if not reserved:
        yield stdout
        return
    with contextlib.ExitStack() as stack:
        kept: TextIO = stdout
        if stdout is sys.__stdout__ and sys.__stderr__ is not None:
            sys.stdout.flush()
            copy = os.dup(1)
            kept = stack.enter_context(os.fdopen(copy, "w", encoding="utf-8"))
            os.dup2(sys.__stderr__.fileno(), 1)
            stack.callback(os.dup2, copy, 1)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield kept
