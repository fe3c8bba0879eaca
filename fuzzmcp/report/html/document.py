"""What every page has around its own content: the head with the policy that lets nothing in, sections, and facts."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from fuzzmcp.report.html.element import Child, E, render
from fuzzmcp.report.html.style import STYLE

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def document(title: str, body: Element, style: str = "") -> str:
    """A whole page of HTML in UTF-8.

    Args:
        title: What the browser calls it.
        body: The element `body`.
        style: CSS beside what all pages share.
    """
    head = E(
        "head",
        E("meta", charset="utf-8"),
        E("meta", name="viewport", content="width=device-width, initial-scale=1"),
        E("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        E("meta", name="color-scheme", content="light dark"),
        E("title", title),
        E("link", rel="icon", href="data:,"),
        E("style", STYLE + style),
    )
    return f"<!doctype html>\n{render(E('html', head, body, lang='en'))}\n"


def section(anchor: str, name: str, content: Child) -> Element:
    """A part of the page with a heading, that a link can lead to."""
    heading = E("h2", name, id=f"{anchor}-title")
    return E("section", heading, content, id=anchor, aria_labelledby=f"{anchor}-title", tabindex="-1")


def facts(named: Mapping[str, str]) -> Element:
    """The box of names and values under the headline."""
    return E("dl", (E("div", E("dt", name), E("dd", value)) for name, value in named.items()), class_="facts")
