"""Hypothesis's example databases, by name."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis.database import DirectoryBasedExampleDatabase, MultiplexedDatabase

from fuzzmcp.search.database import DatabaseError, database_of


def test_none_is_no_database() -> None:
    assert database_of("none", "client:connect") is None


def test_a_folder_is_made_ignored_by_git_and_divided_by_client(tmp_path: Path) -> None:
    one, other = (database_of(str(tmp_path / "db"), client) for client in ("client.py:connect", "other.py:connect"))
    assert isinstance(one, DirectoryBasedExampleDatabase)
    assert isinstance(other, DirectoryBasedExampleDatabase)
    one.save(b"key", b"value")
    assert (list(one.fetch(b"key")), list(other.fetch(b"key"))) == ([b"value"], [])
    assert "*" in (tmp_path / "db" / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("github:owner", "expected github:OWNER/REPO, found 'github:owner'"),
        ("github:owner/repo", "GITHUB_TOKEN is not set"),
        ("redis://user:hunter2@127.0.0.1:1/0", "no Redis answers at 'redis://127.0.0.1:1/0'"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(name: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    pytest.importorskip("redis")
    with pytest.raises(DatabaseError) as refused:
        database_of(name, "client:connect")
    assert message in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseError, match="is no usable folder"):
        database_of(str(tmp_path / "file"), "client:connect")


def test_artifacts_of_github_are_read_beside_a_folder_of_this_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    assert isinstance(database_of("github:owner/repo", "client:connect"), MultiplexedDatabase)


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Redis server, on a port of its own."""
    redis = pytest.importorskip("redis", reason="the redis package is not installed")
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("there is no redis-server: apt install redis-server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path_factory.mktemp("redis"))]
    with subprocess.Popen([server, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:  # it says when it listens
            if "Ready to accept connections" in line:
                break
        url = f"redis://127.0.0.1:{port}/0"
        yield url
        redis.Redis.from_url(url).shutdown(nosave=True)
        process.wait()


def test_redis_keeps_examples_apart_by_client(redis_url: str) -> None:
    one, other = (database_of(redis_url, client) for client in ("one.py:connect", "other.py:connect"))
    assert one is not None
    assert other is not None
    one.save(b"key", b"value")
    assert (list(one.fetch(b"key")), list(other.fetch(b"key"))) == ([b"value"], [])
