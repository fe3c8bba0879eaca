"""Differences on a terminal and as data: harmless whatever a server calls its tools."""

from __future__ import annotations

import io

from catalogues import INTEGER, STRING, closed, prop, tool

from fuzzmcp.core.catalogue.diff import diff
from fuzzmcp.core.catalogue.tools import Tool
from fuzzmcp.report.differences import Compared
from fuzzmcp.report.terminal.differences import show_differences
from fuzzmcp.report.terminal.style import console_for


def compared(old: Tool, new: Tool) -> Compared:
    return Compared("tools.json", "CLIENT", (old,), (new,), diff((old,), (new,)))


def printed(this: Compared) -> str:
    stream = io.StringIO()
    show_differences(this, console_for(stream))
    return stream.getvalue()


def test_control_characters_of_a_server_are_shown_and_never_obeyed() -> None:
    name = "a\x1b[2J\nb"
    text = printed(compared(tool(prop(STRING), name=name), tool(prop(INTEGER), name=name, description="\x07\u202e")))
    assert "a\\x1b[2J\\nb: p:integer\n" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_a_call_that_no_command_line_can_spell_leaves_the_script_without_a_command() -> None:
    arguments = closed({"a\ud800": STRING})
    this = compared(tool(prop(STRING), arguments), tool(prop(INTEGER), arguments))
    assert printed(this).splitlines() == [
        "t: p:integer",
        "",
        "t  drift(p:integer)",
        "",
        "1 difference from tools.json · 1 tool · 1 can be played to a client",
    ]
    (row,) = this.as_data()
    assert (row["script"], row["replay"]) == ("drift(p:integer)", None)


def test_notes_stand_in_a_column_of_their_own() -> None:
    old = tool(closed({"a": STRING, "long_name_of_it": {"enum": ["x"]}}))
    new = tool(closed({"a": {"type": ["string", "null"]}, "long_name_of_it": {"enum": ["x", "y"]}}))
    lines = printed(compared(old, new)).splitlines()[:2]
    assert lines == ["t: a=null                null is allowed now", 't: long_name_of_it="y"   a new value']
