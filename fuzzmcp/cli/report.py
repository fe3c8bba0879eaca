"""`fuzzmcp report`: a saved report, shown or written in another form."""

from __future__ import annotations

import sys

import click

from fuzzmcp.cli.completion import complete_file
from fuzzmcp.cli.output import STDOUT, Wanted, found_writable, reserved_stdout, to_stdout, write_reports
from fuzzmcp.cli.usage import NOTHING_FOUND


@click.command()
@click.argument("file", shell_complete=complete_file)
@click.option("--html", metavar="FILE", shell_complete=complete_file, help="One self-contained page.")
@click.option(
    "--junit",
    metavar="FILE",
    shell_complete=complete_file,
    help="JUnit XML: a test case for each check and each finding.",
)
@click.option(
    "--sarif", metavar="FILE", shell_complete=complete_file, help="SARIF 2.1.0: the findings at their lines of code."
)
@click.option("--markdown", metavar="FILE", shell_complete=complete_file, help="A summary in GitHub's Markdown.")
def report(file: str, **files: str | None) -> int:
    """Show the saved report FILE, which `fuzzmcp run --report json=FILE` wrote, or write it in other forms.

    Without options it is shown as the search showed it. FILE may be - for stdin, and one of the options - for stdout.

    The exit code is 0 when the report could be read and written, whatever it says: the search itself has already told
    whether there were findings. It is 2 when FILE is no report.
    """
    kinds = ("html", "junit", "sarif", "markdown")
    reports = found_writable([Wanted(kind, name, f"--{kind}") for kind in kinds if (name := files[kind]) is not None])

    from fuzzmcp.report.load import ReportError, load, loads
    from fuzzmcp.report.terminal import console, style

    try:
        saved = loads(sys.stdin.buffer.read(), "stdin") if file == STDOUT else load(file)
    except ReportError as error:
        raise click.UsageError(str(error)) from None
    if not reports:
        console.show_report(saved, style.stdout())
    with reserved_stdout(to_stdout(reports)) as stdout:
        write_reports(saved, reports, stdout)
    return NOTHING_FOUND
