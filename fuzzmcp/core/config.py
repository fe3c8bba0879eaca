"""The project's configuration: `fuzzmcp.toml`, or `[tool.fuzzmcp]` in `pyproject.toml`, nearest from a folder upwards.

It is read in every pytest run of the environment, so nothing heavy is imported here; what only the vocabulary of checks
or the catalogue can tell (unknown checks, calls of unknown tools) is told by whoever uses the values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzzmcp.core.errors import FuzzmcpError
from fuzzmcp.core.protocol import BACKENDS, TRANSPORTS, VERSIONS
from fuzzmcp.core.toml import TomlError, line_of, parsed
from fuzzmcp.core.validation import Node, Source, Way, brief, dotted

OWN, SHARED = "fuzzmcp.toml", "pyproject.toml"
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3_600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|min|s|m|h|)")
_SECONDS_MAX = 1e9
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")


class ConfigError(FuzzmcpError, ValueError):
    """A configuration that cannot be used. The text names the file, the line where it is known, and the key."""


@dataclass(frozen=True)
class Origin:
    """Where a value stands: `key` is its whole dotted name, `line` is None where it could not be told."""

    file: Path
    key: str
    line: int | None = None

    def __str__(self) -> str:
        return shown(self.file) + ("" if self.line is None else f", line {self.line}")

    def error(self, message: str) -> ConfigError:
        """The error that says `message` about this place."""
        return ConfigError(f"{self}: {self.key}: {message}")


@dataclass(frozen=True)
class Config:
    """What the configuration says. A value that it does not name is None, or empty; paths are as they are written.

    Args:
        folder: What relative paths are relative to: the folder of the file, or where the search for it began.
        file: The file; None without one.
        shadowed: A `pyproject.toml` beside `fuzzmcp.toml` that has a `[tool.fuzzmcp]`, which is not read.
        origins: Where each value stands that the file names, by key; those of the contract by `contract.NAME`.
        contract: Fields of `fuzzmcp.Contract`.
        time: Real seconds.
    """

    folder: Path
    file: Path | None = None
    shadowed: Path | None = None
    origins: Mapping[str, Origin] = field(default_factory=dict)
    client: str | None = None
    tools: str | None = None
    calls: tuple[str, ...] = ()
    protocol: str | None = None
    transport: str | None = None
    backend: str | None = None
    checks: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    contract: Mapping[str, Any] = field(default_factory=dict)
    time: float | None = None
    runs: int | None = None
    seed: int | str | None = None
    regressions: str = "regressions"
    save: str | None = None
    database: str | None = None
    baseline: str | None = None
    max_findings: int | None = None
    canary: bool | None = None
    quiet: bool | None = None

    def path(self, key: str) -> Path:
        """The folder or file that `regressions`, `save` or `baseline` names, absolute."""
        value = getattr(self, key) if key != "save" or self.save else self.regressions
        if value is None:
            raise ValueError(f"the configuration names no {key}")
        return Path(os.path.normpath(self.folder / value))

    def spelled(self, key: str) -> Any:
        """The value of a key as one would write it on the command line in the working directory."""
        value = getattr(self, key)
        if key == "save" and value is None:
            key, value = "regressions", self.regressions
        place = _PLACES.get(key)
        return value if place is None or value is None else place(value, self.folder)


def seconds_of(text: str) -> float:
    """Read a time as people write it.

    Raises:
        ValueError: It is none, or not above 0, or above a billion seconds.

    >>> seconds_of("1h30m"), seconds_of("500ms"), seconds_of("2.5")
    (5400.0, 0.5, 2.5)
    """
    parts = _PART.findall(text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(map("".join, parts)) != text or not 0 < seconds <= _SECONDS_MAX:
        raise ValueError(f"expected a time such as 30s, 5m or 1h, found '{brief(text)}'")
    return seconds


def shown(path: Path | str) -> str:
    """A path as messages name it: relative to the working directory."""
    try:
        return os.path.relpath(path).replace(os.sep, "/")
    except ValueError:  # another drive
        return str(path)


# -- finding and reading ----------------------------------------------------------------------------------------------


def find(start: Path | None = None) -> Config:
    """The nearest configuration from a folder upwards; an empty one where there is none.

    In one folder `fuzzmcp.toml` goes before `[tool.fuzzmcp]`, as with other tools, and `shadowed` tells of it. A
    `pyproject.toml` without that table is passed by.

    Args:
        start: The folder to begin at; the working directory when None.

    Raises:
        ConfigError: The nearest one cannot be used.
    """
    first = Path(os.path.abspath(start or os.getcwd()))
    for folder in (first, *first.parents):
        own, shared = folder / OWN, folder / SHARED
        if os.path.isfile(own):
            found = _read(own, _parsed(own, _bytes(own)), "")
            return _shadowing(found, shared)
        if os.path.isfile(shared) and b"fuzzmcp" in (data := _bytes(shared)):  # else its mistakes are not our affair
            table, text = _parsed(shared, data)
            tool = table.get("tool")
            if isinstance(tool, dict) and "fuzzmcp" in tool:
                return _read(shared, (tool["fuzzmcp"], text), "tool.fuzzmcp")
    return Config(first)


def _shadowing(config: Config, shared: Path) -> Config:
    hides = os.path.isfile(shared) and re.search(rb"^\s*\[\s*tool\s*\.\s*fuzzmcp\b", _bytes(shared), re.MULTILINE)
    return replace(config, shadowed=shared) if hides else config


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown(file)}: cannot be read: {error.strerror}") from None


def _parsed(file: Path, data: bytes) -> tuple[dict[str, Any], str]:
    try:
        return parsed(data)
    except TomlError as error:
        line = "" if error.line is None else f", line {error.line}"
        raise ConfigError(f"{shown(file)}{line}: {error}") from None


def _read(file: Path, content: tuple[Any, str], prefix: str) -> Config:
    """The configuration in a table of a file; `prefix` is the table's name, empty for the whole file."""
    table, text = content
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}

    def origin(path: Way) -> Origin:
        return Origin(file, dotted(path), line_of(text, path))

    top = Node(table, Source(lambda path, message: origin(path).error(message)), tuple(filter(None, prefix.split("."))))
    for name, node in top.members():
        if name in CONTRACT:
            node.refuse(f"unknown key; it belongs under [{prefix}{'.' if prefix else ''}contract]")
        if name == "tool" and not prefix:
            node.refuse(f"unknown key; in {OWN} the keys stand at the top, without [tool.fuzzmcp]")
    for name, node in top.known(_KEYS).members():
        values[name] = _KEYS[name](node)
        if name != "contract":
            origins[name] = origin(node.path)
            continue
        for inner, promise in node.members():
            origins[f"contract.{_field(inner)}"] = origin(promise.path)
    return Config(file.parent, file, origins=origins, **values)


# -- what the values may be -------------------------------------------------------------------------------------------

Kind = Callable[[Node], Any]
_TIME = 'seconds above 0, or a time such as "30s" or "5m"'


def _text(node: Node) -> str:
    text = node.text()
    return text if text.strip() and "\0" not in text else node.wrong(node.source.text)


def _texts(node: Node) -> tuple[str, ...]:
    return tuple(map(_text, node.items("a list of texts")))


def _names(node: Node) -> tuple[str, ...]:
    for name in (names := _texts(node)):
        if not name.isidentifier():
            node.refuse(f"expected bare names of exception types, as 'TimeoutError', found {brief(name)}")
    return names


def _count(node: Node) -> int:
    return node.whole(1, expected="a whole number above 0")


def _counts(node: Node) -> dict[str, int]:
    node.table("a table of whole numbers by tool")
    return {name: _count(number) for name, number in node.members()}


def _seed(node: Node) -> int | str:
    return "commit" if node.value == "commit" else node.whole(expected='a whole number from 0 up, or "commit"')


def _seconds(node: Node) -> float:
    if isinstance(node.value, str):
        return node.parsed(seconds_of, ValueError)
    return float(node.number(_TIME, 0, _SECONDS_MAX) or node.wrong(_TIME))


def _one_of(what: str, known: tuple[str, ...]) -> Kind:
    return lambda node: node.one_of(what, known)


def _contract(node: Node) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, promise in node.known(CONTRACT).members():
        if _field(name) in fields:
            promise.refuse("given twice, as accept and as accepts")
        fields[_field(name)] = CONTRACT[name](promise)
    return fields


def _field(name: str) -> str:
    return "accepts" if name == "accept" else name


CONTRACT: Mapping[str, Kind] = {
    "accept": _names,
    "accepts": _names,
    "deadline": _seconds,
    "max_requests": _count,
    "max_requests_per_tool": _counts,
    "grace": _seconds,
    "max_frames": _count,
    "shutdown": _seconds,
    "jitter": Node.flag,
    "protocol_errors_as_results": Node.flag,
    "error_words": _texts,
    "errors_as_text": Node.flag,
}
"""Keys of the contract, and what each may be; `accept`, as the command line calls it, is `accepts`."""

_KEYS: Mapping[str, Kind] = {
    "client": _text,
    "tools": _text,
    "calls": _texts,
    "protocol": _one_of("protocol version", VERSIONS),
    "transport": _one_of("transport", TRANSPORTS),
    "backend": _one_of("backend", BACKENDS),
    "checks": _texts,
    "skip": _texts,
    "contract": _contract,
    "time": _seconds,
    "runs": _count,
    "seed": _seed,
    "regressions": _text,
    "save": _text,
    "database": _text,
    "baseline": _text,
    "max_findings": _count,
    "canary": Node.flag,
    "quiet": Node.flag,
}
KEYS = tuple(name for name in _KEYS if name != "contract")
"""Keys of the configuration but for the contract's, in the order in which people read them."""


# -- paths and lines --------------------------------------------------------------------------------------------------


def _moved(path: str, folder: Path) -> str:
    """A path that is relative to `folder`, relative to the working directory."""
    return path if os.path.isabs(path) else shown(folder / path)


def _moved_target(text: str, folder: Path) -> str:
    place, mark, attribute = text.rpartition(":")
    is_path = place.endswith(".py") or "/" in place or os.sep in place
    return f"{_moved(place, folder)}{mark}{attribute}" if is_path else text


def _moved_tools(text: str, folder: Path) -> str:
    named = ":" in text and not os.path.isfile(folder / text)
    return _moved_target(text, folder) if named else _moved(text, folder)


def _moved_database(text: str, folder: Path) -> str:
    return text if text == "none" or _SCHEME.match(text) else _moved(text, folder)


_PLACES: Mapping[str, Callable[[str, Path], str]] = {
    "client": _moved_target,
    "tools": _moved_tools,
    "regressions": _moved,
    "save": _moved,
    "baseline": _moved,
    "database": _moved_database,
}
