"""The configuration: found from a folder upwards, checked to the last key, and able to say where each value stands."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fuzzmcp.core.config import CONTRACT, KEYS, Config, ConfigError, find, seconds_of
from fuzzmcp.core.contract import Contract
from fuzzmcp.core.toml import TomlError, line_of, parsed

FULL = """
client = "clients/mine.py:connect"
tools = "tools.json"
calls = ['get_order(order_id="A1")']
protocol = "2025-06-18"
transport = "stdio"
backend = "trio"
checks = ["spend_cap", "survives"]
skip = ["backoff"]
time = "5m"
runs = 300
seed = 7
regressions = "kept"
save = "found"
database = "redis://localhost"
baseline = "kept"
max_findings = 3
canary = false
quiet = false

[contract]
accept = ["ToolFailed"]
deadline = 60
max_requests = 3
max_requests_per_tool = { refund_order = 1 }
grace = "2s"
max_frames = 100
shutdown = 1.5
jitter = true
protocol_errors_as_results = true
error_words = ["Error: "]
errors_as_text = true
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def own(text: str, folder: Path | None = None) -> Path:
    file = (folder or Path()) / "fuzzmcp.toml"
    file.write_text(text)
    return file


def shared(text: str, folder: Path | None = None) -> Path:
    file = (folder or Path()) / "pyproject.toml"
    file.write_text(text)
    return file


def refused(text: str) -> str:
    own(text)
    with pytest.raises(ConfigError) as caught:
        find()
    return str(caught.value)


# -- finding -----------------------------------------------------------------------------------------------------------


def test_without_a_file_every_value_is_unset_and_paths_are_relative_to_where_one_stands(tmp_path: Path) -> None:
    config = find()
    assert config == Config(tmp_path)
    assert (config.client, config.file, dict(config.origins)) == (None, None, {})
    assert config.path("regressions") == tmp_path / "regressions"


def test_the_nearest_file_upwards_is_found_and_paths_are_relative_to_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared('[tool.fuzzmcp]\nclient = "clients/mine.py:connect"\ntools = "tools.json"\n')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    config = find()
    assert config.folder == tmp_path
    assert config.spelled("client") == "../../clients/mine.py:connect"
    assert config.spelled("tools") == "../../tools.json"
    assert config.spelled("save") == "../../regressions"
    assert config.path("save") == tmp_path / "regressions"
    assert str(config.origins["client"]) == "../../pyproject.toml, line 2"


def test_a_pyproject_without_our_table_is_passed_by_even_if_it_is_broken(tmp_path: Path) -> None:
    shared('[tool.fuzzmcp]\nclient = "a:b"\n')
    below = tmp_path / "below"
    below.mkdir()
    for text in ('[project]\ndependencies = ["fuzzmcp"]\n', "[tool\nbroken = \n"):
        shared(text, below)
        assert find(below).client == "a:b"


def test_fuzzmcp_toml_goes_before_pyproject_toml_in_the_same_folder_and_says_so() -> None:
    file = shared('[tool.fuzzmcp]\nclient = "a:b"\n')
    assert find().shadowed is None
    own('client = "c:d"\n')
    assert (find().client, find().shadowed) == ("c:d", file.absolute())
    shared("[project]\nname = 'fuzzmcp'\n")
    assert find().shadowed is None


def test_every_key_is_read_and_knows_where_it_stands(tmp_path: Path) -> None:
    own(FULL)
    config = find()
    values = {name: getattr(config, name) for name in KEYS}
    assert values == {
        "client": "clients/mine.py:connect",
        "tools": "tools.json",
        "calls": ('get_order(order_id="A1")',),
        "protocol": "2025-06-18",
        "transport": "stdio",
        "backend": "trio",
        "checks": ("spend_cap", "survives"),
        "skip": ("backoff",),
        "time": 300.0,
        "runs": 300,
        "seed": 7,
        "regressions": "kept",
        "save": "found",
        "database": "redis://localhost",
        "baseline": "kept",
        "max_findings": 3,
        "canary": False,
        "quiet": False,
    }
    assert Contract(**config.contract) == Contract(
        60.0, 3, ("ToolFailed",), 2.0, 100, 1.5, True, True, {"refund_order": 1}, ("Error: ",), True
    )
    lines = FULL.split("\n")
    for key, origin in config.origins.items():
        name = "accept" if key == "contract.accepts" else key.rpartition(".")[2]
        assert origin.line is not None
        assert lines[origin.line - 1].startswith(f"{name} ")
    assert set(config.origins) == {*KEYS, *(f"contract.{field.name}" for field in dataclasses.fields(Contract))}
    assert (config.path("save"), config.path("baseline")) == (tmp_path / "found", tmp_path / "kept")


def test_the_contract_has_a_key_for_every_field() -> None:
    fields = {field.name for field in dataclasses.fields(Contract)}
    assert set(CONTRACT) == fields | {"accept"}


def test_only_what_is_a_path_is_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    for text, spelled in (
        ('client = "pkg.mod:connect"', "pkg.mod:connect"),
        ('client = "mod.py:Class.connect"', "../mod.py:Class.connect"),
        ('client = "/abs/mod.py:connect"', "/abs/mod.py:connect"),
        ('tools = "pkg.mod:server"', "pkg.mod:server"),
        ('tools = "mod.py:server"', "../mod.py:server"),
        ('database = "redis://localhost/0"', "redis://localhost/0"),
        ('database = "examples"', "../examples"),
        ('database = "none"', "none"),
    ):
        own(text, tmp_path)
        assert find().spelled(text.partition(" ")[0]) == spelled


def test_it_is_light_enough_for_every_pytest_run() -> None:
    code = (
        "import sys; from fuzzmcp.core.config import find; find(); "
        "print({'hypothesis', 'mcp', 'rich', 'anyio', 'jsonschema', 'click', 'asyncio'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nclint = 'a:b'", "fuzzmcp.toml, line 2: clint: unknown key; did you mean 'client'?"),
        ("zzz = 1", "fuzzmcp.toml, line 1: zzz: unknown key: one of client, tools,"),
        ("deadline = 3", "fuzzmcp.toml, line 1: deadline: unknown key; it belongs under [contract]"),
        ("[tool.fuzzmcp]\nclient = 'a:b'", "unknown key; in fuzzmcp.toml the keys stand at the top, without [tool."),
        ("[contract]\n\ndedline = 3", "line 3: contract.dedline: unknown key; did you mean 'deadline'?"),
        ("client = 3", "line 1: client: expected a text, found 3"),
        ("client = ' '", "line 1: client: expected a text, found ' '"),
        ("checks = 'spend_cap'", "checks: expected a list of texts, found 'spend_cap'"),
        ("calls = ['a()', 1]", "line 1: calls[1]: expected a text, found 1"),
        ("client = {a = 1}", "line 1: client: expected a text, found {…}"),
        ("protocol = '2025-11-26'", "protocol: unknown protocol version '2025-11-26'; did you mean '2025-11-25'?"),
        ("protocol = ['2025-11-25']", "protocol: expected one of 2024-11-05, 2025-03-26,"),
        ("backend = 'tri'", "backend: unknown backend 'tri'; did you mean 'trio'?"),
        ("runs = 0", "runs: expected a whole number above 0, found 0"),
        ("runs = true", "runs: expected a whole number above 0, found true"),
        ("runs = 1.5", "runs: expected a whole number above 0, found 1.5"),
        ("seed = -1", 'seed: expected a whole number from 0 up, or "commit", found -1'),
        ("quiet = 1", "quiet: expected true or false, found 1"),
        ("time = '5x'", "time: expected a time such as 30s, 5m or 1h, found '5x'"),
        ("time = nan", 'time: expected seconds above 0, or a time such as "30s" or "5m", found nan'),
        ("time = inf", "time: expected seconds above 0"),
        ("time = true", "time: expected seconds above 0"),
        ("contract = 3", "line 1: contract: expected a table, found 3"),
        ("contract = {deadline = 0}", "line 1: contract.deadline: expected seconds above 0"),
        (
            "[contract]\naccept = ['httpx.TimeoutException']",
            "line 2: contract.accept: expected bare names of exception",
        ),
        ("[contract]\naccept = ['A']\naccepts = ['B']", "line 3: contract.accepts: given twice, as accept and as"),
        ("client = \nruns = 1", "fuzzmcp.toml, line 1: not TOML: Invalid value at column 10"),
        ("x = " + "[" * 5_000, "fuzzmcp.toml: not TOML: nested too deeply"),
        ("runs = 1\n\n[[contract]]\n", "line 3: contract: expected a table, found [{}]"),
        ("client = 'a\\u0000b'\n", "expected a text"),
    ],
)
def test_a_mistake_is_one_line_that_names_file_line_and_key(text: str, message: str) -> None:
    text = text.replace("\\u0000", '"').replace("'a\"b'", '"a\\u0000b"')
    found = refused(text)
    assert found.startswith("fuzzmcp.toml")
    assert message in found
    assert "\n" not in found


def test_in_pyproject_toml_the_whole_key_is_named() -> None:
    shared('[project]\nname = "x"\n\n[tool.fuzzmcp.contract]\nmax_requests = "3"\n')
    with pytest.raises(ConfigError) as caught:
        find()
    expected = "pyproject.toml, line 5: tool.fuzzmcp.contract.max_requests: expected a whole number above 0, found '3'"
    assert str(caught.value) == expected
    shared("[tool]\nfuzzmcp = 3\n")
    with pytest.raises(ConfigError, match=r"^pyproject\.toml, line 2: tool\.fuzzmcp: expected a table, found 3$"):
        find()
    shared("[project]\nfuzzmcp = \n")
    with pytest.raises(ConfigError, match=r"^pyproject\.toml, line 2: not TOML: "):
        find()


def test_bytes_that_are_no_utf_8_are_named_with_their_line() -> None:
    Path("fuzzmcp.toml").write_bytes(b'client = "a:b"\nsave = "\xff"\n')
    with pytest.raises(ConfigError, match=r"^fuzzmcp\.toml, line 2: not UTF-8: byte 0xff$"):
        find()


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    own("client = 'a:b'")

    def denied(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(ConfigError, match=r"^fuzzmcp\.toml: cannot be read: Permission denied$"):
        find()


def outcome(function: Callable[[], Any]) -> Any:
    """What it returns, or the ValueError that it raises."""
    try:
        return function()
    except ValueError as error:
        return error


# -- properties --------------------------------------------------------------------------------------------------------

NAMES = st.one_of(st.sampled_from([*KEYS, *CONTRACT, "contract", "tool"]), st.text(max_size=6))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.text(max_size=8), st.integers(-(2**40), 2**40), st.floats(), st.booleans(), st.dates()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, VALUES, max_size=4))
@example({"contract": {"": 1}})
@example({"": {"\n": []}})
def test_any_table_is_a_configuration_or_one_line_about_one_of_its_keys(table: dict[str, Any]) -> None:
    own(tomlkit.dumps(table))
    found = outcome(find)
    if isinstance(found, ConfigError):
        assert str(found).startswith("fuzzmcp.toml")
        assert len(str(found).splitlines()) == 1
    else:
        assert set(table) <= {*KEYS, "contract"}
        Contract(**found.contract)


@given(st.binary(max_size=40) | st.text("[]=\"'.\n# a1é", max_size=30).map(str.encode))
def test_any_bytes_are_toml_or_an_error(data: bytes) -> None:
    found = outcome(lambda: parsed(data))
    if isinstance(found, TomlError):
        assert found.line is None or 1 <= found.line <= data.count(b"\n") + 1
    else:
        assert (type(found[0]), found[1].encode()) == (dict, data)


@given(
    st.dictionaries(
        st.text("ab-.' =[", min_size=1, max_size=4).filter(lambda name: '"' not in name),
        st.dictionaries(st.text("ab. #", min_size=1, max_size=3), st.integers(0, 9) | st.text("=[a", max_size=4)),
        max_size=3,
    )
)
def test_the_line_of_a_key_is_the_line_that_writes_it(table: dict[str, dict[str, Any]]) -> None:
    counter = iter(range(1_000, 9_999))
    numbered = {name: {key: next(counter) for key in inner} for name, inner in table.items()}
    text = tomlkit.dumps(numbered)
    lines = text.split("\n")
    for name, inner in numbered.items():
        for key, number in inner.items():
            line = line_of(text, (name, key))
            assert line is not None
            assert lines[line - 1].endswith(f"= {number}")


@pytest.mark.parametrize("name", ['a"b', "a\\b", "\x1f", "\n", "é.\t", "'"])
def test_a_key_that_is_written_with_escapes_has_its_line(name: str) -> None:
    text = tomlkit.dumps({"one": 1, name: 2, "table": {name: {"three": 3}}})
    lines = text.split("\n")
    assert [lines[(line_of(text, way) or 0) - 1][-1] for way in ((name,), ("table", name, "three"))] == ["2", "3"]
    assert line_of('note = """\n"\\q" = 1\n"""\nruns = 1', ("runs",)) == 4


def test_a_line_inside_a_long_text_is_no_key() -> None:
    text = 'note = """\nruns = 1\n"""\nruns = 2\ninline = {a = 1}\ndotted.b = 2\n'
    assert line_of(text, ("runs",)) == 4
    assert line_of(text, ("inline", "a")) == 5
    assert line_of(text, ("dotted", "b")) == 6
    assert line_of(text, ("nothing",)) is None


@given(st.floats(0.001, 1e8).map(lambda number: round(number, 3)))
def test_seconds_are_read_in_every_unit(number: float) -> None:
    text = f"{number:f}".rstrip("0").rstrip(".")
    for unit, factor in (("", 1), ("s", 1), ("ms", 0.001)):
        assert math.isclose(seconds_of(text + unit), number * factor)


@given(st.text("0123456789.smhin -e", max_size=8))
def test_any_text_is_a_time_or_an_error_that_shows_it(text: str) -> None:
    found = outcome(lambda: seconds_of(text))
    assert f"found '{text}'" in str(found) if isinstance(found, ValueError) else 0 < found <= 1e9
