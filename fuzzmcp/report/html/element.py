"""Elements of the page. Text goes in as text: only this module writes markup, so no text can become any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from fuzzmcp.report.escape import harmless

Child: TypeAlias = "str | Element | Iterable[Child] | None"
_BLOCKS = ("section", "details", "tr", "li", "p", "header", "main", "footer", "figure", "svg", "h2", "dt", "pre")


def E(tag: str, *children: Child, **attributes: str | int | bool | None) -> Element:  # noqa: N802
    """An element.

    Args:
        tag: Its name.
        children: Text, elements, or several of them; None is left out.
        attributes: `class_` is `class`, `aria_label` is `aria-label`; True is a bare attribute, None and False none.

    >>> render(E("p", "1 < 2", class_="sum"))
    '<p class="sum">1 &lt; 2</p>'
    """
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    given = {
        name: "" if value is True else _text(str(value))
        for name, value in names.items()
        if value is not None and value is not False
    }
    element = Element(tag, given)
    for child in children:
        _append(element, child)
    return element


def _append(element: Element, child: Child) -> None:
    if child is None:
        return
    if isinstance(child, Element):
        child.tail = "\n" if child.tag in _BLOCKS else None
        element.append(child)
    elif not isinstance(child, str):
        for one in child:
            _append(element, one)
    elif len(element):
        element[-1].tail = (element[-1].tail or "") + _text(child)
    else:
        element.text = (element.text or "") + _text(child)


def _text(text: str) -> str:
    """Text that a browser shows and does not obey; lines stay lines."""
    return "\n".join(map(harmless, text.split("\n")))


def render(element: Element) -> str:
    """The markup of an element."""
    tail, element.tail = element.tail, None
    text = ElementTree.tostring(element, encoding="unicode", method="html")
    element.tail = tail
    return text
