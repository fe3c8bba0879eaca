"""A real server object of the SDK behind the fake: its catalogue and its answers, the script's faults."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import Phase, settings

import fuzzmcp
from fuzzmcp.core.catalogue.tools import ToolsError, crm, load
from fuzzmcp.examples.sdk_client import connect
from fuzzmcp.harness import sdk
from fuzzmcp.harness.backing_server import BackingServerError, catalogue_and_server, catalogue_of, is_server

MAJOR = sdk.MAJOR


def shop(**more: Any) -> Any:
    """A server of two tools, with a log of what they were asked."""
    if MAJOR >= 2:
        from mcp.server import MCPServer as Server
    else:
        from mcp.server.fastmcp import FastMCP as Server
    server = Server("shop")
    server.asked = []

    @server.tool()
    async def price(article: str) -> dict[str, float]:
        """The price of an article."""
        server.asked.append(article)
        return {"price": 9.5 + len(article)}

    @server.tool()
    async def fail(reason: str) -> str:
        """Always fails."""
        raise ValueError(reason)

    return server


CALL = ['price(article="tea")']


def result(run: Any, call: int = 0) -> dict[str, Any]:
    return run.outcomes[call].value.model_dump(by_alias=True, mode="json")


def test_the_catalogue_is_the_servers_own() -> None:
    catalogue = catalogue_of(shop())
    assert [tool.name for tool in catalogue] == ["price", "fail"]
    assert catalogue[0].input_schema["required"] == ["article"]
    assert catalogue[0].output_schema is not None


def test_ok_is_what_the_real_tool_says() -> None:
    server = shop()
    run = fuzzmcp.run(connect, "", tools=server, calls=CALL)
    assert result(run)["structuredContent"] == {"price": 12.5}
    assert server.asked == ["tea"]


def test_a_fault_stands_in_for_the_real_answer_and_the_tool_is_not_asked() -> None:
    server = shop()
    run = fuzzmcp.run(connect, "429cap", tools=server, calls=CALL)
    assert result(run)["isError"] is True
    assert server.asked == ["tea"], "the probe only"


@pytest.mark.parametrize("script", ["hang", "close", "rpc(-32603)"])
def test_faults_of_the_wire_work_in_front_of_a_real_server(script: str) -> None:
    run = fuzzmcp.run(connect, script, tools=shop(), calls=CALL)
    assert run.outcomes[0].status == "raised"
    assert [str(action) for _, action in run.played] == [script]


def test_extras_come_beside_the_real_answer() -> None:
    run = fuzzmcp.run(connect, "log+dup", tools=shop(), calls=CALL)
    delivered = [e for e in run.events if e.kind == "deliver" and e.call == 0]
    assert [e.method for e in delivered][:2] == ["notifications/message", ""]
    assert result(run)["structuredContent"] == {"price": 12.5}


def test_drift_edits_a_value_of_the_real_tools_schema() -> None:
    run = fuzzmcp.run(connect, "drift(-price)", tools=structured(), calls=["stock()"])
    answer = next(e.answer for e in run.events if e.answer is not None and e.call == 0)
    assert answer.visible
    assert "price" not in answer.value
    assert run.outcomes[0].status == "raised"


def structured() -> Any:
    """A server with a low-level tool whose outputSchema is written by hand."""
    from mcp import types

    schema = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    tool = types.Tool(name="stock", inputSchema={"type": "object"}, outputSchema=schema)
    content = [types.TextContent(type="text", text='{"price": 3}')]
    if MAJOR >= 2:
        from mcp.server import Server

        async def list_tools(context: Any, params: Any) -> Any:
            return types.ListToolsResult(tools=[tool])

        async def call_tool(context: Any, params: Any) -> Any:
            return types.CallToolResult(content=content, structured_content={"price": 3})

        return Server("low", on_list_tools=list_tools, on_call_tool=call_tool)
    from mcp.server import Server as Low

    server = Low("low")

    @server.list_tools()  # type: ignore[no-untyped-call,untyped-decorator]
    async def listing() -> Any:
        return [tool]

    @server.call_tool()  # type: ignore[untyped-decorator]
    async def calling(name: str, arguments: Any) -> Any:
        return content, {"price": 3}

    return server


def test_a_low_level_server_works_too() -> None:
    run = fuzzmcp.run(connect, "", tools=structured(), calls=["stock()"])
    assert result(run)["structuredContent"] == {"price": 3}


def test_the_real_tools_own_error_is_an_execution_error() -> None:
    run = fuzzmcp.run(connect, "", tools=shop(), calls=['fail(reason="no stock")'])
    assert result(run)["isError"] is True
    answer = next(e.answer for e in run.events if e.answer is not None and e.call == 0)
    assert answer.kind == "execution_error"


def test_the_same_case_in_front_of_the_same_server_gives_the_same_record() -> None:
    lines = [fuzzmcp.run(connect, "ok,429(1)", tools=shop(), calls=[*CALL, *CALL]).lines() for _ in range(2)]
    assert lines[0] == lines[1]


def test_what_is_no_server_is_refused() -> None:
    class Server:
        pass

    class Teapot:
        pass

    assert not is_server(Teapot())
    with pytest.raises(BackingServerError, match="Teapot is no MCP server"):
        fuzzmcp.run(connect, "", tools=Teapot())
    with pytest.raises(BackingServerError, match="cannot be listed"):
        catalogue_of(Server())


def test_a_server_whose_tools_cannot_be_used_is_refused_like_a_bad_file() -> None:
    if MAJOR >= 2:
        from mcp.server import MCPServer as Server
    else:
        from mcp.server.fastmcp import FastMCP as Server
    with pytest.raises(ToolsError, match="no catalogue"):
        catalogue_of(Server("empty"))


# -- what `tools` may be ----------------------------------------------------------------------------------------------

ECHO = {"name": "echo", "inputSchema": {"type": "object"}}


class Place:
    """A path that is no `pathlib.Path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


def spellings(folder: Path) -> dict[str, Any]:
    """One tool, `echo`, in every way in which tools can be given."""
    file = folder / "tools.json"
    file.write_text(json.dumps({"tools": [ECHO]}))
    return {
        "a text": str(file),
        "a path": file,
        "another path": Place(file),
        "a list": [ECHO],
        "a tuple": (ECHO,),
        "an answer": {"tools": [ECHO]},
        "a read-only answer": MappingProxyType({"tools": [ECHO]}),
        "tools": load([ECHO]),
        "a list of tools": list(load([ECHO])),
    }


def echoing() -> Any:
    library: Any = importlib.import_module("mcp.server" if MAJOR >= 2 else "mcp.server.fastmcp")
    server = getattr(library, "MCPServer" if MAJOR >= 2 else "FastMCP")("echoes")

    @server.tool()  # type: ignore[untyped-decorator,unused-ignore]
    def echo() -> str:
        return "from the real one"

    return server


def test_tools_are_told_apart_in_one_way(tmp_path: Path) -> None:
    for spelling, tools in spellings(tmp_path).items():
        found, server = catalogue_and_server(tools)
        assert ([tool.name for tool in found], server) == (["echo"], None), spelling
    found, server = catalogue_and_server(echoing())
    assert [tool.name for tool in found] == ["echo"]
    assert server is not None
    assert catalogue_and_server(None) == (crm(), None)


def test_run_fuzz_and_case_of_take_the_same_tools(tmp_path: Path) -> None:
    few = settings(max_examples=1, phases=[Phase.generate], database=None)
    for spelling, tools in spellings(tmp_path).items():
        assert fuzzmcp.run(connect, "", tools=tools).case.tools == load([ECHO]), spelling
        assert fuzzmcp.case_of(tools=tools).tools == load([ECHO]), spelling
        few(fuzzmcp.fuzz(connect, tools=tools, checks=["spend_cap"]))()


def test_a_server_beside_a_whole_case_answers_for_the_catalogue_of_the_case() -> None:
    server = shop()
    case = fuzzmcp.case_of("", calls=CALL, tools=catalogue_of(server)[:1])
    run = fuzzmcp.run(connect, case, tools=server)
    assert run.case is case
    assert result(run)["structuredContent"] == {"price": 12.5}
    assert server.asked == ["tea"]


@pytest.mark.parametrize(
    "tools", [3, b"tools.json", object(), Place, iter([ECHO]), {"echo"}], ids=lambda tools: type(tools).__name__
)
def test_what_is_neither_is_refused_with_what_to_give(tools: Any) -> None:
    for given in (lambda: catalogue_and_server(tools), lambda: fuzzmcp.run(connect, "", tools=tools)):
        with pytest.raises(
            BackingServerError, match="is no MCP server: expected an object MCPServer, FastMCP or Server, a JSON"
        ):
            given()
