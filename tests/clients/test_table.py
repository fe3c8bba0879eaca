"""The table of adapters: every row has its module, and what is wrong with one is told in a line."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import invoke
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp import clients
from fuzzmcp.clients import _table
from fuzzmcp.clients._table import ADAPTERS, Adapter, fits, offered, why_missing
from fuzzmcp.core.errors import ToolNotOffered

FOLDER = Path(clients.__file__).parent
EACH = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.module)


def source(adapter: Adapter) -> ast.Module:
    return ast.parse((FOLDER / f"{adapter.module}.py").read_text("utf-8"))


def test_every_row_has_a_module_and_every_module_a_row() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_")}
    assert modules == {adapter.module for adapter in ADAPTERS}


@EACH
def test_a_module_says_how_it_is_run_and_how_errors_surface(adapter: Adapter) -> None:
    text = " ".join((ast.get_docstring(source(adapter)) or "").split())
    assert f"fuzzmcp run {adapter.client}" in text
    assert re.search(r"timeout|seconds|\d s\b", text)
    assert "xecution error" in text
    assert "rotocol error" in text


@EACH
def test_a_module_has_a_contract_and_a_documented_client(adapter: Adapter) -> None:
    body = source(adapter).body
    names = {
        target.id
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert "contract" in names
    connect = next(n for n in body if isinstance(n, (ast.AsyncFunctionDef, ast.FunctionDef)) and n.name == "connect")
    assert ast.get_docstring(connect)


def test_the_table_imports_no_framework() -> None:
    tree = ast.parse(Path(_table.__file__).read_text("utf-8"))
    froms = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    plain = {name.name for n in ast.walk(tree) if isinstance(n, ast.Import) for name in n.names}
    roots = {str(name).partition(".")[0] for name in froms | plain}
    assert roots <= {"__future__", "collections", "dataclasses", "fuzzmcp", "importlib", "packaging", "typing"}


def test_a_mistyped_adapter_gets_the_nearest_name() -> None:
    result = invoke("run", "fuzzmcp.clients.fastmpc:connect")
    assert (result.exit_code, result.stderr) == (3, "fuzzmcp: there is no adapter 'fastmpc'; did you mean 'fastmcp'?\n")


def test_a_missing_framework_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "_installed", lambda package: "2.3.0")
    error = ModuleNotFoundError("No module named 'dspy'", name="dspy")
    told = "DSPy: not installed (No module named 'dspy'); pip install 'dspy>=3' 'mcp>=1.24,<3'"
    assert why_missing("fuzzmcp.clients.dspy", error) == told


def test_an_sdk_that_a_framework_cannot_live_with_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "_installed", lambda package: "2.3.0")
    told = why_missing("fuzzmcp.clients.langchain", ImportError("cannot import name 'x'"))
    assert told is not None
    assert told.endswith("needs mcp<2, found 2.3.0; pip install 'langchain-mcp-adapters>=0.3' 'mcp<2'")


@pytest.mark.parametrize(
    ("module", "error"),
    [
        ("fuzzmcp.clients.fastmcp", ImportError("cannot import name 'Client' from 'fastmcp'")),
        ("fuzzmcp.clients.fastmcp", ModuleNotFoundError("no", name="fuzzmcp.nothing")),
        ("my.clients.fastmcp", ModuleNotFoundError("no", name="fastmcp")),
    ],
)
def test_of_other_failures_their_own_traceback_tells(module: str, error: ImportError) -> None:
    assert why_missing(module, error) is None


def test_a_tool_that_a_framework_did_not_find_is_named() -> None:
    assert offered({"a": 1}, "a") == 1
    with pytest.raises(ToolNotOffered, match="b is not among the 1 tools"):
        offered({"a": 1}, "b")


@given(st.tuples(*[st.integers(0, 40)] * 3), st.tuples(*[st.integers(0, 40)] * 2))
def test_a_version_fits_bounds_as_numbers_compare(number: tuple[int, int, int], bound: tuple[int, int]) -> None:
    text, edge = ".".join(map(str, number)), ".".join(map(str, bound))
    assert fits(text, f">={edge}") == (number >= bound)
    assert fits(text, f"<{edge}") == (number < bound)
    assert fits(text, f">={edge},<{edge}") is False


@pytest.mark.parametrize(
    ("number", "bounds", "within"),
    [
        ("2.4.0rc1", ">=2,<3", True),
        ("2.4.0.dev7+g1a2b3c", ">=2.1,<3", True),
        ("2.3.0+local", ">=2,<3", True),
        ("2.0.0rc1", ">=2,<3", False),
        ("2.0.0b1", "<2", False),
        ("3.0.0a1", ">=2,<3", False),
        ("1!1.0", "<2", False),
        ("none", "<2", False),
        ("", ">=1.24,<3", False),
    ],
)
def test_a_pre_release_comes_before_its_release_and_what_is_no_version_fits_nothing(
    number: str, bounds: str, within: bool
) -> None:
    assert fits(number, bounds) is within


def test_a_pre_release_that_a_framework_cannot_be_imported_with_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "_installed", lambda package: "2.0.0rc1")
    told = why_missing("fuzzmcp.clients.sdk_client", ImportError("cannot import name 'Client'"))
    assert told == "MCP Python SDK, Client: needs mcp>=2,<3, found 2.0.0rc1; pip install 'mcp>=2,<3'"


def test_without_the_sdk_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_table, "_installed", lambda package: "none")
    told = why_missing("fuzzmcp.clients.fastmcp", ModuleNotFoundError("no", name="mcp"))
    assert told == "FastMCP: needs mcp>=1.24,<3, found none; pip install 'fastmcp>=3' 'mcp>=1.24,<3'"


def test_numbers_of_versions_are_compared_only_where_an_adapter_failed() -> None:
    code = "import sys; import fuzzmcp.target; print('packaging' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
