"""Saved cases as pytest code: what the code demands is what the file says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import Case
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.core.contract import Contract
from fuzzmcp.search.corpus import SavedCase, save
from fuzzmcp.search.corpus.export import code_of
from fuzzmcp.search.corpus.reading import read
from fuzzmcp.strategies import cases

CLIENT = "fuzzmcp.examples.careful_agent:connect"
FILE = Path("tests/test_regressions.py")
notes = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(['a "b"', "\\", '"""', "'"])


def asked(code: str, monkeypatch: pytest.MonkeyPatch, file: Path = FILE) -> Iterator[tuple[Any, Case, dict[str, Any]]]:
    """What each test of a module asks `fuzzmcp.check` for."""
    seen: list[tuple[Any, Case, dict[str, Any]]] = []

    def check(client: Any, script: Any, *, checks: Any, contract: Any = None, **options: Any) -> None:
        case = script if isinstance(script, Case) else case_of(script, **options)
        seen.append((client, case, {"checks": checks, "contract": contract}))

    monkeypatch.setattr(fuzzmcp, "check", check, raising=False)
    namespace: dict[str, Any] = {"__file__": str(file)}
    exec(compile(code, str(file), "exec"), namespace)
    for name, value in namespace.items():
        if name.startswith("test_"):
            value()
    yield from seen


@given(st.lists(st.tuples(cases(crm()), st.sampled_from(list(CHECKS)), notes), max_size=3))
@settings(suppress_health_check=list(HealthCheck), max_examples=40, deadline=None)
def test_each_test_asks_for_its_case_and_its_check(rows: list[tuple[Case, str, str]]) -> None:
    saved = [
        SavedCase(check, case, note, Path(f"regressions/{check}-{i}.toml"))
        for i, (case, check, note) in enumerate(rows)
    ]
    with pytest.MonkeyPatch.context() as monkeypatch:
        seen = list(asked(code_of(saved, CLIENT, FILE), monkeypatch))
    assert [(case, facts["checks"]) for _, case, facts in seen] == [(case, [check]) for case, check, _ in rows]


@given(st.lists(st.tuples(st.sampled_from(["a-1", "a_1", "a.1", "ü", "1"]), notes), max_size=6))
def test_every_case_is_a_test_of_its_own_name(rows: list[tuple[str, str]]) -> None:
    saved = [SavedCase("spend_cap", case_of("429cap"), note, Path(f"{name}.toml")) for name, note in rows]
    functions = [
        node.name for node in ast.parse(code_of(saved, CLIENT, FILE)).body if isinstance(node, ast.FunctionDef)
    ]
    assert len(functions) == len(set(functions)) == len(rows)


def test_a_catalogue_is_named_from_where_the_module_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FILE.parent.mkdir()
    case = case_of("429cap", tools=[{"name": "echo", "inputSchema": {"type": "object"}}])
    path, _ = save("regressions", "spend_cap-1", SavedCase("spend_cap", case))
    code = code_of([read(path)], CLIENT, FILE)
    assert 'tools=HERE / "../regressions/tools-' in code
    assert [case for _, case, _ in asked(code, monkeypatch, tmp_path / FILE)] == [case]


@pytest.mark.parametrize("name", ["careful_agent.py:connect", "sub/careful_agent.py:connect"])
def test_a_client_in_a_file_is_loaded_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    FILE.parent.mkdir()
    place = Path(name.partition(":")[0])
    place.parent.mkdir(exist_ok=True)
    place.write_text("async def connect(server): ...\n")
    saved = SavedCase("spend_cap", case_of("429cap"), path=Path("a.toml"))
    code = code_of([saved], name, FILE, role="agent")
    ((client, _, _),) = asked(code, monkeypatch, tmp_path / FILE)
    assert (client.role, client.file) == ("agent", str((tmp_path / place).resolve()))


def test_a_class_attribute_is_imported_by_its_class() -> None:
    saved = SavedCase("spend_cap", case_of("429cap"), path=Path("a.toml"))
    code = code_of([saved], "package.module:Agents.connect", FILE)
    assert "from package.module import Agents\n" in code
    assert 'fuzzmcp.check(client, "429cap", checks=["spend_cap"])' in code
    assert "client = Agents.connect\n" in code


def test_a_contract_that_stands_elsewhere_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = Contract(deadline=60, max_requests=2, accepts=(TimeoutError, "ToolFailed"), jitter=True)
    code = code_of([SavedCase("spend_cap", case_of("429cap"), path=Path("a.toml"))], CLIENT, FILE, contract=contract)
    ((_, _, facts),) = asked(code, monkeypatch)
    assert facts["contract"] == Contract(
        deadline=60, max_requests=2, accepts=("TimeoutError", "ToolFailed"), jitter=True
    )


def test_no_cases_are_no_tests() -> None:
    assert "def test_" not in code_of([], CLIENT, FILE)
    ast.parse(code_of([], CLIENT, FILE))
