"""The templates of the pages. Text goes in as text: only a template writes markup, so no text can become any."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from fuzzmcp.report.escape import counted, harmless


def render(template: str, **view: object) -> str:
    """A whole page of HTML in UTF-8.

    Args:
        template: Its name below `templates`.
        view: What the template names; a name that is missing is an error.
    """
    return environment().get_template(template).render(view)


@cache
def environment() -> Environment:
    """The one environment of all pages."""
    made = Environment(
        loader=PackageLoader("fuzzmcp.report.html"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters |= {"counted": counted, "number": "{:,}".format, "seconds": "{:,.3f}".format}
    return made


def _shown(value: object) -> object:
    """Text that a browser shows and does not obey; lines stay lines. What a macro wrote is markup already."""
    return value if hasattr(value, "__html__") else "\n".join(map(harmless, str(value).split("\n")))
