"""Driving one version: with a fake environment, and once with this one, whose search is in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from commands import invoke
from installing import Done

from fuzzmcp import Contract, case_of
from fuzzmcp.report.build import report_of
from fuzzmcp.report.model import Subject
from fuzzmcp.search.result import Exposure, Result
from history import again
from history.driving import drive, run
from history.pairs import BY_NAME, Pair
from history.results import Half
from history.samples import PAIR

VIOLATED = Done(1, "violated: finishes · 0 checks held · 0 not exercised\n")
HELD = Done(0, "nothing violated · 1 check held · 0 not exercised\n")


class Environment:
    """Answers the commands as a version would in which the searches see the check violated, or not."""

    def __init__(self, replay: Done, *, violated: bool, broken: int = 0) -> None:
        self.replay, self.violated, self.broken = replay, violated, broken
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> Done:
        self.commands.append(list(command))
        if "replay" in command:
            return self.replay
        if "run" not in command:
            return Done(0, json.dumps(["shop 1.0"]))
        if self.broken == self.seed_of(command):
            return Done(3, "fuzzmcp: the client fails before the first call\n  and more\n")
        result = Result(runs=400, seconds=7.26)
        if self.violated:
            result.exposed = {"finishes": Exposure(9, 21, 0.5)}
        report = report_of(Subject("shop.py:connect"), self.seed_of(command), result, Contract(), case_of())
        Path(command[-1].removeprefix("json=")).write_text(report.dumps())
        return Done(int(self.violated))

    @staticmethod
    def seed_of(command: Sequence[str]) -> int:
        return int(command[list(command).index("--seed") + 1])


def test_both_versions_are_asked_the_same() -> None:
    affected, fixed = Environment(VIOLATED, violated=True), Environment(HELD, violated=False)
    halves = [drive(PAIR, Path("python"), [1, 2], environment) for environment in (affected, fixed)]
    assert [half.replayed for half in halves] == ["violated", "held"]
    assert [[search.exposed for search in half.searches] for half in halves] == [[21, 21], [None, None]]
    assert halves[0].installed == ("shop 1.0",)

    def asked(environment: Environment) -> list[list[str]]:
        return [[word for word in command if not word.startswith("json=")] for command in environment.commands]

    assert asked(affected) == asked(fixed)
    replay, search = affected.commands[0], affected.commands[1]
    assert replay[replay.index("hang") :] == ["hang", "--call", "a()", "--check", "finishes"]
    assert search[search.index("--check") : -1] == [
        "--check", "finishes", "--runs", str(PAIR.runs), "--seed", "1", "--no-save", "--report",
    ]  # fmt: skip


def test_another_protocol_is_said_every_time() -> None:
    environment = Environment(HELD, violated=False)
    drive(replace(PAIR, protocol="2024-11-05"), Path("python"), [1], environment)
    assert ["--protocol" in command for command in environment.commands] == [True, True, False]


@pytest.mark.parametrize(
    ("replay", "failure"),
    [
        (
            Done(3, "fuzzmcp: cannot import it\n\nthe client's own traceback:\n"),
            "fuzzmcp: cannot import it (exit code 3)",
        ),
        (Done(0, "nothing violated · 0 checks held · 1 not exercised"), None),
        (Done(0, ""), "it said nothing (exit code 0)"),
    ],
)
def test_a_replay_that_says_nothing_is_a_failure(replay: Done, failure: str | None) -> None:
    assert drive(PAIR, Path("python"), [], Environment(replay, violated=False)).failure == failure


def test_a_search_that_breaks_keeps_those_before_it() -> None:
    half = drive(PAIR, Path("python"), [1, 2, 3], Environment(VIOLATED, violated=True, broken=2))
    assert half.failure == "seed 2: fuzzmcp: the client fails before the first call (exit code 3)"
    assert [search.seed for search in half.searches] == [1]


def searched_here(command: Sequence[str]) -> Done:
    """Runs a command as `drive` does by itself, but a search in this process."""
    if list(command[1:4]) != ["-m", "fuzzmcp", "run"]:
        return run(command)
    result = invoke(*command[3:])
    return Done(result.exit_code, result.output)


def test_a_pair_is_really_driven_and_its_finding_is_its_smallest_case() -> None:
    pair = replace(BY_NAME["mcp-close-unnoticed"], client="session:connect", check="valid_accepted", runs=30)
    pair = replace(pair, script="list:rpc(-32603)")
    half = drive(pair, Path(sys.executable), [1], searched_here)
    assert half.failure is None
    assert half.replayed == "violated"
    assert half.found(pair) == 1
    assert half.installed[0].startswith("mcp ")


def test_an_unknown_pair_is_refused_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        again.main(["--pairs", "mcp-log-freeze"])
    assert "no such pair: 'mcp-log-freeze'; did you mean 'mcp-log-freezes'?" in capsys.readouterr().err


def test_what_cannot_be_installed_and_what_falls_over_are_halves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def falls(pair: Pair, *_: object) -> Half:
        raise OSError(pair.name)

    monkeypatch.setattr(again, "drive", falls)
    ready = again.Ready(Path("python"))
    going = Event()
    assert again._half(PAIR, ready, [1], going).failure == "OSError: shop-hangs"
    assert again._half(PAIR, replace(ready, failure="not installed"), [1], going).failure == "not installed"
    going.set()
    assert again._half(PAIR, ready, [1], going).failure == "interrupted"
