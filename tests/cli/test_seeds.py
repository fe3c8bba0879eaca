"""Seeds: numbers and commits."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.cli.seeds import current_commit, seed_of

hashes = st.text("0123456789abcdef", min_size=7, max_size=40).filter(lambda text: not text.isdigit())


@given(st.integers(0, 2**64 - 1))
def test_a_number_is_itself(number: int) -> None:
    assert seed_of(str(number)) == number


@given(hashes)
def test_the_short_and_the_long_form_of_a_commit_are_one_seed(text: str) -> None:
    if not text[:7].isdigit():
        assert seed_of(text) == seed_of(text[:7]) == seed_of(text.upper())


@pytest.mark.parametrize("text", ["", "HEAD", "c0ffee", "-1", "1.5", "٣", "main"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a whole number, the hash of a commit, or 'commit'"):
        seed_of(text)


def test_ci_knows_the_commit_and_git_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_commit({"CI_COMMIT_SHA": "c0ffee1"}) == "c0ffee1"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ValueError, match="no commit is checked out here"):
        current_commit({})
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    assert len(current_commit({})) == 40


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ValueError, match="there is no git"):
        current_commit({})
