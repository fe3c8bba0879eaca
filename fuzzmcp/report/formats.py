"""The table of the formats in which a report can be written. A new format is one row here and one module beside it."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzmcp.report.model import Report


@dataclass(frozen=True)
class Format:
    """A format of reports.

    Attributes:
        name: What `--report NAME=FILE` calls it.
        about: What it is for, in one sentence for `--help`.
        writer: The pure function that makes text of a report, as `module:name`. It is imported when it is needed,
            because rich and jinja2 take long to import.
        converts: `fuzzmcp report` has an option to write a saved report in this format.
    """

    name: str
    about: str
    writer: str
    converts: bool = True

    @property
    def option(self) -> str:
        """The option of `fuzzmcp report`.

        >>> FORMATS["junit"].option
        '--junit'
        """
        return f"--{self.name}"

    def written(self, report: Report) -> str:
        """The report in this format; the same report gives the same text."""
        return str(pkgutil.resolve_name(self.writer)(report))


_ROWS = (
    Format(
        "json",
        "The whole report, for `fuzzmcp report` and for programs.",
        "fuzzmcp.report.model:Report.dumps",
        converts=False,
    ),
    Format("junit", "JUnit XML: a test case for each check and each finding.", "fuzzmcp.report.junit:junit"),
    Format("sarif", "SARIF 2.1.0: the findings at their lines of code.", "fuzzmcp.report.sarif:sarif"),
    Format("markdown", "A summary in GitHub's Markdown.", "fuzzmcp.report.markdown:markdown"),
    Format("html", "One self-contained page.", "fuzzmcp.report.html:page"),
)

FORMATS = {row.name: row for row in _ROWS}
"""Every format by its name."""
