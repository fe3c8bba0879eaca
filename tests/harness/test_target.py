"""Naming and loading the client under test."""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import fuzzmcp
from fuzzmcp.harness.target import is_plain
from fuzzmcp.target import Target, TargetError, load, target_of
from fuzzmcp.upstream import Upstream

CLIENT = """
from contextlib import asynccontextmanager
from fuzzmcp import Contract

contract = Contract(deadline=7)

@asynccontextmanager
async def connect(server):
    async with server.connect():
        async def call(tool, arguments):
            return tool
        yield call

async def agent(server):
    return "done"

class Shop:
    @staticmethod
    async def agent(server):
        return "sold"
"""


@pytest.fixture(autouse=True)
def _imports_are_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    before = dict(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in set(sys.modules) - set(before):
        if str(tmp_path) in repr(sys.modules[name]):  # what fuzzmcp itself imports there is one of
            del sys.modules[name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_client.py"
    path.write_text(CLIENT)
    return path


@asynccontextmanager
async def a_client(server: Any) -> Any:
    yield None


async def an_agent(server: Any, more: int = 0) -> None: ...


@pytest.mark.parametrize(
    ("function", "role"),
    [
        (a_client, "client"),
        (an_agent, "agent"),
        (functools.partial(an_agent, more=1), "agent"),
        (functools.partial(a_client), "client"),
    ],
    ids=["client", "agent", "partial agent", "partial client"],
)
def test_a_client_is_a_context_manager_and_an_agent_a_coroutine(function: Any, role: str) -> None:
    assert target_of(function).role == role
    assert target_of(target_of(function)) == target_of(function)


def test_a_decorated_client_is_still_one() -> None:
    @functools.wraps(a_client)
    def wrapped(server: Any) -> Any:
        return a_client(server)

    assert target_of(wrapped).role == "client"


async def generator(server: Any) -> Any:
    yield None


def no_argument() -> None: ...


def plain_function(server: Any) -> None: ...


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (generator, "generator is an async generator: decorate it with @contextlib.asynccontextmanager"),
        (no_argument, "no_argument takes no argument: a client is called with the server"),
        (plain_function, "plain_function is neither a client"),
        (7, "int is no client: expected a function that takes the server, found int"),
        (None, "NoneType is no client"),
        ([], "list is no client"),
        ({"a": 1}, "dict is no client"),
    ],
)
def test_what_is_neither_is_told_what_to_change(value: Any, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        target_of(value)


def test_a_file_and_a_module_can_be_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(f"{file}:connect").role == "client"
    assert load(f"{file}:agent").name == f"{file}:agent"
    assert load(f"{file}:Shop.agent").role == "agent"
    del sys.modules["my_client"]
    monkeypatch.chdir(file.parent)
    assert load("my_client:connect").role == "client"


def test_a_target_knows_its_file(file: Path) -> None:
    assert load(f"{file}:connect").file == str(file.resolve())
    assert Target("x", len, "agent").file is None


def test_a_loaded_client_runs_with_the_contract_beside_it(file: Path) -> None:
    from fuzzmcp.api import contract_of

    target = load(f"{file}:connect")
    assert contract_of(target).deadline == 7
    assert fuzzmcp.run(target, "").outcomes[0].value == "get_order"


def test_a_file_finds_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "helper_of_mine.py").write_text("NAME = 'x'")
    (tmp_path / "uses_it.py").write_text("import helper_of_mine\nasync def agent(server): ...")
    assert load(f"{tmp_path / 'uses_it.py'}:agent").role == "agent"


def test_a_client_whose_file_is_called_like_a_library_does_not_replace_it(tmp_path: Path) -> None:
    import json

    (tmp_path / "json.py").write_text("async def agent(server): ...")
    assert load(f"{tmp_path / 'json.py'}:agent").role == "agent"
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' names no client: expected MODULE:ATTR or PATH.py:ATTR"),
        ("module", "'module' names no client"),
        (":attr", "':attr' names no client"),
        ("module:", "'module:' names no client"),
        ("no_such_module_x:connect", "cannot import no_such_module_x: No module named 'no_such_module_x'"),
        ("no/such/file.py:connect", "there is no file no/such/file.py"),
    ],
)
def test_a_name_that_leads_nowhere_is_an_error_in_one_line(text: str, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        load(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_misspelt_attribute_gets_the_nearest_one(file: Path) -> None:
    with pytest.raises(TargetError, match=r"has no 'conect'; did you mean 'connect'\?"):
        load(f"{file}:conect")
    with pytest.raises(TargetError, match="has no 'agents'"):
        load(f"{file}:Shop.agents")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1/0", "ZeroDivisionError: division by zero"),
        ("import no_such_module_y", "No module named 'no_such_module_y'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_module_that_fails_keeps_its_own_error_as_the_cause(tmp_path: Path, source: str, message: str) -> None:
    path = tmp_path / "failing.py"
    path.write_text(source)
    with pytest.raises(TargetError, match=message) as caught:
        load(f"{path}:connect")
    assert caught.value.__cause__ is not None


FAILURES = [
    "raise RuntimeError('needs API_KEY')",
    "raise SystemExit('needs API_KEY')",
    "import beside_that_fails",
    "import no_such_module_at_all",
    "def connect(:",
    "raise KeyboardInterrupt",
]


@pytest.mark.parametrize("source", FAILURES)
@pytest.mark.parametrize("named", ["{folder}/broken_again.py", "broken_again", "broken_package.broken_again"])
def test_a_module_that_fails_fails_in_the_same_way_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, source: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken_package").mkdir()
    for place in (tmp_path, tmp_path / "broken_package"):
        (place / "broken_again.py").write_text(f"connect = half = None\n{source}\n")
    (tmp_path / "beside_that_fails.py").write_text("raise ValueError('needs API_KEY')\n")
    seen = []
    for _ in range(3):
        with pytest.raises((TargetError, KeyboardInterrupt)) as caught:
            load(f"{named.format(folder=tmp_path)}:connect")
        cause = caught.value.__cause__
        seen.append((str(caught.value), type(cause), str(cause)))
        assert not {"broken_again", "_target_broken_again", "beside_that_fails"} & set(sys.modules)
        assert "broken_package.broken_again" not in sys.modules
    assert seen[0] == seen[1] == seen[2]
    assert "has no" not in seen[0][0]


def test_a_module_that_is_mended_is_loaded_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "mended_client.py"
    path.write_text("raise RuntimeError('needs API_KEY')")
    with pytest.raises(TargetError, match="needs API_KEY"):
        load(f"{path}:connect")
    path.write_text(f"# mended\n{CLIENT}")
    assert load(f"{path}:connect").role == "client"


def test_a_module_that_fails_under_the_name_of_another_leaves_that_one_alone(tmp_path: Path) -> None:
    import json

    (tmp_path / "json.py").write_text("raise RuntimeError('needs API_KEY')")
    for _ in range(2):
        with pytest.raises(TargetError, match="needs API_KEY"):
            load(f"{tmp_path / 'json.py'}:connect")
    assert sys.modules["json"] is json


def test_a_file_that_is_imported_already_is_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "imported_client.py").write_text("async def agent(server): ...\n")
    module = importlib.import_module("imported_client")
    assert load(f"{tmp_path / 'imported_client.py'}:agent").function is module.agent
    monkeypatch.delitem(sys.modules, "imported_client")


# -- functions of an HTTP backend -------------------------------------------------------------------------------------


def sync_plain(backend: Any) -> None: ...


async def annotated(backend: Upstream) -> None: ...


async def as_text(backend: "fuzzmcp.upstream.Upstream") -> None: ...  # noqa: UP037


async def with_both(server: Any, model: Upstream | None) -> None: ...


def test_a_function_of_an_upstream_is_known_by_its_parameter_or_because_it_is_not_async() -> None:
    functions = (sync_plain, annotated, as_text, functools.partial(annotated))
    assert [is_plain(one) for one in functions] == [True] * 4
    assert [is_plain(one) for one in (a_client, an_agent, with_both, generator, no_argument, Target, 7)] == [False] * 7


@pytest.mark.parametrize("function", [annotated, as_text])
def test_a_function_of_an_upstream_is_no_client_and_told_what_to_use(function: Any) -> None:
    with pytest.raises(TargetError, match=r"takes an Upstream: .* 'fuzzmcp stack .*' shows its retries"):
        target_of(function)
    with pytest.raises(TargetError, match="'fuzzmcp stack' takes it for a function of an Upstream"):
        target_of(sync_plain)


def test_a_client_may_ask_for_its_backend_beside_the_server() -> None:
    assert target_of(with_both) == Target("with_both", with_both, "agent", "model")
    assert target_of(an_agent).backend is None
