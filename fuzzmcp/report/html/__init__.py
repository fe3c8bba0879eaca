"""Self-contained pages: nothing is loaded from anywhere, no script runs, and every text is escaped."""

from fuzzmcp.report.html.page import page

__all__ = ["page"]
