"""How a case is written and read: what its fields are called in files and on the command line.

Case files, JSON reports, the database of pending cases and printed commands are all written from the one table here:
a new field of `Case` is one more row of it. Its defaults, and its form in Python, `Case` itself tells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from fuzzmcp.core.case import Call, Case, CaseError, changed_by, default_of, output_text
from fuzzmcp.core.catalogue.tools import Catalogue, ToolsError, load
from fuzzmcp.core.errors import ScriptError
from fuzzmcp.core.protocol import BACKENDS, TRANSPORTS, VERSIONS
from fuzzmcp.core.script import Script
from fuzzmcp.core.validation import Node, Source, dotted

INTEGERS = 2**63
"""TOML promises integers below this, and no larger ones."""
TEXT_MAX = 10_000
_CALLS_MAX = 100
_SCHEDULE = "a whole number from 0 to 2**63"


@dataclass(frozen=True)
class Field:
    """How one field of a case is written. What a field has no form for is left out of that format.

    Args:
        name: The attribute of `Case`.
        key: The key in files and JSON.
        to_data: The value as JSON.
        read: The value from data that anybody may have written.
        option: The option of `fuzzmcp replay`.
        to_words: What stands behind the option, once for each time that it is given.
        to_key: Its part of the text that tells one case of a search from another.
        setting: Whether the configuration can say it for all cases.
    """

    name: str
    key: str | None = None
    to_data: Callable[[Any], Any] = lambda value: value
    read: Callable[[Node], Any] | None = None
    option: str | None = None
    to_words: Callable[[Any], list[str]] = lambda value: [str(value)]
    to_key: Callable[[Any], str] | None = str
    setting: bool = False


def _setting(name: str, what: str, known: tuple[str, ...]) -> Field:
    """A field that is one of some words."""
    return Field(
        name,
        key=name,
        read=lambda node: node.one_of(what, known),
        option=f"--{name}",
        setting=True,
    )


def _read_call(node: Node) -> Call:
    node.table("{ tool = …, arguments = … }")
    node.known(("tool", "arguments", "at"))
    tool = node["tool"].text(TEXT_MAX)
    at = node.optional("at", lambda at: at.number("virtual seconds from 0 to 1e9", 0, 1e9), None)
    return Call(tool, node.optional("arguments", _read_object, {}), at if at is None else float(at))


def _read_object(node: Node) -> dict[str, Any]:
    """A JSON object: a table, or JSON text where it holds a null, which TOML cannot say."""
    if isinstance(node.value, str):
        try:
            node = replace(node, value=json.loads(node.value))
        except (ValueError, RecursionError) as error:
            node.refuse(f"not JSON: {error}")
    node.table("a table or JSON text of an object")
    return node.json()  # type: ignore[no-any-return]


def call_data(call: Call) -> dict[str, Any]:
    """A call as JSON: without `at` it begins once the call before has settled."""
    data = {"tool": call.tool, "arguments": dict(call.arguments)}
    return data if call.at is None else data | {"at": call.at}


def _outputs_key(outputs: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(outputs.items())) if outputs else ""


FIELDS: tuple[Field, ...] = (
    Field(
        "script",
        key="faults",
        to_data=str,
        read=lambda node: node.parsed(Script.parse, ScriptError, most=TEXT_MAX),
    ),
    _setting("protocol", "protocol version", VERSIONS),
    _setting("transport", "transport", TRANSPORTS),
    _setting("backend", "backend", BACKENDS),
    Field(
        "calls",
        key="calls",
        to_data=lambda calls: [call_data(call) for call in calls],
        read=lambda node: tuple(_read_call(call) for call in node.items(most=_CALLS_MAX)),
        option="--call",
        to_words=lambda calls: [str(call) for call in calls],
        to_key=lambda calls: ";".join(map(str, calls)),
    ),
    Field(
        "schedule",
        key="schedule",
        read=lambda node: node.whole(0, INTEGERS - 1, _SCHEDULE),
        option="--schedule",
    ),
    Field(
        "outputs",
        key="outputs",
        to_data=lambda outputs: dict(sorted(outputs.items())),
        read=lambda node: {name: _read_object(value) for name, value in node.members()},
        option="--output",
        to_words=lambda outputs: [output_text(tool, value) for tool, value in sorted(outputs.items())],
        to_key=_outputs_key,
    ),
    Field(
        "tools",
        key="tools",
        to_data=lambda tools: definitions_of(tools),
        to_key=None,  # one search has one catalogue
    ),
    Field("changed", to_key=None),  # it follows from the script
)
"""Every field of a case, in the order of JSON."""
KEYS = tuple(field.key for field in FIELDS if field.key is not None and field.read is not None)
"""The keys that `from_data` reads; a catalogue stands beside them."""
OPTIONS = {field.option.lstrip("-"): field.option for field in FIELDS if field.option is not None}
"""The options of `fuzzmcp replay` that say what a saved case says itself, by their parameters."""
SETTINGS = {field.name: str(default_of(Case(), field.name)) for field in FIELDS if field.setting}
"""The fields that the configuration can say, with their defaults."""
_CALLS_FIRST = sorted(FIELDS, key=lambda field: field.name != "calls")
_KEYED = {field.name: field.to_key for field in FIELDS if field.to_key is not None}
_keyed_values = attrgetter(*_KEYED)


def to_data(case: Case, *, always: Collection[str] = (), without: Collection[str] = ()) -> dict[str, Any]:
    """A case as JSON: what has its default is left out, but for the faults.

    Args:
        case: The case.
        always: Fields to write even so.
        without: Fields to leave out.

    >>> from fuzzmcp.api import case_of
    >>> to_data(case_of("429cap", protocol="2025-06-18"))
    {'faults': '429cap', 'protocol': '2025-06-18'}
    """
    return {
        field.key: field.to_data(value)
        for field in FIELDS
        if field.key is not None and field.name not in without
        if (value := getattr(case, field.name)) != default_of(case, field.name) or field.name in ("script", *always)
    }


def from_data(data: Node | Mapping[str, Any], base: Case | None = None) -> Case:
    """The case that `to_data` wrote.

    Args:
        data: The data. A node's own source says how mistakes are told, and may have other keys too.
        base: Says what the data leaves out, and the catalogue; when None, the data says the catalogue as well.

    Raises:
        CaseError: The data is no case; for a node, the error of its source.

    >>> from fuzzmcp.api import case_of
    >>> from_data(to_data(case_of("429cap"))) == case_of("429cap")
    True
    """
    if not isinstance(data, Node):
        source = Source(lambda way, message: CaseError(f"{dotted(way)}: {message}"), quote='"')
        data = Node(dict(data), source).known((*KEYS, "tools"))
    if base is None:
        base = Case(tools=data.optional("tools", _read_tools, ()))
    given = {
        field.name: field.read(data[field.key])
        for field in FIELDS
        if field.read is not None and field.key is not None
        if field.key in data or field.name == "script"
    }
    try:
        return replace(base, **given, changed=changed_by(given["script"], base.tools))
    except CaseError as error:
        data["calls"].refuse(str(error))


def _read_tools(node: Node) -> Catalogue:
    try:
        return load(node.json())
    except ToolsError as error:
        node.refuse(str(error))


def options_of(case: Case, *, always: Collection[str] = (), without: Collection[str] = ()) -> list[str]:
    """The options of `fuzzmcp replay` that say the case, beside its script and its catalogue.

    Args:
        case: The case.
        always: Fields to say even where they have their default.
        without: Fields to leave out.

    >>> from fuzzmcp.api import case_of
    >>> options_of(case_of("429cap", backend="trio"))
    ['--backend', 'trio']
    """
    return [
        word
        for field in _CALLS_FIRST
        if field.option is not None and field.name not in without
        if (value := getattr(case, field.name)) != default_of(case, field.name) or field.name in always
        for text in field.to_words(value)
        for word in (field.option, text)
    ]


def key(case: Case) -> str:
    """The case on one line: within a search, equal text means an equal run."""
    return " | ".join([write(value) for write, value in zip(_KEYED.values(), _keyed_values(case), strict=True)])


def definitions_of(tools: Catalogue) -> list[dict[str, Any]]:
    """The tools of a catalogue as `tools/list` describes them."""
    return [dict(tool.definition) for tool in tools]
