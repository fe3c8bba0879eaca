"""The examples of retry stacking: real SDKs, offline, with the layers that each one's docstring names."""

from __future__ import annotations

import importlib
import inspect
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from upstream.network import attempts

from fuzzmcp import upstream
from fuzzmcp.harness.observe.layers import Layer
from fuzzmcp.upstream import Happened

NEEDS = {
    "stacking_anthropic": ("anthropic", "httpx2"),
    "stacking_openai": ("openai", "httpx2"),
    "stacking_tenacity": ("tenacity", "requests", "urllib3"),
}
EXAMPLES = pytest.mark.parametrize("name", NEEDS)


def example(name: str) -> Any:
    for package in NEEDS[name]:
        pytest.importorskip(package, reason=f"examples/{name}.py needs {package}, which is not installed")
    return importlib.import_module(f"fuzzmcp.examples.{name}")


def driven(function: Callable[..., Any], script: str, **options: Any) -> Happened:
    """Run an example's function, and see that nothing went to a network."""
    ok = function.__globals__.get("answer", {"order_id": "A1"})
    with attempts() as seen:
        happened = upstream.run(function, script, ok=ok, **options)
    assert seen == []
    return happened


def shape(happened: Happened) -> list[tuple[str, int | None]]:
    return [(layer.loop.function if layer.loop else "", layer.factor) for layer in happened.stack_of().layers]


def stands_at(layer: Layer, function: Callable[..., Any], text: str) -> bool:
    """Whether a layer names the line of `function` that holds `text`."""
    lines, first = inspect.getsourcelines(function)
    places = [first + offset for offset, line in enumerate(lines) if text in line]
    loop = layer.loop
    assert loop is not None
    file = inspect.getsourcefile(function)
    return file is not None and Path(loop.file).samefile(file) and [loop.line] == places


@pytest.mark.parametrize("function", ["stacked", "stacked_async"])
@pytest.mark.parametrize("fault", ["429", "504", "529", "close", "hang"])
def test_the_anthropic_sdk_under_a_loop_of_3_retries_sends_12_requests(function: str, fault: str) -> None:
    module = example("stacking_anthropic")
    agent = getattr(module, function)
    happened = driven(agent, f"{fault}*")
    outer, inner = happened.stack_of().layers
    assert (len(happened.requests), happened.stack_of().product) == (12, 12)
    assert (outer.factor, inner.factor) == (4, 3)
    assert stands_at(outer, agent, "client.messages.create")
    assert inner.loop is not None
    assert Path(inner.loop.file).parent.name == "anthropic"
    assert happened.status == "raised"


def test_the_openai_sdk_under_a_helper_of_3_retries_sends_12_requests() -> None:
    module = example("stacking_openai")
    happened = driven(module.stacked, "529*")
    outer, inner = happened.stack_of().layers
    assert (len(happened.requests), happened.stack_of().product) == (12, 12)
    assert outer.loop is not None
    assert (outer.loop.function, outer.factor, inner.factor) == ("with_retries", 4, 3)
    assert inner.loop is not None
    assert Path(inner.loop.file).parent.name == "openai"


def test_three_layers_around_urllib3_send_24_requests() -> None:
    happened = driven(example("stacking_tenacity").stacked, "529*")
    assert shape(happened) == [("stacked", 2), ("get_order", 3), ("urlopen", 4)]
    tenacity = happened.stack_of().layers[1].loop
    assert tenacity is not None
    assert tenacity.library == "tenacity"
    assert (len(happened.requests), happened.stack_of().product) == (24, 24)


@EXAMPLES
@pytest.mark.parametrize("fault", ["429", "529", "504"])
def test_a_mended_one_has_a_single_layer(name: str, fault: str) -> None:
    happened = driven(example(name).mended, f"{fault}*")
    assert len(happened.requests) == 4
    assert [layer.factor for layer in happened.stack_of().layers] == [4]


@EXAMPLES
@pytest.mark.parametrize("hints", ["seconds", "decimal"])
def test_a_mended_one_waits_as_it_is_told(name: str, hints: Any) -> None:
    happened = driven(example(name).mended, "429(7),429(9)", hints=hints)
    assert happened.status == "returned"
    assert [wait >= told for wait, told in zip(happened.waits_of(), (7, 9), strict=True)] == [True, True]


@pytest.mark.parametrize("name", ["stacking_anthropic", "stacking_tenacity"])
def test_a_mended_loop_of_ones_own_sends_nothing_again_after_a_spend_cap(name: str) -> None:
    assert len(driven(example(name).mended, "429cap*").requests) == 1


@EXAMPLES
@pytest.mark.parametrize("function", ["stacked", "mended"])
def test_each_one_works_where_nothing_is_wrong(name: str, function: str) -> None:
    happened = driven(getattr(example(name), function), "")
    assert (happened.status, len(happened.requests)) == ("returned", 1)
    assert "A1" in str(happened.value)


@EXAMPLES
def test_each_one_recovers_from_one_fault(name: str) -> None:
    for fault in ("429", "504", "529", "close"):
        happened = driven(example(name).mended, fault)
        assert (happened.status, len(happened.requests)) == ("returned", 2)


@EXAMPLES
def test_each_one_prints_the_count_and_the_layers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = example(name).__file__
    assert file
    runpy.run_path(file, run_name="__main__")
    printed = capsys.readouterr().out
    total = "24" if name == "stacking_tenacity" else "12"
    assert f"stacked: {total} requests in" in printed
    assert "mended: 4 requests in" in printed
    assert f"{Path(file).name}:" in printed
    assert "×4" in printed
