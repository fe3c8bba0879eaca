"""Where reports go: files found writable beforehand, and a standard output kept for one of them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from fuzzmcp.faults import nearest


def report_file(text: str) -> str:
    """The file that `--report json=FILE` names, found writable before the search begins."""
    kind, mark, file = text.partition("=")
    if kind != "json":
        guess = "; did you mean 'json'?" if nearest(kind, ("json",)) else ": expected json=FILE"
        raise click.UsageError(f"--report: unknown kind of report '{kind}'{guess}")
    if not mark or not file:
        raise click.UsageError("--report: expected json=FILE, or json=- for stdout")
    place = Path(file) if Path(file).exists() else Path(file).parent
    if file != "-" and (Path(file).is_dir() or not place.exists() or not os.access(place, os.W_OK)):
        raise click.UsageError(f"--report: cannot write to '{file}'")
    return file


def write(file: str, text: str, stdout: TextIO) -> None:
    """Write a report to a file, or to the standard output that was kept for it."""
    if file == "-":
        stdout.write(text)
        stdout.flush()
        return
    try:
        Path(file).write_text(text, "utf-8")
    except OSError as error:
        raise click.UsageError(f"--report: cannot write to '{file}': {error.strerror}") from None


@contextlib.contextmanager
def reserved_stdout(reserved: bool) -> Iterator[TextIO]:
    """Keep standard output for the JSON alone: all else that is printed goes to stderr, also past `sys.stdout`."""
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
