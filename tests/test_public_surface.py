"""What users write down stays as it is, however the code behind it is built: see `surface.py` and `surface.txt`."""

from __future__ import annotations

import pytest
from surface import SECTIONS, SNAPSHOT, class_facts, facts_of, function_facts, keys_of, saved, text_of

ANEW = "python tests/surface.py"


def complaint(section: str, before: list[str], now: list[str]) -> str:
    """What to say of a section that changed; empty when it did not."""
    gone = [f"  - {fact}" for fact in before if fact not in now]
    added = [f"  + {fact}" for fact in now if fact not in before]
    if gone:
        head = f"{section}: users rely on what is gone or has changed (-). Bring it back, under its name and default."
        hint = f"Only where nobody can have used it: say so in the changelog, and write the file anew with '{ANEW}':"
        return "\n".join([head, hint, *gone, *added])
    if added:
        head = f"{section}: an addition is fine, once it is meant. If it is, write it down with '{ANEW}'"
        return "\n".join([f"{head} and commit {SNAPSHOT.name}:", *added])
    return ""


@pytest.mark.parametrize("section", SECTIONS)
def test_what_users_rely_on_is_all_there_and_every_addition_is_meant(section: str) -> None:
    wrong = complaint(section, saved().get(section, []), facts_of(section))
    if wrong:
        pytest.fail(wrong, pytrace=False)


def test_the_file_has_every_section_and_reads_as_it_was_written() -> None:
    assert list(saved()) == list(SECTIONS)
    assert text_of(saved()) == SNAPSHOT.read_text("utf-8")
    assert all(saved().values())


def function(one, /, two=1, *rest, three=(None,), **more): ...


def other_default(one, /, two=2, *rest, three=(None,), **more): ...


def parameter_in_between(one, new=None, two=1, *rest, three=(None,), **more): ...


def one_more_keyword(one, /, two=1, *rest, three=(None,), four=False, **more): ...


def test_a_changed_default_and_a_parameter_in_between_are_changes_and_a_new_keyword_is_an_addition() -> None:
    before = list(function_facts("f", function))
    assert before == [
        "f()",
        "f(0, nameless: one)",
        "f(1: two = 1)",
        "f(*rest)",
        "f(keyword: three = [None])",
        "f(**more)",
    ]
    for changed in (other_default, parameter_in_between):
        assert "is gone or has changed" in complaint("here", before, list(function_facts("f", changed)))
    added = complaint("here", before, list(function_facts("f", one_more_keyword)))
    assert "an addition is fine" in added
    assert ANEW in added
    assert added.endswith(":\n  + f(keyword: four = False)")


def test_attributes_of_foreign_bases_are_not_held() -> None:
    assert list(class_facts("E", type("E", (KeyError,), {"__module__": "fuzzmcp.x", "late": 1, "_own": 2}))) == [
        "E: class",
        "E: subclass of KeyError",
        "E: subclass of LookupError",
        "E: subclass of Exception",
        "E.late",
    ]


def test_a_key_is_held_with_its_type_and_names_among_the_keys_are_not() -> None:
    report = {"checks": {"finishes": {"held": 1}}, "findings": [{"id": None}, {"id": "a"}]}
    assert list(keys_of(report)) == ["checks.*.held: number", "findings[].id: null", "findings[].id: text"]
