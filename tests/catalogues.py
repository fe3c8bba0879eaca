"""Small catalogues for tests that compare two, and what was found in them."""

from __future__ import annotations

from typing import Any

from hypothesis import assume

from fuzzmcp.core.catalogue.diff import diff, scripts_of
from fuzzmcp.core.catalogue.tools import Tool, load

OBJECT = {"type": "object"}
STRING = {"type": "string"}
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
DATE = {"type": "string", "format": "date"}
Json = Any


def tool(output: Json = None, arguments: Json = OBJECT, name: str = "t", **more: Any) -> Tool:
    definition = {"name": name, "inputSchema": arguments, **more}
    return load([definition if output is None else {**definition, "outputSchema": output}])[0]


def closed(properties: Json, required: tuple[str, ...] | None = None, **more: Any) -> Json:
    """An object schema that has these properties and no others, all required unless said."""
    names = list(properties) if required is None else list(required)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False, **more}


def prop(schema: Json, **more: Any) -> Json:
    """An object schema with the one property `p`."""
    return closed({"p": schema}, **more)


def told(old: Tool, new: Tool) -> list[str]:
    return [each.words for each in diff((old,), (new,))]


def played(old: Tool, new: Tool) -> list[str]:
    return [str(script) for _, script in scripts_of(diff((old,), (new,)))]


def unchecked(output: Json, arguments: Json = OBJECT, name: str = "t", **more: Any) -> Tool:
    """What `tool` makes, but that the schemas are schemas is taken for granted, which saves most of the time."""
    definition = {"name": name, "inputSchema": arguments, **more}
    made = Tool(definition if output is None else {**definition, "outputSchema": output})
    assume(made.accepts_output(made.sample_output) and made.input_validator.is_valid(made.sample_arguments))
    return made
