"""`replay`, `minimize`, `prune` and `export` with saved cases, as a user works with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import invoke

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call
from fuzzmcp.search.corpus import SavedCase, read, save

NAIVE = "fuzzmcp.examples.naive_agent:connect"
CAREFUL = "fuzzmcp.examples.careful_agent:connect"
pytest_plugins = ["pytester"]
ECHO = [{"name": "echo", "inputSchema": {"type": "object"}}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    save("regressions", "spend_cap-3f2a", SavedCase("spend_cap", case_of("429cap"), "sent again"))
    save("regressions", "never_blocks-1", SavedCase("never_blocks", case_of("429(none)*3"), "blocked"))
    return tmp_path


def test_replaying_the_folder_tells_what_became_of_each_case() -> None:
    seen = invoke("replay", NAIVE, "regressions")
    assert seen.exit_code == 1
    assert "still fails        spend_cap-3f2a  429cap" in seen.output
    assert "get_order was sent again 1.0 s after its spend cap was reached" in seen.output
    assert "fails differently  never_blocks-1  429(none)*3" in seen.output
    assert seen.output.endswith("2 saved cases · fails differently 1 · still fails 1\n")


def test_a_mended_client_has_fixed_them_all() -> None:
    seen = invoke("replay", CAREFUL, "regressions")
    assert (seen.exit_code, seen.output.count("fixed   ")) == (0, 2)


def test_one_case_is_shown_with_its_timeline() -> None:
    seen = invoke("replay", NAIVE, "regressions/spend_cap-3f2a.toml")
    assert seen.exit_code == 1
    assert "◀ the second request" in seen.output
    assert "still fails        spend_cap-3f2a" in seen.output


def test_the_client_may_stand_in_the_configuration() -> None:
    Path("fuzzmcp.toml").write_text(f'client = "{NAIVE}"\n')
    assert invoke("replay", "regressions").exit_code == 1
    assert invoke("replay", "429cap", "--check", "survives").exit_code == 0
    assert invoke("prune").output == "0 of 2 saved cases are fixed\n"


def test_a_bad_file_is_named_before_anything_runs() -> None:
    Path("regressions/bad.toml").write_text('check = "spend_cap"\nfault = "429"\n')
    for command in ("replay", "minimize", "prune", "export"):
        seen = invoke(command, NAIVE, "regressions")
        assert seen.exit_code == 2
        assert seen.output == "fuzzmcp: regressions/bad.toml: line 2: fault: unknown key; did you mean 'faults'?\n"


def test_what_a_saved_case_says_itself_is_no_option() -> None:
    seen = invoke("replay", NAIVE, "regressions", "--call", "get_order()")
    assert (seen.exit_code, "--call: a saved case says that itself" in seen.output) == (2, True)


def test_a_case_that_withholds_a_secret_runs_once_its_call_is_given(folder: Path) -> None:
    call = Call("get_order", {"order_id": "A1", "password": "hunter2"})
    path, _ = save("secrets", "spend_cap-1", SavedCase("spend_cap", case_of("429cap", calls=[call])))
    assert "hunter2" not in path.read_text()
    for command in ("replay", "minimize", "prune", "export"):
        seen = invoke(command, NAIVE, str(path))
        assert seen.exit_code == 2
        assert (
            "calls[0].arguments.password is a secret that is not saved: give it with the call, by --call" in seen.output
        )
    seen = invoke("replay", NAIVE, str(path), "--call", str(call))
    assert (seen.exit_code, "still fails" in seen.output, "hunter2" in seen.output) == (1, True, False)
    (folder / "fuzzmcp.toml").write_text(f"client = '{NAIVE}'\ncalls = ['{call}']\n")
    assert invoke("replay", str(path)).exit_code == 1
    exported = invoke("export", str(path))
    assert (exported.exit_code, "hunter2" in exported.output) == (2, False)
    assert "calls[0].arguments.password is a secret: a test would tell it" in exported.output


def test_a_call_of_the_configuration_that_cannot_be_read_is_told_with_its_place(folder: Path) -> None:
    (folder / "fuzzmcp.toml").write_text(f"client = '{NAIVE}'\ncalls = ['get_order(']\n")
    seen = invoke("replay", "regressions")
    assert (seen.exit_code, seen.output.startswith("fuzzmcp: fuzzmcp.toml, line 2: calls: call 'get_order('")) == (
        2,
        True,
    )


@pytest.mark.parametrize("words", [["nothing.toml"], [NAIVE, "nothing.toml"]])
def test_a_file_that_is_not_there_is_no_script(words: list[str]) -> None:
    Path("fuzzmcp.toml").write_text(f'client = "{NAIVE}"\n')
    seen = invoke("replay", *words)
    assert (seen.exit_code, seen.output) == (2, "fuzzmcp: nothing.toml: there is no such file or folder\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["client.py:connect"], "nothing to replay: expected a SCRIPT, FILE or FOLDER behind 'client.py:connect'"),
        (["my.module:connect"], "nothing to replay: expected a SCRIPT, FILE or FOLDER behind 'my.module:connect'"),
        (["regresions"], "'regresions' is no script, and no file or folder; did you mean 'regressions'?"),
        (["regressions/spend_cap-3f2b.tml"], "no file or folder; did you mean 'regressions/spend_cap-3f2a.toml'?"),
        (["regressions/spend_cap-3f2a.toml::429cap"], "is a test of pytest: its case is 'regressions/spend_cap-3f2a"),
        (["429kap"], "unknown fault '429kap'; did you mean '429cap'?"),
    ],
)
def test_what_is_plainly_no_script_is_not_read_as_one(words: list[str], message: str) -> None:
    Path("fuzzmcp.toml").write_text(f'client = "{NAIVE}"\n')
    seen = invoke("replay", *words)
    assert (seen.exit_code, message in seen.output) == (2, True), seen.output


def test_a_client_that_cannot_run_is_no_failure_of_a_case() -> None:
    Path("broken_client.py").write_text(
        "from contextlib import asynccontextmanager\n\n"
        "@asynccontextmanager\nasync def connect(server):\n    raise OSError('no such host')\n    yield\n"
    )
    seen = invoke("replay", "broken_client.py:connect", "regressions")
    assert (seen.exit_code, "no such host" in seen.output) == (3, True)


def test_minimize_writes_the_smallest_case_and_keeps_comments() -> None:
    path = Path("regressions/spend_cap-3f2a.toml")
    path.write_text("# the one from Monday\n" + path.read_text().replace('"429cap"', '"ok+ping,429cap@2,504"'))
    path.write_text(
        path.read_text().replace("calls = [", 'calls = [{tool = "get_order", arguments = {order_id="7"}}, ')
    )
    dry = invoke("minimize", NAIVE, str(path), "--dry-run")
    assert dry.exit_code == 1
    assert "spend_cap-3f2a: ping,429cap@2,504 → 429cap (" in dry.output
    assert "ping" in path.read_text()
    assert invoke("minimize", NAIVE, str(path)).output == dry.output
    saved = read(path)
    assert path.read_text().startswith("# the one from Monday\n")
    assert (str(saved.case.script), len(saved.case.calls)) == ("429cap", 1)
    assert saved.note == "get_order was sent again 1.0 s after its spend cap was reached"
    assert "nothing smaller violates spend_cap" in invoke("minimize", NAIVE, str(path)).output


def test_minimize_leaves_what_does_not_fail() -> None:
    before = Path("regressions/spend_cap-3f2a.toml").read_text()
    seen = invoke("minimize", CAREFUL, "regressions/spend_cap-3f2a.toml")
    assert (seen.exit_code, seen.output) == (
        0,
        "spend_cap-3f2a: spend_cap is not violated: there is nothing to shrink\n",
    )
    assert Path("regressions/spend_cap-3f2a.toml").read_text() == before


def test_prune_removes_what_is_fixed_and_nothing_else() -> None:
    assert "would remove regressions/never_blocks-1.toml" in invoke("prune", CAREFUL, "--dry-run").output
    assert len(list(Path("regressions").iterdir())) == 2
    seen = invoke("prune", CAREFUL, "regressions/never_blocks-1.toml")
    assert seen.output == "removed regressions/never_blocks-1.toml\n1 of 1 saved cases is fixed\n"
    assert [path.name for path in Path("regressions").iterdir()] == ["spend_cap-3f2a.toml"]


def test_exported_tests_are_red_while_the_bug_lives_and_green_once_it_is_fixed(
    folder: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    calls = [Call("get_order", {"order_id": "A1", "note": None}), Call("get_order", {"order_id": "A2"}, at=0.0)]
    save("regressions", "survives-2", SavedCase("survives", case_of("429", calls=calls), 'it said "no"'))
    save("regressions", "wire_valid-3", SavedCase("wire_valid", case_of("429", tools=ECHO), "odd"))
    (folder / "tests").mkdir()
    out = "tests/test_fuzz_regressions.py"
    seen = invoke("export", NAIVE, "regressions", "-o", out)
    assert (seen.exit_code, seen.output) == (0, f"fuzzmcp: wrote 4 tests to {out}\n")
    text = Path(out).read_text()
    assert invoke("export", NAIVE, "-o", out).output == f"fuzzmcp: {out} is up to date: 4 tests\n"
    assert _pytest(pytester) == (1, {"test_spend_cap_3f2a"})
    Path(out).write_text(text.replace("naive_agent", "careful_agent"))
    assert _pytest(pytester) == (0, set())


def _pytest(pytester: pytest.Pytester) -> tuple[int, set[str]]:
    """Run the tests of the working directory without any plugin: the exit code, and which failed."""
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", "tests")
    failed = {line.partition("::")[2].partition(" ")[0] for line in done.outlines if line[:6] == "FAILED"}
    return int(done.ret), failed


def test_a_folder_of_saved_cases_that_is_not_there_is_an_error() -> None:
    seen = invoke("prune", NAIVE, "elsewhere")
    assert (seen.exit_code, seen.output) == (2, "fuzzmcp: elsewhere: there is no such file or folder\n")


@pytest.mark.parametrize("command", ["minimize", "prune", "export", "replay"])
def test_each_command_explains_itself(command: str) -> None:
    seen = invoke(command, "--help")
    assert seen.exit_code == 0
    assert "[CLIENT]" in seen.stdout
