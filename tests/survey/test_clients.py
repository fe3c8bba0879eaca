"""The command: what runs, what is kept, and what is said at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fuzzmcp.clients._table import Adapter
from survey import clients
from survey.environments import Ready
from survey.results import Result, store, stored
from survey.rows import Row, rows_of
from survey.samples import found, result

ADAPTERS = (
    Adapter("fastmcp", "FastMCP", ("fastmcp>=3",)),
    Adapter("langchain", "LangChain", ("langchain>=1",), sdk="<2"),
    Adapter("agno", "Agno", ("agno>=3",)),
)
ROWS = rows_of(ADAPTERS)
NAMES = [row.name for row in ROWS]


class World:
    """A place to write to, environments that cost nothing, and clients that all lose a result."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.broken: dict[str, str] = {}
        self.ran: list[str] = []

    def ready(self, place: Any, needs: Iterable[str], root: Path) -> Ready:
        return Ready(Path("python"), {need: why for need, why in self.broken.items() if need in tuple(needs)})

    def survey(self, row: Row, python: Path, budget: Any, date: str, processes: Any) -> Result:
        self.ran.append(row.name)
        if row.name in self.broken:
            raise ValueError(self.broken[row.name])
        return result(row, found(), seed=budget.seed, runs=budget.runs)

    @property
    def results(self) -> dict[str, Result]:
        return stored(self.place / "results", NAMES)

    @property
    def page(self) -> str:
        return (self.place / "README.md").read_text("utf-8")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path / "clients")
    made.place.mkdir()
    monkeypatch.setattr(clients, "ROOT", tmp_path)
    monkeypatch.setattr(clients, "PLACE", made.place)
    monkeypatch.setattr(clients, "rows_of", lambda: ROWS)
    monkeypatch.setattr(clients.environments, "ready", made.ready)
    monkeypatch.setattr(clients, "survey", made.survey)
    return made


def test_every_row_is_run_kept_and_shown(world: World) -> None:
    assert clients.main([]) == 0
    assert sorted(world.ran) == sorted(NAMES)
    assert list(world.results) == NAMES
    assert world.page.count("*not looked at*, ") == 0
    assert world.page.count("<br>*not looked at* |") == len(NAMES)


def test_a_part_leaves_the_other_rows_as_they_were(world: World) -> None:
    clients.main(["--runs", "7"])
    world.ran.clear()
    clients.main(["--clients", "agno,fastmcp-mcp1", "--runs", "9", "--seed", "4"])
    assert sorted(world.ran) == ["agno", "fastmcp-mcp1"]
    assert {name: (one.runs, one.seed) for name, one in world.results.items()} == {
        name: (9, 4) if name in world.ran else (7, 1) for name in NAMES
    }
    assert "9 runs, seed 4" in world.page
    assert "7 runs, seed 1" in world.page


def test_what_cannot_be_installed_is_a_row_and_the_others_go_on(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.broken = {"langchain>=1": "no matching distribution (exit code 1)"}
    assert clients.main([]) == 0
    assert world.results["langchain"].failure == "not installed: no matching distribution (exit code 1)"
    assert "langchain" not in world.ran
    assert "could not be run: not installed: no matching distribution" in world.page
    assert "langchain>=1 could not be installed" in capsys.readouterr().err


def test_a_mishap_with_one_client_stops_no_other(world: World) -> None:
    world.broken = {"agno": "a report that nobody can read"}
    assert clients.main([]) == 0
    assert world.results["agno"].failure == "ValueError: a report that nobody can read"
    assert len(world.results) == len(NAMES)


def test_an_interrupt_keeps_what_is_done(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    keep = clients._keep

    def interrupted(one: Result, seconds: float = 0.0) -> None:
        keep(one, seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr(clients, "_keep", interrupted)
    assert clients.main([]) == clients.INTERRUPTED
    (done,) = world.results
    assert f'<a id="{done}"></a>' in world.page
    assert "Not run yet:" in world.page


def test_progress_says_which_client_and_what_was_found(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    clients.main(["--clients", "agno"])
    said = capsys.readouterr().err
    assert "agno: started\n" in said
    assert "agno: 0 s, 1 finding: valid_accepted\n" in said
    assert "not looked at: agno: valid_accepted: list:hang: it was lost\n" in said


VERDICT = """
[[verdict]]
clients = ["agno"]
check = "CHECK"
verdict = "true"
why = "It lists first."
where = "agno.py"
"""


def test_a_page_after_a_verdict_runs_nothing_and_saves_the_case(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    row = next(row for row in ROWS if row.name == "agno")
    store(world.place / "results", result(row, found()))
    (world.place / "verdicts.toml").write_text(VERDICT.replace("CHECK", "valid_accepted"))
    assert clients.main(["--page"]) == 0
    assert world.ran == []
    assert "It lists first. (agno.py)" in world.page
    assert (world.place / "cases" / "agno" / "valid_accepted-ab12.toml").exists()
    said = capsys.readouterr().err
    assert "saved clients/cases/agno/valid_accepted-ab12.toml\n" in said
    assert "not looked at" not in said


def test_a_verdict_on_nothing_is_told(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    (world.place / "verdicts.toml").write_text(VERDICT.replace("CHECK", "cancels"))
    clients.main(["--page"])
    assert "a verdict is said of nothing: agno: cancels: It lists first.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "verdicts", "message"),
    [
        (["--clients", "angno"], "", "unknown client 'angno'; did you mean 'agno'?"),
        ([], "verdict = 1", "expected [[verdict]] tables"),
    ],
)
def test_bad_words_are_told_before_anything_is_run(
    world: World, capsys: pytest.CaptureFixture[str], arguments: list[str], verdicts: str, message: str
) -> None:
    (world.place / "verdicts.toml").write_text(verdicts)
    with pytest.raises(SystemExit):
        clients.main(arguments)
    assert message in capsys.readouterr().err
    assert world.ran == []
