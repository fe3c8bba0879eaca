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
from fuzzmcp.search.corpus import CaseFileError, SavedCase, case_files, prune, read, rewrite, save

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


def test_secrets_are_masked_in_the_file(tmp_path: Path) -> None:
    case = case_of("429cap", calls=[Call("get_order", {"order_id": "A1", "api_key": "hunter2"})])
    path, _ = save(tmp_path, "a", SavedCase("spend_cap", case, 'get_order(api_key="hunter2") was sent again'))
    assert "hunter2" not in path.read_text()
    assert read(path).case.calls[0].arguments == {"order_id": "A1", "api_key": "[redacted]"}
    rewrite(path, SavedCase("spend_cap", case))
    assert "hunter2" not in path.read_text()


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
