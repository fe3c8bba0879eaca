"""`fuzzmcp tools --diff`: a saved catalogue against that of a server which is really started."""

from __future__ import annotations

import copy
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from commands import NAIVE, ROOT, invoke, written

from fuzzmcp.core.catalogue.tools import crm
from fuzzmcp.harness import sdk

SERVER = """
import json, sys
tools = json.loads(open(sys.argv[1]).read())
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "demo", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif asked.get("method") == "tools/list":
        result = {"tools": tools}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
KEYS = ["tool", "part", "path", "difference", "note", "edit", "script", "replay"]
Definitions = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("COLUMNS", raising=False)


def bundled() -> Definitions:
    return copy.deepcopy([dict(tool.definition) for tool in crm()])


def drifted() -> Definitions:
    """The bundled catalogue after a release of the backend that nobody announced."""
    definitions = bundled()
    order = definitions[0]["outputSchema"]
    order["properties"]["orderId"] = order["properties"].pop("order_id")
    order["required"][0] = "orderId"
    order["properties"]["total"] = {"type": "string"}
    order["properties"]["created"]["pattern"] = "^2"
    definitions[0]["inputSchema"] = {
        "type": "object",
        "properties": {"orderId": {"type": "string"}},
        "required": ["orderId"],
        "additionalProperties": False,
    }
    del definitions[1]["outputSchema"]
    del definitions[2]
    return definitions


def compared(folder: Path, saved: str, served: Sequence[dict[str, Any]], *options: str) -> Result:
    """`fuzzmcp tools --diff` with the text of the saved file, against a server of these tools."""
    (folder / "tools.json").write_text(saved, "utf-8")
    (folder / "served.json").write_text(json.dumps(served), "utf-8")
    server = (sys.executable, written(folder, "stdio_server", SERVER), str(folder / "served.json"))
    return invoke("tools", "--diff", str(folder / "tools.json"), *options, "--", *server)


def test_each_difference_is_printed_with_the_scripts_and_commands_that_play_it(tmp_path: Path) -> None:
    result = compared(tmp_path, json.dumps(bundled()), drifted())
    assert result.exit_code == 1, result.output
    assert result.stderr == ""
    file = tmp_path / "tools.json"
    assert (
        result.stdout
        == f"""\
get_order: arguments: order_id>orderId   a client that sends the old name breaks
get_order: created: pattern "^2" is new
get_order: order_id>orderId
get_order: total:string
refund_order: the outputSchema is gone   results are not structured any more
find_customer: the tool is gone

get_order  drift(order_id>orderId;total:string)
fuzzmcp replay CLIENT 'drift(order_id>orderId;total:string)' --tools {file} --call 'get_order(order_id="A1")' \
--check drift_caught

refund_order  unstructured
fuzzmcp replay CLIENT unstructured --tools {file} \
--call 'refund_order(order_id="A1", amount=20.5, reason="damaged")' --check drift_caught

find_customer  toolgone
fuzzmcp replay CLIENT toolgone --tools {file} --call 'find_customer(email="ada@example.com")' \
--check error_channels --check no_pointless_retry

6 differences from {file} · 3 tools · 4 can be played to a client
"""
    )


def test_every_printed_command_is_one_that_replays_the_drift(tmp_path: Path) -> None:
    result = compared(tmp_path, json.dumps(bundled()), drifted(), "--client", NAIVE)
    commands = [shlex.split(line) for line in result.stdout.splitlines() if line.startswith("fuzzmcp replay")]
    assert len(commands) == 3
    for _, *arguments in commands:
        replayed = invoke(*arguments)
        assert replayed.exit_code in (0, 1), replayed.output
        assert "0 checks held" not in replayed.stdout or replayed.exit_code == 1, "no check could judge it"
        assert "not delivered" not in replayed.stdout
    assert invoke(*commands[0][1:]).stdout.splitlines()[-1].startswith("violated: drift_caught")


def test_json_has_an_object_for_each_difference_with_the_keys_that_help_explains(tmp_path: Path) -> None:
    result = compared(tmp_path, json.dumps(bundled()), drifted(), "--json", "--client", "it's:connect")
    assert result.exit_code == 1
    rows = json.loads(result.stdout)
    assert [list(row) for row in rows] == [KEYS] * 6
    renamed = next(row for row in rows if row["edit"] == "order_id>orderId")
    assert (renamed["tool"], renamed["part"], renamed["path"]) == ("get_order", "output", ["order_id"])
    assert renamed["script"] == "drift(order_id>orderId;total:string)"
    assert shlex.split(renamed["replay"])[:4] == ["fuzzmcp", "replay", "it's:connect", renamed["script"]]
    argument = rows[0]
    assert (argument["part"], argument["difference"], argument["edit"]) == ("arguments", "order_id>orderId", None)
    assert [row["script"] for row in rows if row["tool"] != "get_order"] == ["unstructured", "toolgone"]
    explained = invoke("tools", "--help").stdout
    assert all(f"    {key} " in explained for key in KEYS)


def test_the_same_catalogue_is_exit_code_0_in_whatever_order_and_form(tmp_path: Path) -> None:
    text = json.dumps({"tools": bundled()})
    same = compared(tmp_path, text, list(reversed(bundled())))
    assert (same.exit_code, same.stderr) == (0, "")
    assert same.stdout == f"no difference from {tmp_path / 'tools.json'} · 4 tools\n"
    assert json.loads(compared(tmp_path, text, bundled(), "--json").stdout) == []


def test_examples_that_were_added_to_the_saved_file_are_no_difference(tmp_path: Path) -> None:
    definitions = bundled()
    text: dict[str, Any] = {"type": "string", "pattern": "^[A-Z]{2}$"}
    definitions[0]["outputSchema"]["properties"]["currency"] = {**text, "examples": ["EU"]}
    saved = json.dumps(definitions)
    definitions[0]["outputSchema"]["properties"]["currency"] = text
    result = compared(tmp_path, saved, definitions)
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_server_without_tools_or_with_one_twice_is_told_and_no_accident(tmp_path: Path) -> None:
    saved = json.dumps(bundled()[:1])
    empty = compared(tmp_path, saved, [])
    assert empty.exit_code == 1
    assert empty.stdout.startswith("get_order: the tool is gone\n")
    twice = compared(tmp_path, saved, bundled()[:1] * 2)
    assert twice.exit_code == 1
    assert "get_order: the server lists two tools of this name\n" in twice.stdout
    assert "two tools are named 'get_order'" in twice.stderr
    assert "none can be played to a client" in twice.stdout


def test_a_schema_that_points_elsewhere_is_compared_as_it_stands_and_nothing_is_fetched(tmp_path: Path) -> None:
    changed = bundled()
    changed[0]["outputSchema"]["properties"]["note"] = {"$ref": "http://127.0.0.1:9/note.json"}
    result = compared(tmp_path, json.dumps(bundled()), changed)
    assert result.exit_code == 1, result.output
    assert 'get_order: note: $ref "http://127.0.0.1:9/note.json" is new\n' in result.stdout
    assert "external $ref" in result.stderr


@pytest.mark.parametrize(
    ("text", "words"), [("", "not JSON"), ("[]", "no catalogue"), ('[{"name": "t"}]', "inputSchema")]
)
def test_a_file_that_is_no_catalogue_is_exit_code_2_before_any_server_starts(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "tools.json"
    file.write_text(text)
    result = invoke("tools", "--diff", str(file), "--", "no-such-command-anywhere")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"fuzzmcp: {file}: ")
    assert words in result.stderr


def test_bad_usage_is_exit_code_2_and_a_server_that_cannot_be_run_is_3(tmp_path: Path) -> None:
    missing = invoke("tools", "--diff", str(tmp_path / "none.json"), "--", sys.executable)
    assert (missing.exit_code, "cannot be read" in missing.stderr) == (2, True)
    assert invoke("tools", "--diff", "fuzzmcp/core/catalogue/crm.json").exit_code == 2
    for option in (["--json"], ["--client", "a:b"]):
        alone = invoke("tools", *option, "--", sys.executable)
        assert (alone.exit_code, alone.stderr) == (2, f"fuzzmcp: {option[0]}: only together with --diff FILE\n")
    mistyped = invoke("tools", "--dif=fuzzmcp/core/catalogue/crm.json", "--", sys.executable)
    assert (mistyped.exit_code, mistyped.stderr) == (2, "fuzzmcp: no such option '--dif'; did you mean '--diff'?\n")
    unknown = invoke("tools", "--diff", "fuzzmcp/core/catalogue/crm.json", "--", "no-such-command-anywhere")
    assert (unknown.exit_code, unknown.stderr) == (3, "fuzzmcp: there is no command 'no-such-command-anywhere'\n")


SHOP = """
import sys
from {library} as Server
from pydantic import BaseModel

server = Server("shop")

class Line(BaseModel):
    price: {price}

class Order(BaseModel):
    {order_id}: str
    status: {status}
    lines: list[Line]

@server.tool()
def get_order({order_id}: str) -> Order:
    "One order."
    raise NotImplementedError

@server.tool()
def count_orders(status: str) -> int:
    "What no release changes."
    raise NotImplementedError

server.run()
"""


def test_a_server_written_with_the_sdk_is_seen_to_change(tmp_path: Path) -> None:
    library = "mcp.server import MCPServer" if sdk.MAJOR >= 2 else "mcp.server.fastmcp import FastMCP"

    def server(order_id: str, price: str, status: str) -> tuple[str, str]:
        source = SHOP.format(library=library, order_id=order_id, price=price, status=status)
        return sys.executable, written(tmp_path, "shop", source)

    saved = tmp_path / "tools.json"
    saved.write_text(invoke("tools", "--", *server("order_id", "float", "str")).stdout)
    result = invoke("tools", "--diff", str(saved), "--", *server("orderId", "str", "str | None"))
    assert result.exit_code == 1, result.output
    assert [line.partition("   ")[0] for line in result.stdout.splitlines()[:5]] == [
        "get_order: arguments: order_id>orderId",
        "get_order: lines/0/price:string",
        "get_order: order_id>orderId",
        "get_order: status=null",
        "",
    ]
    assert "drift(lines/0/price:string;order_id>orderId;status=null)" in result.stdout
    assert result.stdout.splitlines()[-1].startswith(f"4 differences from {saved} · 1 tool · ")
