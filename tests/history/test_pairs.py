"""The rows: each says all that is needed, and what it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fuzzmcp import Script, case_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.protocol import VERSIONS
from history.again import folder_of
from history.pairs import BY_NAME, PAIRS, Pair

CLIENTS = Path(__file__).with_name("clients")
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)


def test_there_are_at_least_ten_pairs_and_no_name_twice() -> None:
    assert len(PAIRS) >= 10
    assert len(BY_NAME) == len(PAIRS)


@every_pair
def test_a_pair_says_what_the_bug_was_and_where_people_talk_of_it(pair: Pair) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+ (PR|issue) \d+", pair.source)
    assert pair.bug.endswith(".")
    for place in (pair.place, pair.mended):
        assert re.match(r"[\w/]+\.py:\d+, .+[^.]$", place), "file:line, what"


@every_pair
def test_a_pair_names_two_versions_and_pins_no_version_of_the_library_itself(pair: Pair) -> None:
    assert pair.affected != pair.fixed
    assert not any(re.split(r"[^\w.-]", pin)[0] == pair.package for pin in pair.pins)
    assert pair.requirements("1")[0] == f"{pair.package}{pair.extra}==1"


@every_pair
def test_what_a_pair_asks_of_fuzzmcp_exists(pair: Pair) -> None:
    assert pair.check in CHECKS
    assert pair.protocol in VERSIONS
    assert str(Script.parse(pair.script)) == pair.script
    assert tuple(map(str, case_of(pair.script, calls=pair.calls).calls)) == pair.calls
    assert case_of(pair.script, protocol=pair.protocol).inapplicable == ()


@every_pair
def test_the_client_of_a_pair_is_there_and_says_what_it_is(pair: Pair) -> None:
    module, _, attribute = pair.client.partition(":")
    tree = ast.parse((CLIENTS / f"{module}.py").read_text("utf-8"))
    assert ast.get_docstring(tree)
    (found,) = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == attribute]
    assert ast.get_docstring(found)


def test_pairs_that_share_an_environment_agree_on_what_is_in_it() -> None:
    wanted: dict[str, set[tuple[str, ...]]] = {}
    for pair in PAIRS:
        for version in (pair.affected, pair.fixed):
            wanted.setdefault(folder_of(pair, version), set()).add(pair.requirements(version))
    assert {folder: asked for folder, asked in wanted.items() if len(asked) > 1} == {}


def test_no_client_is_left_over() -> None:
    used = {pair.client.partition(":")[0] for pair in PAIRS}
    assert {path.stem for path in CLIENTS.glob("*.py")} == used
