"""The kinds of report that can be written, all from one `Report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzmcp.report.model import Report

KINDS = ("json", "junit", "sarif", "markdown", "html")


def written(report: Report, kind: str) -> str:
    """The report as text of one kind; the same report gives the same text. What is heavy is imported here.

    Args:
        report: What to write.
        kind: One of `KINDS`.
    """
    match kind:
        case "json":
            return report.dumps()
        case "junit":
            from fuzzmcp.report.junit import junit

            return junit(report)
        case "sarif":
            from fuzzmcp.report.sarif import sarif

            return sarif(report)
        case "markdown":
            from fuzzmcp.report.markdown import markdown

            return markdown(report)
        case _:
            from fuzzmcp.report.html import page

            return page(report)
