"""Bugs in how structured content is held against the outputSchema of its tool."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import jsonschema

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool
from fuzzmcp.examples.zoo.session import Frame

Flaws = Iterable[jsonschema.ValidationError]
FIND_CUSTOMER = ('find_customer(email="ada@example.com")',)
LIST_OPEN_INVOICES = ('list_open_invoices(customer_id="C7", limit=10)',)
TWICE = ('get_order(order_id="A1")', 'get_order(order_id="A1")')


@bug(
    check="drift_caught",
    script="drift(created>Created)",
    seen='common mistake: that clients validate is a "SHOULD", so whatever came is handed on',
)
class ChecksNothing(Client):
    """Wants structured content to be there, and takes whatever it is."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return ()


@bug(
    check="drift_caught",
    script="drift(created>Created)",
    seen="common mistake: a loop over the keys that came never meets one that is gone",
)
class ChecksTypesOnly(Client):
    """Looks at the type of what is there, not at whether anything is missing."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if flaw.validator == "type")


@bug(
    check="drift_caught",
    script="drift(created:number)",
    seen="common mistake: set(required) <= set(value) is the whole validation",
)
class ChecksKeysOnly(Client):
    """Looks for the required keys, not at what they hold."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if flaw.validator == "required")


@bug(
    check="drift_caught",
    script="drift(address/city:number)",
    calls=FIND_CUSTOMER,
    seen="common mistake: one loop over the properties of the schema, and none over theirs",
)
class ChecksTopLevelOnly(Client):
    """Holds the properties of the result against the schema, but not what is inside them."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if len(flaw.absolute_path) < 2)


@bug(
    check="drift_caught",
    script="drift(address:string)",
    calls=FIND_CUSTOMER,
    seen="common mistake: a validator written by hand that knows type and required, but no $ref",
)
class IgnoresReferences(Client):
    """Follows no `$ref`: what stands behind one may be anything."""

    def compiled(self, definition: Any) -> Tool | None:
        return super().compiled(json.loads(json.dumps(definition), object_hook=lambda o: {} if "$ref" in o else o))


@bug(
    check="drift_caught",
    script="drift(+tags/1=null)",
    calls=FIND_CUSTOMER,
    seen="common mistake: to save time, a list is judged by its first item",
)
class ChecksFirstItemsOnly(Client):
    """Takes the first item of a list for a specimen of all."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (f for f in super().flaws(tool, value) if not any(type(p) is int and p > 0 for p in f.absolute_path))


@bug(
    check="drift_caught",
    script="ok,drift(created>Created)",
    calls=TWICE,
    seen="common mistake: a tool is checked once, when it is first used, and trusted ever after",
)
class ChecksFirstResultOnly(Client):
    """Trusts a tool as soon as one of its results was valid."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.proven: set[str] = set()

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        if tool.name in self.proven:
            return result
        checked = super().trusted(tool, result)
        if not checked.get("isError"):
            self.proven.add(tool.name)
        return checked


@bug(
    check="drift_caught",
    script="drift(created=null)",
    seen="common mistake: every field of the result model is Optional, with None for a default",
)
class TakesNullForAbsent(Client):
    """Lets null stand for any value."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if flaw.instance is not None)


@bug(
    check="drift_caught",
    script="drift(total:string)",
    seen="common mistake: the result model is a lax pydantic one, which reads numbers from text",
)
class ReadsNumbersFromText(Client):
    """Takes a text for a number where one can be read from it, and hands on the text."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if not self.readable(flaw))

    def readable(self, flaw: jsonschema.ValidationError) -> bool:
        """Whether a number was asked for, and one can be read from the text that came."""
        return flaw.validator_value in ("number", "integer") and bool(re.fullmatch(r"[\d.]+", str(flaw.instance)))


@bug(
    check="drift_caught",
    script="drift(tier:number)",
    calls=FIND_CUSTOMER,
    seen="common mistake: a schema turned into a model, whose enumerations became plain fields",
)
class IgnoresEnums(Client):
    """Takes any value where the schema lists the possible ones."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if flaw.validator != "enum")


@bug(
    check="drift_caught",
    script="drift(invoices/0/paid>Paid)",
    calls=LIST_OPEN_INVOICES,
    seen="common mistake: a result model that ignores what it does not know, as pydantic ones do by default",
)
class IgnoresClosedObjects(Client):
    """Takes properties that the schema forbids."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        return (flaw for flaw in super().flaws(tool, value) if flaw.validator != "additionalProperties")


@bug(
    check="drift_caught",
    script="unstructured",
    seen='common mistake: "if result.structuredContent:" in front of the validation',
)
class ChecksOnlyWhatCame(Client):
    """Validates structured content where there is some, and does not miss it where there is none."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        return super().trusted(tool if "structuredContent" in result else replace(tool, validator=None), result)


@bug(
    check="drift_caught",
    script="empty",
    seen="common mistake: no content is read as done, nothing to report",
)
class TakesEmptyForDone(Client):
    """Takes a result without any content for the success of a tool that has nothing to say."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        silent = result.get("content") == [] and "structuredContent" not in result
        return result if silent else super().trusted(tool, result)


@bug(
    check="expected_errors",
    script="drift(created>Created)",
    seen="common mistake: result[name] for every name that the schema requires, in front of the validation",
)
class ReadsBeforeItChecks(Client):
    """Picks the required fields out of a result that it has not validated yet."""

    def flaws(self, tool: Tool, value: Any) -> Flaws:
        fields = {name: value[name] for name in tool.definition["outputSchema"].get("required", ())}
        return super().flaws(tool, {**value, **fields})


@bug(
    check="valid_accepted",
    script="429+list_changed",
    seen="modelcontextprotocol/python-sdk #2107",
)
class KeepsFirstSchema(Client):
    """Lists again after `list_changed`, but keeps the validators that it compiled at first."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.validators: dict[str, Any] = {}

    def compiled(self, definition: Any) -> Tool | None:
        tool = super().compiled(definition)
        return tool and replace(tool, validator=self.validators.setdefault(tool.name, tool.validator))
