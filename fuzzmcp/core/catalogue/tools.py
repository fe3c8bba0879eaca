"""The catalogue: tools with their schemas, validated once, and one sample value for each schema."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from fuzzmcp.core.catalogue.samples import UnresolvableRef, formats_of, sample
from fuzzmcp.core.drift import other_case
from fuzzmcp.core.errors import FuzzmcpError

Json = Any


_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
"""Keywords whose keys are names of the user's, not keywords."""


class ToolsError(FuzzmcpError, ValueError):
    """A catalogue that cannot be used: the message names the tool and the JSON path in it."""


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool as `tools/list` describes it; `definition` is that JSON object.

    >>> crm()[0].name
    'get_order'
    """

    definition: Mapping[str, Json]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tool) and self.definition == other.definition

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def input_schema(self) -> Json:
        return self.definition["inputSchema"]

    @property
    def output_schema(self) -> Json | None:
        return self.definition.get("outputSchema")

    @cached_property
    def repeatable(self) -> bool:
        """Whether sending the same call twice is harmless: marked read-only or idempotent."""
        marks = self.definition.get("annotations") or {}
        return bool(marks.get("readOnlyHint") or marks.get("idempotentHint"))

    @cached_property
    def input_validator(self) -> Validator:
        return compiled(self.input_schema)

    @cached_property
    def output_validator(self) -> Validator | None:
        return None if self.output_schema is None else compiled(self.output_schema)

    @cached_property
    def sample_arguments(self) -> dict[str, Json]:
        """Valid arguments with every property present."""
        return sample(self.input_schema)  # type: ignore[no-any-return]

    @cached_property
    def sample_output(self) -> Json | None:
        """A full valid structured result, or None without an outputSchema."""
        return None if self.output_schema is None else sample(self.output_schema)

    @cached_property
    def formats(self) -> dict[tuple[str, ...], str]:
        """The `format` keyword at each path of the sample output."""
        return dict(formats_of(self.output_schema, self.sample_output)) if self.output_schema else {}

    def accepts_output(self, value: Json) -> bool:
        """Whether `value` conforms to the outputSchema, formats not checked (true without a schema)."""
        return self.output_validator is None or self.output_validator.is_valid(value)


Catalogue = tuple[Tool, ...]


def compiled(schema: Json) -> Validator:
    """The validator of the schema's own dialect, 2020-12 when it names none."""
    return validator_for(schema, default=jsonschema.Draft202012Validator)(schema)


@lru_cache(maxsize=1)
def crm() -> Catalogue:
    """The bundled catalogue of a small customer system, `crm.json` beside this module."""
    return load_text(resources.files("fuzzmcp.core.catalogue").joinpath("crm.json").read_text("utf-8"), "crm.json")


def load(
    source: str | os.PathLike[str] | Sequence[Mapping[str, Json]] | Mapping[str, Json] | Catalogue | None,
) -> Catalogue:
    """A catalogue from a JSON file, from tool definitions, or the bundled one for None.

    Raises:
        ToolsError: The file cannot be read, or is no catalogue, or has an invalid schema or an external `$ref`.
    """
    if source is None:
        return crm()
    if isinstance(source, (str, os.PathLike)):
        place = os.fsdecode(source)
        try:
            text = Path(place).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise ToolsError(f"{place}: cannot be read: {error}") from None
        return load_text(text, place)
    if isinstance(source, tuple) and all(isinstance(tool, Tool) for tool in source):
        return source
    return _catalogue(source, "tools")


def load_text(text: str, where: str) -> Catalogue:
    """A catalogue from JSON text: a list of tools, or an object with a `tools` list as `tools/list` answers."""
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ToolsError(f"{where}: not JSON: {error}") from None
    return _catalogue(data, where)


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _catalogue(data: Json, where: str) -> Catalogue:
    entries = data.get("tools") if isinstance(data, Mapping) else data
    if not isinstance(entries, (list, tuple)) or not entries:
        raise ToolsError(f"{where}: no catalogue: expected a list of tools, or an object with a list 'tools'")
    tools = tuple(_tool(entry, f"{where}: tools/{i}") for i, entry in enumerate(entries))
    names = [tool.name for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise ToolsError(f"{where}: two tools are named '{name}'")
    return tools


def _tool(entry: Json, where: str) -> Tool:
    if isinstance(entry, Tool):
        return entry
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise ToolsError(f"{where}: a tool is an object with a 'name'")
    where = f"{where} ({entry['name']})"
    for key in ("inputSchema", "outputSchema"):
        schema = entry.get(key)
        if key == "inputSchema" or schema is not None:
            _check_schema(schema, f"{where}: {key}")
    if not isinstance(entry.get("annotations") or {}, Mapping):
        raise ToolsError(f"{where}: annotations: expected an object")
    return Tool(entry)


def _check_schema(schema: Json, where: str) -> None:
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ToolsError(f'{where}: expected a JSON schema with "type": "object"')
    try:
        for path, ref in _references(schema, ()):
            if not ref.startswith("#"):
                raise ToolsError(f"{where}/{'/'.join(path)}: external $ref '{ref}' (it must not be fetched)")
        type(compiled(schema)).check_schema(dict(schema))
        value = sample(schema)
        error = next(compiled(schema).iter_errors(value), None)
    except jsonschema.SchemaError as error:
        place = "/".join(map(str, error.path))
        raise ToolsError(f"{where}/{place}: invalid schema: {error.message}") from None
    except RecursionError:
        raise ToolsError(f"{where}: nested too deeply, or a $ref that leads to itself") from None
    except ToolsError:
        raise
    except UnresolvableRef as error:
        raise ToolsError(f"{where}: {error}") from None
    except Exception as error:
        raise ToolsError(f"{where}: {_line(error)}") from None
    if error is not None:
        place = "/".join(map(str, error.schema_path))
        raise ToolsError(
            f"{where}/{place}: no sample value found: {error.message[:120]} (add 'examples' to the schema)"
        )


def _line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _references(node: Json, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(node, Mapping):
        for key, child in node.items():
            if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(child, str):
                yield (*path, key), child
            elif key in _BY_NAME and isinstance(child, Mapping):
                for name, part in child.items():
                    yield from _references(part, (*path, key, name))
            elif key not in ("const", "enum", "default", "examples"):
                yield from _references(child, (*path, key))
    elif isinstance(node, list):
        for i, child in enumerate(node):
            yield from _references(child, (*path, str(i)))


def evolved(catalogue: Catalogue) -> Catalogue:
    """The catalogue after an honest, announced change: in each outputSchema a required property is renamed.

    The second catalogue of a case that has a `list_changed`: whoever lists again finds valid results, whoever trusts
    the old schema does not.
    """
    return tuple(_evolved(tool) for tool in catalogue)


def _evolved(tool: Tool) -> Tool:
    schema = tool.output_schema
    required = (schema or {}).get("required") or []
    properties = (schema or {}).get("properties") or {}
    old = next((name for name in required if name in properties and other_case(name) not in properties), None)
    if schema is None or old is None:
        return Tool({**tool.definition, "description": f"{tool.definition.get('description', '')} (changed)".strip()})
    new = other_case(old)
    changed = {
        **schema,
        "properties": {(new if name == old else name): part for name, part in properties.items()},
        "required": [new if name == old else name for name in required],
    }
    return Tool({**tool.definition, "outputSchema": changed})
