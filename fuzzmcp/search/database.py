"""Where Hypothesis keeps the examples that a search was about to shrink: Hypothesis's own databases, by name."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hypothesis.database import (
    DirectoryBasedExampleDatabase,
    ExampleDatabase,
    GitHubArtifactDatabase,
    MultiplexedDatabase,
    ReadOnlyDatabase,
)

from fuzzmcp.core.errors import FuzzmcpError

DEFAULT = ".fuzzmcp/examples"
NONE = "none"
ARTIFACT = "fuzzmcp-examples"
"""Name of the artifact on GitHub: the folder of one client's examples."""


class DatabaseError(FuzzmcpError, ValueError):
    """A database that cannot be used."""


def database_of(name: str, client: str) -> ExampleDatabase | None:
    """The example database that a name stands for.

    Args:
        name: A folder; `redis://HOST:PORT/N` (also `rediss://` and `unix://`); `github:OWNER/REPO`, which reads the
            artifact of an earlier job beside a folder for this one; `none`.
        client: The client, as it is named: each has examples of its own.

    Raises:
        DatabaseError: Nothing answers there, or the package for it is missing.
    """
    if name == NONE:
        return None
    if re.match(r"(rediss?|unix)://", name):
        return _redis(name, client)
    if name.startswith("github:"):
        return _artifact(name.removeprefix("github:"), client)
    return _folder(Path(name), client)


def _folder(folder: Path, client: str) -> ExampleDatabase:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ignored = folder / ".gitignore"
        if not ignored.exists():
            ignored.write_text("# Made by fuzzmcp.\n*\n")
    except OSError as error:
        raise DatabaseError(f"'{folder}' is no usable folder: {error.strerror}") from None
    return DirectoryBasedExampleDatabase(folder / _slug(client))


def _redis(url: str, client: str) -> ExampleDatabase:
    try:
        import redis
        from hypothesis.extra.redis import RedisExampleDatabase
    except ImportError:
        raise DatabaseError("Redis needs its package: pip install 'fuzzmcp[redis]'") from None
    try:
        server = redis.Redis.from_url(url)
        server.ping()
    except (redis.RedisError, ValueError) as error:
        raise DatabaseError(f"no Redis answers at '{_harmless(url)}': {error}") from None
    return RedisExampleDatabase(server, key_prefix=f"fuzzmcp:{_slug(client)}:".encode())


def _artifact(name: str, client: str) -> ExampleDatabase:
    owner, mark, repository = name.partition("/")
    if not mark or not owner or not repository or "/" in repository:
        raise DatabaseError(f"expected github:OWNER/REPO, found 'github:{name}'")
    if not os.environ.get("GITHUB_TOKEN"):
        raise DatabaseError("GitHub's artifacts are read with a token: GITHUB_TOKEN is not set")
    earlier = GitHubArtifactDatabase(owner, repository, artifact_name=ARTIFACT)
    return MultiplexedDatabase(_folder(Path(DEFAULT), client), ReadOnlyDatabase(earlier))


def _slug(client: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", client).strip("-") or "client"


def _harmless(url: str) -> str:
    return re.sub(r"//[^@/]*@", "//", url)
