"""The page of a retry stack: what any text in it may not do. What it draws is tested in cli/test_stack."""

from __future__ import annotations

from hypothesis import given, settings

from fuzzmcp import Script
from fuzzmcp.core.trace import Loop
from fuzzmcp.harness.observe.layers import Attempt, Layer, Stack
from fuzzmcp.report.html.stack_page import page
from fuzzmcp.report.stack import Setting, StackReport
from fuzzmcp.search.stacking import Advice, CallCost, Exploration, Seen
from report.samples import texts

from .test_page import Reader


def _report(text: str) -> StackReport:
    """Two layers that send one call four times, with the text wherever there may be one."""
    outer = Layer(Loop(text, 1, text, (1, 2), text), (2,), ((1.0,),))
    inner = Layer(Loop(text, 2, text, (1, 3), text), (2, 2), ((0.5,), (0.5,)))
    attempts = tuple(Attempt(at, at + 0.1) for at in (0.0, 0.5, 1.5, 2.0))
    cost = CallCost(0, text, attempts, Stack(4, (outer, inner), (1, 0, 1)), 2.1, tool=text)
    seen = Seen(Script.parse("429*"), (cost,), (cost,))
    found = Exploration((seen, Seen(Script.parse("529*"), ())), None, 3, Advice(inner, (outer,), None))
    return StackReport(Setting(text, text, text, text), found)


@settings(max_examples=40)
@given(text=texts.filter(bool))
def test_no_text_in_a_stack_becomes_an_element(text: str) -> None:
    tame, wild = Reader(page(_report("x"))), Reader(page(_report(text)))
    assert wild.elements == tame.elements
    assert wild.open == []


def test_every_anchor_of_a_stack_leads_somewhere() -> None:
    reader = Reader(page(_report("x")))
    pointers = {value for _, name, value in reader.attributes if name in ("href", "aria-labelledby")}
    assert {value.removeprefix("#") for value in pointers if value != "data:,"} <= set(reader.ids)


def test_a_call_shows_its_layers_and_how_they_multiply() -> None:
    said = Reader(page(_report("x"))).said
    for words in ("What costs most FAULTS=429*", "4 = 2 × 2", "Meanwhile over HTTP:", "no request was sent"):
        assert words in said
