"""A saved case as data, read from its file: data that is not trusted, can never run code and never names a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fuzzmcp.checks import CHECKS
from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.case_codec import KEYS, TEXT_MAX, from_data
from fuzzmcp.core.catalogue import tools as catalogue
from fuzzmcp.core.errors import FuzzmcpError
from fuzzmcp.core.redact import MASK
from fuzzmcp.core.toml import TomlError, line_of, parsed
from fuzzmcp.core.validation import Node, Source, dotted
from fuzzmcp.core.withheld import places_of, restored

VERSION = 1
"""Version of the format: it changes when a key changes its meaning or goes away; keys may be added."""
_LARGEST = 1_000_000
"""Bytes that a case file or its catalogue may have."""
_KEYS = ("version", "check", *KEYS, "withheld", "tools", "tool", "note")


class CaseFileError(FuzzmcpError, ValueError):
    """A case file that cannot be used: the message names file, line and key."""


@dataclass(frozen=True)
class SavedCase:
    """A case that violated a check, as a file keeps it.

    Args:
        check: The check that was violated.
        case: What to drive.
        note: What was seen, in one sentence.
        path: The file it was read from; None for one that is not saved yet.
        tools_file: Name of the catalogue's file beside it; None when it is the bundled one, or stands inside.
        withheld: Places of values that the file does not have, as `calls[0].arguments.password`: secrets of the user's.
            A case that was read has them, from the calls that were given beside it.
        role: `agent` makes its own calls: none are saved.
    """

    check: str
    case: Case
    note: str = ""
    path: Path | None = None
    tools_file: str | None = None
    withheld: tuple[str, ...] = ()
    role: str = field(default="client", compare=False)

    @property
    def name(self) -> str:
        """How reports call it: the file's name without its ending."""
        return self.path.stem if self.path is not None else self.check


def read(path: str | Path, root: Path | None = None, given: Sequence[Call] = ()) -> SavedCase:
    """Read a case file.

    Args:
        path: The file.
        root: The folder that a catalogue named in it must not leave; the working directory when None. The file's own
            folder is allowed too.
        given: Calls that have the values that the file withholds.

    Raises:
        CaseFileError: It cannot be read, or says something that no case can be, or lacks a value that no call gives.
    """
    path = Path(path)
    return replace(parse(_content(path, "case file"), str(path), folder=path.parent, root=root, given=given), path=path)


def parse(
    text: str | bytes,
    name: str = "case",
    *,
    folder: Path | None = None,
    root: Path | None = None,
    given: Sequence[Call] = (),
) -> SavedCase:
    """Read the text of a case file.

    Args:
        text: TOML, as text or as the bytes of a file.
        name: What to call it in messages.
        folder: Where a catalogue that it names lies; None allows none.
        root: As for `read`.
        given: As for `read`.

    Raises:
        CaseFileError: It is no case.

    >>> str(parse('check = "spend_cap"\\nfaults = "429cap"').case.script)
    '429cap'
    """
    try:
        data, shown = parsed(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    except TomlError as error:
        raise _error(name, error.line, str(error)) from None
    source = Source(lambda way, message: _error(name, line_of(shown, way), f"{dotted(way)}: {message}"))
    top = Node(data, source).known(_KEYS)
    top.optional("version", lambda node: node.version(VERSION), VERSION)
    tools, tools_file = _tools(top, folder, root or Path.cwd())
    case = from_data(top, Case(tools=tools))
    withheld = top.optional("withheld", Node.texts, ())
    if withheld:
        case = _whole(top, case, withheld, given)
    note = top.optional("note", lambda node: node.text(TEXT_MAX), "")
    return SavedCase(top["check"].one_of("check", tuple(CHECKS)), case, note, None, tools_file, withheld)


def _whole(top: Node, case: Case, withheld: Sequence[str], given: Sequence[Call]) -> Case:
    """The case with the values that its file withholds; without them it would be another case."""
    whole, missing = restored(case, withheld, given)
    if missing is None:
        return whole
    for number, call in enumerate(case.calls):
        if missing in places_of(call, number):
            asked = str(call).replace(MASK, "…")
            missed = f"the value of {missing} is a secret that is not saved"
            top["withheld"].refuse(f"{missed}: give it with the call, by --call '{asked}'")
    top["withheld"].refuse(f"'{missing}' is no value of its calls")
    return None


def _error(name: str, line: int | None, message: str) -> CaseFileError:
    return CaseFileError(f"{name}: {message}" if line is None else f"{name}: line {line}: {message}")


def _content(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise CaseFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LARGEST:
        raise CaseFileError(f"{path}: too large for a {what}: more than {_LARGEST:,} bytes")
    return data


# -- tools -------------------------------------------------------------------------------------------------------------


def _tools(top: Node, folder: Path | None, root: Path) -> tuple[catalogue.Catalogue, str | None]:
    """The catalogue, and the name of the file that it stands in."""
    file, inside = top["tools"], top["tool"]
    if "tools" in top and "tool" in top:
        file.refuse("a case has either a file of tools or [[tool]] tables, not both")
    try:
        if "tools" in top:
            name = file.text(TEXT_MAX)
            return catalogue.load_text(_beside(file, name, folder, root), name), name
        return (catalogue.load(inside.json()) if "tool" in top else catalogue.crm()), None
    except catalogue.ToolsError as error:
        (file if "tools" in top else inside).refuse(str(error))


def _beside(node: Node, name: str, folder: Path | None, root: Path) -> str:
    """The text of a file that lies in the tree: a case must not read what it has no business with."""
    if folder is None:
        node.refuse("a case without a place can name no file")
    try:
        path = (folder / name).resolve()
        allowed = [root.resolve(), folder.resolve()]
    except (OSError, ValueError, RuntimeError) as error:
        node.refuse(f"no usable path: {error}")
    if Path(name).is_absolute() or not any(path.is_relative_to(place) for place in allowed):
        node.refuse(f"'{name}' leads out of the tree: name a file beside the case")
    if not path.is_file():
        node.refuse(f"there is no file '{name}' beside the case")
    try:
        return _content(path, "catalogue").decode()
    except UnicodeDecodeError:
        node.refuse(f"{name}: not UTF-8")
    except CaseFileError as error:
        node.refuse(str(error).replace(str(path), name, 1))
