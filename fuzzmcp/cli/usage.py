"""How the command line takes its words and reports what is wrong with them: one line, and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click
from click.shell_completion import CompletionItem

from fuzzmcp.cli.completion import offered
from fuzzmcp.core.config import seconds_of
from fuzzmcp.core.errors import BAD_USAGE, CANNOT_RUN, FuzzmcpError, OwnFault, ScriptError
from fuzzmcp.core.request_limits import Allowed
from fuzzmcp.core.spelling import meant, unknown
from fuzzmcp.report.escape import harmless, one_line, own_frames_cut, places_without_own

NOTHING_FOUND, FOUND, INTERRUPTED = 0, 1, 130


class BadOption(click.UsageError):
    """An option whose value cannot be used. `cause` is the user's own exception behind it, if there is one."""

    def __init__(self, option: str, message: str, cause: BaseException | None = None) -> None:
        super().__init__(f"{option}: {message}")
        self.cause = cause


class Commands(click.Group):
    """A group whose every failure is one line, with an exit code that says whose fault it is."""

    def main(self, *args: Any, **extra: Any) -> Any:
        extra["standalone_mode"] = False
        try:
            code = super().main(*args, **extra)
        except (click.Abort, KeyboardInterrupt):
            code = INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = NOTHING_FOUND
        except Exception as error:
            code = _explain(error)
        sys.exit(code if isinstance(code, int) else NOTHING_FOUND)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no such command '{args[0]}'" + meant(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def _explain(error: Exception) -> int:
    """Say on stderr what went wrong, and return the exit code."""
    if isinstance(error, click.ClickException):
        say(one_line(_usage(error), 500))
        _show_cause(getattr(error, "cause", None), "its own traceback")
        return BAD_USAGE
    if isinstance(error, FuzzmcpError) and not isinstance(error, OwnFault):
        say(one_line(str(error), 500))
        if isinstance(error, ScriptError):
            _show_place(error.text, error.position)
        if error.exit_code == CANNOT_RUN:
            _show_cause(error.__cause__, "the client's own traceback")
            _show_details(error)
        return error.exit_code
    say("fuzzmcp itself failed. This is no finding about your client; please report it with what follows.")
    click.echo("".join(traceback.format_exception(type(error), error, error.__traceback__)), err=True)
    return CANNOT_RUN


def say(message: str) -> None:
    """Print one line for the user on stderr."""
    click.echo(f"fuzzmcp: {message}", err=True)


def _usage(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        known = [name for parameter in error.ctx.command.params for name in parameter.opts]
        hint = meant(error.option_name, (name for name in known if name.startswith("--")))
        return f"no such option '{error.option_name}'{hint}"
    return error.format_message()


def _show_place(text: str, position: int) -> None:
    """The script with a caret under the place where reading stopped; of a long one the part around it."""
    from rich.cells import cell_len

    start = max(position - 60, 0)
    before = harmless(text[start:position])
    click.echo(f"  {before}{harmless(text[position : position + 30])}", err=True)
    click.echo(f"  {' ' * cell_len(before)}^", err=True)


def _show_cause(cause: BaseException | None, title: str) -> None:
    if cause is None:
        return
    text = own_frames_cut("".join(traceback.format_exception(type(cause), cause, cause.__traceback__)))
    if 'File "' in text:  # otherwise the message has said it all
        _show_lines(text, title)


def _show_details(error: Exception) -> None:
    run = getattr(error, "run", None)
    if run is not None and run.connect_traceback:
        _show_lines(own_frames_cut(run.connect_traceback), "the client's own traceback")
    elif run is not None and run.outcomes and (places := places_without_own(run.outcomes[0].traceback)):
        _show_lines(places, "where it was raised")
    if getattr(error, "stderr", ""):
        _show_lines(error.stderr, "the server's stderr")  # type: ignore[attr-defined]


def _show_lines(text: str, title: str) -> None:
    click.echo(f"\n{title}:", err=True)
    for line in text.splitlines():
        click.echo(f"  {harmless(line)}", err=True)


class Duration(click.ParamType):  # type: ignore[type-arg]
    """Seconds, or a time like 30s, 5m, 1h30m."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return seconds_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Output(click.ParamType):  # type: ignore[type-arg]
    """TOOL=JSON: a structured result of a tool."""

    name = "output"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, dict[str, Any]]:
        from fuzzmcp.core.case import CaseError, output_of

        if isinstance(value, tuple):
            return value
        try:
            return output_of(value)
        except CaseError as error:
            self.fail(str(error), param, ctx)


class Requests(click.ParamType):  # type: ignore[type-arg]
    """A number of requests, or TOOL=N."""

    name = "requests"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        if isinstance(value, tuple):
            return value
        tool, mark, number = str(value).rpartition("=")
        if mark and not tool.strip():
            self.fail(f"expected TOOL=N, found '{value}'", param, ctx)
        if not number.strip().isdecimal():
            self.fail(f"expected a number, or TOOL=N, found '{value}'", param, ctx)
        if int(number) < 1:
            self.fail(f"{number.strip()} is not in the range x>=1", param, ctx)
        return tool.strip(), int(number)


def allowed(_: click.Context, __: click.Parameter, value: tuple[tuple[str, int], ...]) -> Allowed:
    """All values of `--max-requests` as one; of two for the same the last one counts."""
    found = dict(value)
    return Allowed(found.pop("", None), found)


class OneOf(click.ParamType):  # type: ignore[type-arg]
    """One of a few names; a wrong one is told the nearest."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name, self.known = name, known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value not in self.known:
            self.fail(unknown(self.name, value, self.known, f"; one of {', '.join(self.known)}"), param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return offered(self.known, incomplete)
