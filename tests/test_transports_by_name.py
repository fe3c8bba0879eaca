"""What is known of a transport or a backend is decided in a table: no module compares with a name, or has a default.

So a new transport is a row of `core/protocol.py`, a row of `harness/transports/server.py`, and a module.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import ROOT, invoke

import fuzzmcp
from fuzzmcp import strategies, upstream
from fuzzmcp.core.protocol import (
    BACKENDS,
    DEFAULT_BACKEND,
    DEFAULT_TRANSPORT,
    SHUFFLED_BACKENDS,
    TRANSPORT_TABLE,
    TRANSPORTS,
)
from fuzzmcp.harness.tasks import BACKEND_TABLE
from fuzzmcp.harness.transports.server import CONNECT

NAMES = {*TRANSPORTS, *BACKENDS}
ALLOWED = {
    "fuzzmcp/core/protocol.py": "the table of names",
    "fuzzmcp/harness/clock/virtual.py": "the clock knows nothing of fuzzmcp, and has a table of its own two loops",
    "fuzzmcp/harness/transports/server.py": "the table of transports",
    "fuzzmcp/harness/tasks.py": "the table of loops",
    "fuzzmcp/harness/stage.py": "the table of what tells of new tasks",
}
"""Where names may decide, and why."""


def modules() -> list[str]:
    folders = ("fuzzmcp", "strategies")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted({path.relative_to(ROOT).as_posix() for path in paths if not path.is_symlink()} - set(ALLOWED))


def deciding(code: str) -> list[str]:
    """The names of transports and backends that decide something in a module, each with its line."""
    found = {node for place in places(ast.parse(code)) for node in ast.walk(place)}
    named = [node for node in found if isinstance(node, ast.Constant) and node.value in NAMES]
    return [f"{node.lineno}: {node.value}" for node in sorted(named, key=lambda node: node.lineno)]


def places(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a module that compare, and those that are a default."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare() | ast.MatchValue():
                yield node
            case ast.BoolOp(op=ast.Or(), values=values):
                yield from values[1:]
            case ast.arguments(defaults=defaults, kw_defaults=more):
                yield from (default for default in (*defaults, *more) if default is not None)
            case ast.keyword(arg="default" | "transport" | "backend", value=value):
                yield value
            case ast.AnnAssign(value=value) if value is not None:
                yield value
            case ast.Call(func=ast.Attribute(attr="get" | "pop" | "optional"), args=[_, *_, default]):
                yield default
            case ast.Assign(value=ast.Constant() | ast.Tuple() as value):
                yield value


@pytest.mark.parametrize("module", modules())
def test_no_module_decides_by_the_name_of_a_transport_or_a_backend(module: str) -> None:
    assert deciding((ROOT / module).read_text("utf-8")) == []


@pytest.mark.parametrize("module", ALLOWED)
def test_every_table_is_one(module: str) -> None:
    assert (ROOT / Path(module)).is_file()


@pytest.mark.parametrize(
    "code",
    [
        'if case.transport == "stdio": pass',
        'transports != ("memory", "stdio")',
        'match backend:\n    case "trio":\n        pass',
        'def run(transport="memory"): pass',
        'def run(*, backend="asyncio"): pass',
        'transport: str = "memory"',
        'click.option("--transport", default="memory")',
        'data.get("backend", "asyncio")',
        'data.optional("backend", one_of(BACKENDS), "asyncio")',
        'config.backend or "asyncio"',
        'Case(transport="stdio")',
        'BACKENDS = ("asyncio", "trio")',
    ],
)
def test_a_name_that_decides_is_seen(code: str) -> None:
    assert deciding(code)


@pytest.mark.parametrize(
    "code",
    [
        '"""Over stdio, or in memory: `transport == "stdio"`."""',
        "import trio",
        'sys.modules.get("trio")',
        'os.path.join(os.sep, "trio", "_threads.py")',
        "if backend in SHUFFLED_BACKENDS: pass",
    ],
)
def test_a_name_that_decides_nothing_is_none_of_these(code: str) -> None:
    assert deciding(code) == []


# -- the tables are whole ----------------------------------------------------------------------------------------------


def test_every_transport_knows_how_to_join_and_every_backend_its_loop() -> None:
    assert list(CONNECT) == list(TRANSPORTS)
    assert list(BACKEND_TABLE) == list(BACKENDS)
    assert {DEFAULT_TRANSPORT} <= set(TRANSPORTS)
    assert {DEFAULT_BACKEND, *SHUFFLED_BACKENDS} <= set(BACKENDS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_transport_carries_a_session_on_every_backend(transport: str, backend: str) -> None:
    from fuzzmcp.examples.sdk_client import connect

    run = fuzzmcp.check(connect, "429", transport=transport, backend=backend, checks=["survives", "cleans_up"])
    assert (run.case.transport, run.case.backend) == (transport, backend)
    assert [str(action) for _, action in run.played] == ["429"]


def test_the_help_of_the_command_line_says_how_each_transport_joins() -> None:
    text = " ".join(invoke("run", "--help").stdout.split())
    for row in TRANSPORT_TABLE.values():
        assert f"{row.name}, {row.summary}" in text
    for backend in BACKENDS:
        assert backend in text


@pytest.mark.parametrize(
    "function", [fuzzmcp.case_of, fuzzmcp.run, fuzzmcp.fuzz, fuzzmcp.Case, strategies.cases, upstream.run]
)
def test_what_can_be_asked_for_is_in_the_documentation(function: Callable[..., Any]) -> None:
    text, asked = inspect.getdoc(function) or "", inspect.signature(function).parameters
    for name in (*(TRANSPORTS if "transport" in asked else ()), *(BACKENDS if "backend" in asked else ())):
        assert f"`{name}`" in text
