"""Reads a case file: data that is not trusted, can never run code and never names a command."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import Call, Case, CaseError
from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.errors import ScriptError
from fuzzmcp.core.protocol import BACKENDS, DEFAULT_VERSION, TRANSPORTS, VERSIONS
from fuzzmcp.core.script import Script
from fuzzmcp.core.spelling import meant
from fuzzmcp.core.toml import TomlError, line_of, parsed
from fuzzmcp.search.corpus.saved import INTEGERS, VERSION, CaseFileError, SavedCase

LARGEST = 1_000_000
"""Bytes that a case file or its catalogue may have."""
_CALLS_MAX = 100
_TEXT_MAX = 10_000
_DEPTH_MAX = 60


def read(path: str | Path, root: Path | None = None) -> SavedCase:
    """Read a case file.

    Args:
        path: The file.
        root: The folder that a catalogue named in it must not leave; the working directory when None. The file's own
            folder is allowed too.

    Raises:
        CaseFileError: It cannot be read, or says something that no case can be.
    """
    path = Path(path)
    return replace(parse(_content(path, "case file"), str(path), folder=path.parent, root=root), path=path)


def parse(text: str | bytes, name: str = "case", *, folder: Path | None = None, root: Path | None = None) -> SavedCase:
    """Read the text of a case file.

    Args:
        text: TOML, as text or as the bytes of a file.
        name: What to call it in messages.
        folder: Where a catalogue that it names lies; None allows none.
        root: As for `read`.

    Raises:
        CaseFileError: It is no case.

    >>> str(parse('check = "spend_cap"\\nfaults = "429cap"').case.script)
    '429cap'
    """
    try:
        data, shown = parsed(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    except TomlError as error:
        raise CaseFileError(
            f"{name}: {error}" if error.line is None else f"{name}: line {error.line}: {error}"
        ) from None
    return _Reader(data, shown, name, folder, root or Path.cwd()).saved()


def _content(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise CaseFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST:
        raise CaseFileError(f"{path}: too large for a {what}: more than {LARGEST:,} bytes")
    return data


class _Reader:
    """Reads one text; every complaint names the line of the key that it is about."""

    def __init__(self, data: dict[str, Any], text: str, name: str, folder: Path | None, root: Path) -> None:
        self.data, self.text, self.name, self.folder, self.root = data, text, name, folder, root

    def fail(self, key: str, message: str) -> CaseFileError:
        number = line_of(self.text, re.split(r"[.\[]", key)[:1])
        place = f"{self.name}: line {number}" if number else self.name
        return CaseFileError(f"{place}: {key}: {message}" if key else f"{place}: {message}")

    def saved(self) -> SavedCase:
        data = self.data
        self.known("", data, _KEYS)
        self.one_of("version", data.get("version", VERSION), (VERSION,), "written for another fuzzmcp: version")
        script = self.script(data)
        tools, tools_file = self.tools(data.get("tools"), data.get("tool"))
        changes = script.has("changes")
        try:
            case = Case(
                calls=self.calls(data.get("calls", [])),
                script=script,
                tools=tools,
                changed=catalogue.evolved(tools) if changes else None,
                outputs=self.outputs(data.get("outputs", {})),
                protocol=self.one_of("protocol", data.get("protocol", DEFAULT_VERSION), VERSIONS),
                transport=self.one_of("transport", data.get("transport", "memory"), TRANSPORTS),
                backend=self.one_of("backend", data.get("backend", "asyncio"), BACKENDS),
                schedule=self.integer("schedule", data.get("schedule", 0)),
            )
        except CaseError as error:
            raise self.fail("calls", str(error)) from None
        check = self.one_of("check", self.required(data, "check"), tuple(CHECKS))
        return SavedCase(check, case, self.string("note", data.get("note", "")), tools_file=tools_file)

    # -- keys ----------------------------------------------------------------------------------------------------------

    def script(self, data: Mapping[str, Any]) -> Script:
        text = self.string("faults", self.required(data, "faults"))
        try:
            return Script.parse(text)
        except ScriptError as error:
            raise self.fail("faults", str(error)) from None

    def calls(self, entries: Any) -> tuple[Call, ...]:
        if not isinstance(entries, list) or len(entries) > _CALLS_MAX:
            raise self.fail("calls", f"expected a list of at most {_CALLS_MAX} calls")
        return tuple(self.call(f"calls[{i}]", entry) for i, entry in enumerate(entries))

    def call(self, key: str, entry: Any) -> Call:
        if not isinstance(entry, dict):
            raise self.fail(key, f"expected {{ tool = …, arguments = … }}, found {_kind(entry)}")
        self.known(key, entry, ("tool", "arguments", "at"))
        tool = self.string(f"{key}.tool", self.required(entry, "tool", key))
        arguments = self.object(f"{key}.arguments", entry.get("arguments", {}))
        at = entry.get("at")
        if at is not None and not (_number(at) and 0 <= at <= 1e9):
            raise self.fail(f"{key}.at", f"expected virtual seconds from 0 to 1e9, found {at!r}")
        return Call(tool, arguments, at if at is None else float(at))

    def outputs(self, entry: Any) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise self.fail("outputs", f"expected a table, found {_kind(entry)}")
        return {name: self.object(f"outputs.{name}", value) for name, value in entry.items()}

    def tools(self, file: Any, inside: Any) -> tuple[catalogue.Catalogue, str | None]:
        if file is not None and inside is not None:
            raise self.fail("tools", "a case has either a file of tools or [[tool]] tables, not both")
        try:
            if file is not None:
                name = self.string("tools", file)
                return catalogue.load_text(self.beside(name), name), name
            if inside is not None:
                return catalogue.load(self.json("tool", inside)), None
        except catalogue.ToolsError as error:
            raise self.fail("tool" if file is None else "tools", str(error)) from None
        return catalogue.crm(), None

    def beside(self, name: str) -> str:
        """The text of a file that lies in the tree: a case must not read what it has no business with."""
        if self.folder is None:
            raise self.fail("tools", "a case without a place can name no file")
        try:
            path = (self.folder / name).resolve()
            allowed = [self.root.resolve(), self.folder.resolve()]
        except (OSError, ValueError, RuntimeError) as error:
            raise self.fail("tools", f"no usable path: {error}") from None
        if Path(name).is_absolute() or not any(path.is_relative_to(folder) for folder in allowed):
            raise self.fail("tools", f"'{name}' leads out of the tree: name a file beside the case")
        if not path.is_file():
            raise self.fail("tools", f"there is no file '{name}' beside the case")
        try:
            return _content(path, "catalogue").decode()
        except UnicodeDecodeError:
            raise self.fail("tools", f"{name}: not UTF-8") from None
        except CaseFileError as error:
            raise self.fail("tools", str(error).replace(str(path), name, 1)) from None

    # -- values --------------------------------------------------------------------------------------------------------

    def required(self, data: Mapping[str, Any], key: str, within: str = "") -> Any:
        if key not in data:
            raise self.fail(within, f"'{key}' is missing")
        return data[key]

    def known(self, within: str, data: Mapping[str, Any], keys: tuple[str, ...]) -> None:
        for key in data:
            if key not in keys:
                hint = meant(key, keys, f": expected {', '.join(keys)}")
                raise self.fail(f"{within}.{key}" if within else key, f"unknown key{hint}")

    def one_of(self, key: str, value: Any, known: tuple[Any, ...], what: str = "unknown") -> Any:
        if isinstance(value, bool) or not any(value == one and isinstance(value, type(one)) for one in known):
            shown = f"'{value}'"[:80] if isinstance(value, str) else repr(value)[:80]
            raise self.fail(key, f"{what} {shown}{meant(value, known, f': expected {_listed(known)}')}")
        return value

    def string(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or len(value) > _TEXT_MAX:
            found = "a longer one" if isinstance(value, str) else _kind(value)
            raise self.fail(key, f"expected a text of at most {_TEXT_MAX:,} characters, found {found}")
        return value

    def integer(self, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < INTEGERS:
            raise self.fail(key, f"expected a whole number from 0 to 2**63, found {repr(value)[:80]}")
        return value

    def object(self, key: str, value: Any) -> dict[str, Any]:
        """A JSON object: a table, or JSON text where it holds a null, which TOML cannot say."""
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise self.fail(key, f"not JSON: {error}") from None
        if not isinstance(value, dict):
            raise self.fail(key, f"expected a table or JSON text of an object, found {_kind(value)}")
        return self.json(key, value)  # type: ignore[no-any-return]

    def json(self, key: str, value: Any, depth: int = 0) -> Any:
        """A value that JSON can carry: no date, no nan, nothing endless."""
        if depth > _DEPTH_MAX:
            raise self.fail(key, f"nested more than {_DEPTH_MAX} deep")
        if isinstance(value, dict):
            return {name: self.json(f"{key}.{name}", inner, depth + 1) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.json(f"{key}[{i}]", inner, depth + 1) for i, inner in enumerate(value)]
        if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
            return value
        hint = "; write it in quotes" if not isinstance(value, float) else ""
        raise self.fail(key, f"{_kind(value)} is not JSON{hint}")


_KEYS = (
    *("version", "check", "faults", "protocol", "transport", "backend", "schedule"),
    *("calls", "outputs", "tools", "tool", "note"),
)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    names = {dict: "a table", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), f"a {type(value).__name__}")


def _listed(known: tuple[Any, ...]) -> str:
    return ", ".join(map(str, known))
