"""Case files: what is written is read back, and nothing that a file says can do harm."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzmcp.api import case_of
from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import Call
from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.search.corpus import CaseFileError, SavedCase, parse, read, save, text_of
from fuzzmcp.search.corpus.writing import updated
from fuzzmcp.strategies import cases

GOOD = """\
# found on a Monday
version = 1
check = "spend_cap"   # the one that matters
faults = "429cap,ok"
calls = [
    { tool = "get_order", arguments = { order_id = "A1" } },  # the first call
]
note = "sent again"
"""
ECHO = [{"name": "echo", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "default": None}}]
notes = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(cases(crm()), st.sampled_from(list(CHECKS)), notes)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60, deadline=None)
def test_what_is_written_is_read_back(case: Any, check: str, note: str) -> None:
    saved = SavedCase(check, case, note)
    assert parse(text_of(saved)) == saved


@pytest.mark.parametrize(
    "arguments",
    [{}, {"a": None}, {"a": [None, {"b": None}]}, {"": "", "ключ": "\u0000\x7f\n\t\\\"'"}, {"n": 2**70, "f": 1e300}],
)
def test_arguments_of_every_kind_are_read_back(arguments: dict[str, Any]) -> None:
    case = case_of("429", calls=[Call("get_order", arguments), Call("get_order", {"order_id": "A2"}, at=0.5)])
    saved = SavedCase("spend_cap", case)
    assert parse(text_of(saved)) == saved


def test_an_agents_calls_are_not_saved() -> None:
    assert "calls" not in text_of(SavedCase("spend_cap", case_of("429cap"), role="agent"))


def test_a_catalogue_of_ones_own_stands_in_a_file_beside_the_case(tmp_path: Path) -> None:
    case = case_of("429cap", tools=ECHO)
    path, new = save(tmp_path, "spend_cap-3f2a", SavedCase("spend_cap", case, "seen"))
    again = read(path)
    assert (new, again.case, again.note, again.name) == (True, case, "seen", "spend_cap-3f2a")
    assert again.tools_file is not None
    assert json.loads((tmp_path / again.tools_file).read_text())["tools"] == ECHO


def test_tools_may_stand_in_the_file_as_tables() -> None:
    text = GOOD.replace("get_order", "echo") + '\n[[tool]]\nname = "echo"\ninputSchema = { type = "object" }\n'
    assert [tool.name for tool in parse(text).case.tools] == ["echo"]
    assert parse(text_of(parse(text))) == parse(text)


def test_a_list_change_comes_with_its_second_catalogue() -> None:
    saved = parse('check = "relists"\nfaults = "ok+list_changed"')
    assert saved.case == case_of("ok+list_changed")


def test_comments_and_order_survive_a_change() -> None:
    saved = parse(GOOD)
    smaller = replace(saved, case=case_of("429cap", calls=['get_order(order_id="A1")']), note="sent again at once")
    assert updated(GOOD, smaller) == (
        GOOD.replace("429cap,ok", "429cap").replace("sent again", "sent again at once")
        + 'protocol = "2025-11-25"\ntransport = "memory"\n'
    )


@given(cases(crm()), cases(crm()))
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=30, deadline=None)
def test_a_change_says_what_it_should(before: Any, after: Any) -> None:
    text = "# mine\n" + text_of(SavedCase("spend_cap", before, "one"))
    changed = updated(text, SavedCase("survives", after, "two"))
    assert parse(changed) == SavedCase("survives", after, "two")
    assert changed.startswith("# mine\n")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'check = "spend_cap"',
            'check = "spendcap"',
            "line 3: check: unknown check 'spendcap'; did you mean 'spend_cap'?",
        ),
        ('check = "spend_cap"', "", "case: check: expected one of "),
        ('faults = "429cap,ok"', "", "case: faults: expected a text, found nothing"),
        ('faults = "429cap,ok"', 'faults = "429kap"', "line 4: faults: "),
        ('faults = "429cap,ok"', "faults = 429", "line 4: faults: expected a text, found 429"),
        ('note = "sent again"', 'nots = "x"', "line 8: nots: unknown key; did you mean 'note'?"),
        ('note = "sent again"', 'command = "rm -rf /"', "line 8: command: unknown key: one of version, check"),
        ('note = "sent again"', 'client = "os:system"', "line 8: client: unknown key"),
        ('note = "sent again"', "note = 2026-01-01", "line 8: note: expected a text"),
        ('note = "sent again"', 'note = "sent', "line 8: not TOML: "),
        ('note = "sent again"', "schedule = -1", "line 8: schedule: expected a whole number"),
        ('note = "sent again"', "schedule = true", "line 8: schedule: expected a whole number"),
        ('note = "sent again"', f"schedule = {10**30}", "line 8: schedule: expected a whole number"),
        ('note = "sent again"', f"schedule = {'9' * 5000}", "not TOML: "),
        ('note = "sent again"', f"schedule = 0x{'f' * 5000}", "line 8: schedule: expected a whole number"),
        (
            'note = "sent again"',
            'note = "' + "x" * 10_001 + '"',
            "note: expected at most 10,000 characters, found 10,001",
        ),
        ('note = "sent again"', '"a\\u001b[2J\\n" = 1', 'case: line 8: "a\\x1b[2J\\n": unknown key'),
        (
            'note = "sent again"',
            'backend = "twisted"',
            "line 8: backend: unknown backend 'twisted'; one of asyncio, trio",
        ),
        (
            'note = "sent again"',
            'protocol = "2025-11-26"',
            "line 8: protocol: unknown protocol version '2025-11-26'; did you mean '2025",
        ),
        (
            'note = "sent again"',
            'transport = ["memory"]',
            "line 8: transport: expected one of memory, stdio, found ['memory']",
        ),
        ('note = "sent again"', "outputs = 3", "line 8: outputs: expected a table, found 3"),
        (
            'note = "sent again"',
            "outputs = {get_order = 3}",
            "line 8: outputs.get_order: expected a table or JSON text",
        ),
        ('note = "sent again"', 'tools = "/etc/passwd"', "line 8: tools: '/etc/passwd' leads out of the tree"),
        ("version = 1", "version = 2", "line 2: version: expected at most 1, found 2: a newer fuzzmcp wrote this"),
        ("version = 1", "version = true", "line 2: version: expected a whole number from 1, found true"),
        ('{ order_id = "A1" }', "3", "line 5: calls[0].arguments: expected a table or JSON text of an object"),
        ('{ order_id = "A1" }', "'[1]'", "line 5: calls[0].arguments: expected a table or JSON text of an object"),
        ('{ order_id = "A1" }', "'{'", "line 5: calls[0].arguments: not JSON: "),
        ('{ order_id = "A1" }', "{ a = nan }", "line 5: calls[0].arguments.a: nan is not JSON"),
        ('{ order_id = "A1" }', f"{{ a = 0x{'f' * 5000} }}", "line 5: calls[0].arguments.a: a number of thousands of"),
        (
            '{ order_id = "A1" }',
            """'{"a": "\\ud800"}'""",
            "calls[0].arguments.a: '\\ud800' is not JSON: half of a character",
        ),
        ('{ order_id = "A1" }', """'{"\\ud800": 1}'""", "'\\ud800' is not JSON: half of a character"),
        ('{ order_id = "A1" }', "{ a = [1, inf] }", "line 5: calls[0].arguments.a[1]: inf is not JSON"),
        (
            '{ order_id = "A1" }',
            "{ a = 2026-01-01 }",
            "line 5: calls[0].arguments.a: 2026-01-01 is not JSON; write it in q",
        ),
        ('{ order_id = "A1" }', "{}, at = -1", "line 5: calls[0].at: expected virtual seconds from 0 to 1e9, found -1"),
        ('{ order_id = "A1" }', "{}, at = nan", "line 5: calls[0].at: expected virtual seconds"),
        ('{ order_id = "A1" }', '{}, att = "x"', "line 5: calls[0].att: unknown key; did you mean 'at'?"),
        (
            'tool = "get_order"',
            'tool = "get_ordr"',
            "line 5: calls: unknown tool 'get_ordr'; did you mean 'get_order'?",
        ),
        ('tool = "get_order", ', "", "line 5: calls[0].tool: expected a text, found nothing"),
    ],
)
def test_a_bad_file_is_refused_by_line_and_key(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(CaseFileError) as refused:
        parse(GOOD.replace(old, new), "case", folder=Path())
    assert message in str(refused.value)
    assert str(refused.value).startswith("case: ")
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    "value",
    ["{ a = " * 80 + "1" + " }" * 80, "'" + '{"a":' * 100 + "1" + "}" * 100 + "'", "[" * 5000 + "]" * 5000],
)
def test_deep_nesting_is_refused(value: str) -> None:
    with pytest.raises(CaseFileError, match="nested"):
        parse(GOOD.replace('{ order_id = "A1" }', value))


@given(st.text() | st.text('[]{}="\n.#1a', max_size=60))
def test_any_text_is_a_case_or_a_case_file_error(text: str) -> None:
    with pytest.raises(CaseFileError):
        parse(text)


@given(
    st.dictionaries(
        st.sampled_from(["calls", "outputs", "note", "schedule", "tool", "tools", "backend"]),
        st.recursive(
            st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.sampled_from(["tool", "arguments", "at", "name"]), inner)
            ),
            max_leaves=6,
        ),
    )
)
def test_any_values_are_a_case_or_a_case_file_error(data: dict[str, Any]) -> None:
    import tomlkit

    text = tomlkit.dumps({"check": "spend_cap", "faults": "429cap", **data})
    try:
        said = parse(text).check
    except CaseFileError as error:
        said = str(error)
    assert said == "spend_cap" or said.startswith("case: ")


def test_bytes_that_are_no_text_are_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b'check = "spend_cap"\nnote = "\xff"')
    with pytest.raises(CaseFileError, match=r"bad\.toml: line 2: not UTF-8: byte 0xff"):
        read(path)


def test_an_enormous_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.toml"
    path.write_text("#" * 1_000_001)
    with pytest.raises(CaseFileError, match="too large for a case file"):
        read(path)


@pytest.mark.parametrize("name", ["", "gone.toml", "\x00"])
def test_a_file_that_cannot_be_read_is_an_error_of_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(CaseFileError, match="cannot be read"):
        read(tmp_path / name)


@pytest.mark.parametrize("way", ["../tools.json", "link.json", "sub/../../tools.json"])
def test_a_path_out_of_the_tree_is_refused(tmp_path: Path, way: str) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(ECHO))
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.json").symlink_to(tmp_path / "tools.json")
    path = folder / "case.toml"
    path.write_text(f'check = "spend_cap"\nfaults = "429cap"\ntools = "{way}"\n')
    with pytest.raises(CaseFileError, match=r"case\.toml: line 3: tools: '.*' leads out of the tree"):
        read(path, root=folder)
    assert read(path, root=tmp_path).case.tools[0].name == "echo"


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "tools: tools.json: not JSON"), ("[]", "no catalogue"), ("\udcff", "not UTF-8"), (None, "there is no file")],
)
def test_a_catalogue_that_cannot_be_used_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "tools.json").write_bytes(content.encode(errors="surrogateescape"))
    path = tmp_path / "case.toml"
    path.write_text('check = "spend_cap"\nfaults = "429cap"\ntools = "tools.json"\n')
    with pytest.raises(CaseFileError, match=message) as refused:
        read(path)
    assert "line 3" in str(refused.value)
