"""Text for a terminal."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

import fuzzmcp
from fuzzmcp.report.escape import counted, duration, harmless, one_line, ordinal, own_frames_cut, path_of


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x9b", "\r", "\n", "\u202e", "\u2028", "\ud800", "\x7f"])
def test_what_a_terminal_would_obey_is_escaped(char: str) -> None:
    shown = harmless(f"a{char}b")
    assert shown.isprintable()
    assert shown.startswith("a\\")
    assert shown.endswith("b")


def test_ordinary_text_of_any_script_stays_as_it_is() -> None:
    assert harmless("Größe 注文 → [bold] \\n") == "Größe 注文 → [bold] \\n"


def test_one_line_folds_white_space_cuts_and_forgets_addresses() -> None:
    assert one_line("a\n\n  b\tc") == "a b c"
    assert one_line("x" * 500, 10) == "x" * 9 + "…"
    assert one_line("<Agent object at 0x7f3a2b1c>") == "<Agent object>"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (7261, "2 h 1 min"), (86_400 * 3 + 3_600, "3 d 1 h")],
)
def test_durations_have_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_numbers_are_said_as_people_say_them() -> None:
    assert [counted(n, "run") for n in (0, 1, 2_000)] == ["0 runs", "1 run", "2,000 runs"]
    assert [ordinal(n) for n in (2, 10, 11, 12, 21, 22, 23, 112)] == [
        "second", "tenth", "11th", "12th", "21st", "22nd", "23rd", "112th",
    ]  # fmt: skip


def test_a_path_below_the_current_folder_is_relative_and_any_other_is_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert path_of(str(tmp_path / "agents" / "mine.py")) == "agents/mine.py"
    assert path_of("/somewhere/else/theirs.py") == "theirs.py"


def test_frames_of_fuzzmcp_are_cut_from_a_traceback_and_the_others_stay() -> None:
    own = str(Path(fuzzmcp.__file__).parent / "harness" / "run.py")
    example = str(Path(fuzzmcp.__file__).parent / "examples" / "naive_agent.py")
    text = (
        "Traceback (most recent call last):\n"
        f'  File "{own}", line 1, in drive\n    x = 1\n        ^\n'
        f'  File "{example}", line 2, in connect\n    raise ValueError\n'
        "ValueError: no\n"
    )
    assert own_frames_cut(text).splitlines() == [
        "Traceback (most recent call last):",
        f'  File "{example}", line 2, in connect',
        "    raise ValueError",
        "ValueError: no",
    ]


def test_a_traceback_without_frames_of_fuzzmcp_is_left_alone() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        text = traceback.format_exc()
    assert own_frames_cut(text) == text.rstrip()
