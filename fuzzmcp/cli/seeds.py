"""Seeds as people give them: a number, or the hash of a commit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import click

COMMIT = "commit"
_HASH = re.compile(r"[0-9a-f]{7,64}")
_HASH_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "GIT_COMMIT")


class Seed(click.ParamType):  # type: ignore[type-arg]
    """A whole number, the hash of a commit, or `commit` for the one that is checked out."""

    name = "seed"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return seed_of(current_commit() if value == COMMIT else str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def seed_of(text: str) -> int:
    """The seed that a text names.

    Of a hash its first seven digits count, so that the short and the long form of a commit give the same seed.

    Raises:
        ValueError: It is neither a number nor a hash.

    >>> seed_of("7"), seed_of("c0ffee1"), seed_of("c0ffee1234567890")
    (7, 202374881, 202374881)
    """
    if text.isascii() and text.isdigit() and len(text) <= 20:
        return int(text)
    if _HASH.fullmatch(text.lower()):
        return int(text[:7], 16)
    raise ValueError(f"expected a whole number, the hash of a commit, or '{COMMIT}', found '{text}'")


def current_commit(environment: Mapping[str, str] | None = None) -> str:
    """The commit that CI says it builds, or else the one that git has checked out here.

    Raises:
        ValueError: Nobody knows one.
    """
    environment = os.environ if environment is None else environment
    for name in _HASH_VARIABLES:
        if environment.get(name):
            return environment[name]
    if shutil.which("git") is None:
        raise ValueError("there is no git to ask for the commit")
    asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True)
    if asked.returncode != 0:
        raise ValueError("no commit is checked out here")
    return asked.stdout.strip()
