"""The true findings as case files: those of this repository are read, and replayed where their client is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from fuzzmcp.api import contract_of
from fuzzmcp.report.build import case_json
from fuzzmcp.search.corpus import FAILS, FIXED, read, replayed
from fuzzmcp.search.job import Job
from fuzzmcp.strategies import cases
from fuzzmcp.target import load
from survey.cases import case_from, file_of, save_true, versions_of
from survey.clients import PLACE
from survey.driving import package_of
from survey.rows import rows_of
from survey.samples import NEWER, OLDER, ROWS, found, result, verdict
from survey.verdicts import read as verdicts_in
from survey.verdicts import seen

KNOWN = {row.name: row for row in rows_of()}
FILES = sorted((PLACE / "cases").glob("*/*.toml"))
IDS = [f"{file.parent.name}/{file.stem}" for file in FILES]
VERSIONS = re.compile(r"\(((?:[a-z0-9-]+ [0-9][^ ,)]*(?:, )?)+)\)$")


def versions_in(note: str) -> dict[str, str]:
    """The versions that a case was found with, as its note says."""
    match = VERSIONS.search(note)
    assert match, f"no versions in the note: {note}"
    return dict(word.split(" ") for word in match[1].split(", "))


def not_installed(packages: dict[str, str]) -> str:
    """Why a case cannot be replayed here: another major, or nothing at all."""
    for name, noted in packages.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            return f"{name} is not installed"
        if found.split(".")[0] != noted.split(".")[0]:
            return f"{name} {found} is installed, not {noted}"
    return ""


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_case_of_this_repository_can_be_read_and_says_with_which_versions(file: Path) -> None:
    saved = read(file, root=PLACE)
    row = KNOWN[file.parent.name]
    assert file.stem.startswith(f"{saved.check}-")
    assert {"mcp", *map(package_of, row.adapter.requires)} == set(versions_in(saved.note))


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_case_still_fails_with_the_versions_it_was_found_with(file: Path) -> None:
    saved = read(file, root=PLACE)
    packages = versions_in(saved.note)
    why = not_installed(packages)
    if why:
        pytest.skip(why)
    target = load(KNOWN[file.parent.name].adapter.client)
    fate = replayed(saved, Job(target, saved.case, contract_of(target), (saved.check,)))
    same = all(version(name) == noted for name, noted in packages.items())
    assert fate.status == FAILS or (fate.status == FIXED and not same), fate.message


@settings(max_examples=50)
@given(cases())
def test_a_case_survives_its_report(case: Any) -> None:
    assert case_json(case_from(case_json(case))) == case_json(case)


def test_only_what_is_true_is_saved_with_the_versions_in_its_note(tmp_path: Path) -> None:
    lost = found()
    choice = found("cancels", "hang")
    results = {NEWER.name: result(NEWER, lost, choice), OLDER.name: result(OLDER, lost)}
    said = [verdict(clients=(NEWER.name,)), verdict("contract", check="cancels")]
    new = save_true(tmp_path, seen(ROWS, results, said), results)
    assert [path.relative_to(tmp_path).as_posix() for path in new] == [file_of(NEWER.name, lost)]
    saved = read(new[0])
    assert (saved.check, str(saved.case.script)) == ("valid_accepted", "list:hang")
    assert saved.note == "it was lost (fastmcp 4.2.3, mcp 2.3.0)"
    assert versions_in(saved.note) == {"fastmcp": "4.2.3", "mcp": "2.3.0"}


def test_a_case_that_is_saved_already_stays_as_it_is(tmp_path: Path) -> None:
    results = {NEWER.name: result(NEWER, found())}
    all_seen = seen(ROWS, results, [verdict()])
    (path,) = save_true(tmp_path, all_seen, results)
    path.write_text(f"# looked at\n{path.read_text()}")
    assert save_true(tmp_path, all_seen, results) == ()
    assert path.read_text().startswith("# looked at")


def test_the_framework_comes_before_the_sdk() -> None:
    assert versions_of(result(packages={"mcp": "1", "zeta": "2", "fuzzmcp": "3"})) == "zeta 2, mcp 1"


def test_every_true_finding_of_this_repository_has_its_case() -> None:
    from survey.results import stored

    rows = tuple(KNOWN.values())
    results = stored(PLACE / "results", [row.name for row in rows])
    true = [one for one in seen(rows, results, verdicts_in(PLACE / "verdicts.toml")) if one.verdict]
    missing = [file_of(one.row.name, one.found) for one in true if one.verdict and one.verdict.word == "true"]
    assert [name for name in missing if not (PLACE / "cases" / name).exists()] == [], "run `make clients-page`"
