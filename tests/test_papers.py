"""What ARCHITECTURE.md and CONTRIBUTING.md name is there: a file that moves takes its mention along."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import ROOT

PAPERS = ("ARCHITECTURE.md", ".github/CONTRIBUTING.md")
FOLDERS = ("", "fuzzmcp", "fuzzmcp/harness", "fuzzmcp/harness/server", "fuzzmcp/harness/transports", "fuzzmcp/cli")
"""Where a short path may begin."""
MADE_UP = re.compile(r"NAME|\*|…")


def paths(text: str) -> list[str]:
    """The files and folders that stand between backticks; a test may name a function behind `::`."""
    named = (
        word.partition("::")[0] for word in re.findall(r"`([\w./-]+\.(?:py|toml|txt|md)|[\w./-]+/)(?:::\w+)?`", text)
    )
    return sorted({word for word in named if not MADE_UP.search(word)})


@pytest.mark.parametrize("paper", PAPERS)
def test_every_file_that_a_paper_names_exists(paper: str) -> None:
    named = paths((ROOT / paper).read_text("utf-8"))
    assert len(named) > 20
    missing = [path for path in named if not any(Path(ROOT, folder, path).exists() for folder in FOLDERS)]
    assert missing in ([], ["fuzzmcp.toml"])


def test_the_architecture_fits_three_screens() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 150
