"""The folder of saved cases."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call
from fuzzmcp.core.toml import parsed
from fuzzmcp.examples import naive_agent
from fuzzmcp.harness.target import target_of
from fuzzmcp.search.corpus import CaseFileError, SavedCase, case_files, prune, read, replayed, rewrite, save
from fuzzmcp.search.job import Job

ECHO = [{"name": "echo", "inputSchema": {"type": "object"}}]
CAP = SavedCase("spend_cap", case_of("429cap"), "sent again")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_saved_case_is_never_overwritten(tmp_path: Path) -> None:
    path, new = save(tmp_path, "spend_cap-3f2a", CAP)
    path.write_text(path.read_text() + "# edited by hand\n")
    again, newer = save(tmp_path, "spend_cap-3f2a", replace(CAP, note="another"))
    assert (path, new, newer) == (again, True, False)
    assert path.read_text().endswith('note = "sent again"\n# edited by hand\n')


def test_a_file_that_appears_while_saving_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def overtaken(source: Path, target: Path) -> None:
        Path(target).write_text("somebody else's")
        link(source, target)

    monkeypatch.setattr(os, "link", overtaken)
    path, new = save(tmp_path, "spend_cap-3f2a", CAP)
    assert (path.read_text(), new, names(tmp_path)) == ("somebody else's", False, [path.name])


def test_saving_works_where_there_are_no_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(source: Path, target: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    path, new = save(tmp_path / "deep" / "folder", "spend_cap-3f2a", CAP)
    assert (new, read(path).case, names(path.parent)) == (True, CAP.case, [path.name])


def test_what_a_killed_process_left_unfinished_is_swept_up(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / f".fuzzmcp-{dead.pid}.tmp").write_text("half a ca")
    (tmp_path / f".fuzzmcp-{os.getppid()}.tmp").write_text("another process at work")
    path, _ = save(tmp_path, "spend_cap-3f2a", CAP)
    assert names(tmp_path) == [f".fuzzmcp-{os.getppid()}.tmp", path.name]


def test_unfinished_files_are_no_case_files(tmp_path: Path) -> None:
    (tmp_path / ".hidden.toml").write_text("half")
    (tmp_path / "folder.toml").mkdir()
    path, _ = save(tmp_path, "b-1", CAP)
    other, _ = save(tmp_path, "a-1", CAP)
    assert case_files([tmp_path]) == [other, path]
    assert case_files([path, tmp_path]) == [path, other]


def test_a_place_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match="there is no such file or folder"):
        case_files([tmp_path / "gone"])


PAY = [
    {
        "name": "pay",
        "inputSchema": {
            "type": "object",
            "properties": {
                "idempotency_key": {"type": "string", "pattern": "^pay-[0-9]{4}$", "examples": ["pay-0001"]},
                "sort_key": {"enum": ["asc", "desc"]},
                "partition_key": {"type": "string", "maxLength": 5, "examples": ["p-1"]},
                "auth_method": {"enum": ["card", "cash"]},
                "token": {"type": "string", "pattern": "^t-[0-9]$", "examples": ["t-1"]},
            },
            "required": ["idempotency_key"],
        },
    }
]


def test_a_saved_case_is_the_case_that_failed(tmp_path: Path) -> None:
    """With masks in place of its values it would be no valid call of its tool."""
    case = case_of("429cap", tools=PAY)
    path, _ = save(tmp_path, "a", SavedCase("spend_cap", case, "sent again"))
    again = read(path)
    assert (again.case, again.withheld) == (case, ())
    (tool,), (call,) = again.case.tools, again.case.calls
    assert tool.input_validator.is_valid(call.arguments)
    assert replayed(again, Job(target_of(naive_agent.connect), again.case)).status == "still fails"


def test_what_the_search_has_drawn_is_no_secret(tmp_path: Path) -> None:
    case = case_of("429cap", tools=PAY, calls=[Call("pay", {"idempotency_key": "pay-0001", "token": "t-2"})])
    path, _ = save(tmp_path, "a", SavedCase("spend_cap", case), given=case_of(tools=PAY).calls)
    assert read(path).case == case


SECRET = Call("get_order", {"order_id": "A1", "login": {"password": "hunter2", "api_key": 1234}})


def saved_secret(folder: Path) -> Path:
    case = case_of("429cap", calls=[Call("get_order", {"order_id": "A0"}), SECRET])
    path, _ = save(folder, "a", SavedCase("spend_cap", case, 'get_order(api_key="hunter2") was sent again'))
    return path


def test_a_file_says_which_secrets_of_the_users_it_withholds(tmp_path: Path) -> None:
    text = saved_secret(tmp_path).read_text()
    assert "hunter2" not in text
    assert "1234" not in text
    assert parsed(text.encode())[0]["withheld"] == [
        "calls[1].arguments.login.password",
        "calls[1].arguments.login.api_key",
    ]


def test_a_file_without_its_secrets_is_an_error_and_never_another_case(tmp_path: Path) -> None:
    path = saved_secret(tmp_path)
    told = (
        r"withheld: the value of calls\[1\].arguments.login.password is a secret that is not saved: .*--call 'get_order"
    )
    with pytest.raises(CaseFileError, match=told):
        read(path)
    with pytest.raises(CaseFileError, match=told):
        read(path, given=[replace(SECRET, arguments={**SECRET.arguments, "order_id": "B2"})])


def test_the_call_that_was_given_makes_the_case_whole_again(tmp_path: Path) -> None:
    path = saved_secret(tmp_path)
    saved = read(path, given=[SECRET])
    assert saved.case.calls[1] == SECRET
    before = path.read_text()
    rewrite(path, saved)
    assert parsed(path.read_text().encode())[0] == parsed(before.encode())[0], "what is withheld stays withheld"


def test_a_place_that_is_not_there_cannot_be_withheld(tmp_path: Path) -> None:
    path = saved_secret(tmp_path)
    path.write_text(path.read_text().replace("arguments.login.password", "arguments.pin"))
    with pytest.raises(CaseFileError, match=r"calls\[1\].arguments.pin' is no value of its calls"):
        read(path, given=[SECRET])


def test_a_secret_in_a_file_that_a_person_wrote_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'check = "spend_cap"\nfaults = "429cap"\ncalls = [{tool = "get_order", arguments = {token = "t"}}]\n'
    )
    rewrite(path, read(path))
    assert read(path).case.calls[0].arguments == {"token": "t"}


def test_no_call_of_an_agent_is_withheld_because_none_is_saved(tmp_path: Path) -> None:
    path, _ = save(tmp_path, "a", SavedCase("spend_cap", case_of("429cap", calls=[SECRET]), role="agent"))
    assert "withheld" not in path.read_text()


def test_a_rewritten_case_keeps_its_comments(tmp_path: Path) -> None:
    path, _ = save(tmp_path, "a", CAP)
    path.write_text("# mine\n" + path.read_text())
    rewrite(path, replace(CAP, case=case_of("429")))
    assert path.read_text().startswith('# mine\nversion = 1\ncheck = "spend_cap"\nfaults = "429"\n')
    assert names(tmp_path) == ["a.toml"]


def test_prune_removes_cases_and_the_catalogues_that_only_they_named(tmp_path: Path) -> None:
    other = [{"name": "other", "inputSchema": {"type": "object"}}]
    one, _ = save(tmp_path, "one", SavedCase("spend_cap", case_of("429cap", tools=ECHO)))
    two, _ = save(tmp_path, "two", SavedCase("spend_cap", case_of("429cap", tools=other)))
    (tmp_path / "tools-mine.json").write_text("[]")
    removed = prune([read(one)])
    assert [path.name for path in removed] == ["one.toml", next(p.name for p in removed[1:])]
    assert names(tmp_path) == sorted(["tools-mine.json", str(read(two).tools_file), "two.toml"])


def test_cases_of_one_catalogue_share_its_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(tmp_path, name, SavedCase("spend_cap", case_of("429cap", tools=ECHO)))
    assert len(names(tmp_path)) == 3
