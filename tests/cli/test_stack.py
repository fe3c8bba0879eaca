"""`fuzzmcp stack`: the tree on the terminal, as JSON and as a page, and the exit codes."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from commands import NAIVE, ROOT, SDK, invoke, written

CLIENT = """
from stacking_clients import ask, client, looping
connect = client(looping(4, looping(3, ask, 0.5)))
one = client(looping(3, ask))
none = client(ask)
different = client(looping(4, looping(3, ask, only="rate"), only="overloaded"))
"""


@pytest.fixture
def stacked(tmp_path: Path) -> str:
    return written(tmp_path, "stacked_client", CLIENT)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_the_worst_fault_is_shown_in_full_and_the_others_on_one_line(stacked: str) -> None:
    result = invoke("stack", f"{stacked}:connect", "--runs", "0")
    assert result.exit_code == 0, result.output
    told = lines(result.stdout)
    assert "FAULTS=429*" in told
    assert 'get_order(order_id="A1")   12 requests in 7 s' in told
    assert any(line.startswith("stacking_clients.py:") and line.endswith("loop ×4, waits 1 s 1 s 1 s") for line in told)
    assert any(line.startswith("over ") and line.endswith("loop ×3, waits 0.5 s 0.5 s") for line in told)
    assert "12 = 4 × 3" in told
    assert [line.split()[0] for line in told if "request" in line and line[:1] in "5hcr"] == [
        "504*", "529*", "hang*", "close*", "rpc(-32603)*",
    ]  # fmt: skip
    assert told[-1] == "at most 12 requests for one call · 2 layers"
    assert "12 requests become 3" in result.stdout


def test_all_shows_every_fault_in_full(stacked: str) -> None:
    told = lines(invoke("stack", f"{stacked}:connect", "--runs", "0", "--all").stdout)
    assert len([line for line in told if line.startswith("FAULTS=")]) == 6
    assert told.count("12 = 4 × 3") == 3


def test_the_mix_of_layers_that_retry_different_faults_is_printed_with_its_script(stacked: str) -> None:
    told = lines(invoke("stack", f"{stacked}:different", "--fault", "429", "--fault", "529", "--runs", "100").stdout)
    assert "FAULTS=429*2,529,429*2,529,429*2,529,429*3" in told
    assert "12 = 4 × 3" in told


@pytest.mark.parametrize(("client", "last"), [
    ("one", "at most 3 requests for one call · 1 layer"),
    ("none", "at most 1 request for one call · no retry"),
])  # fmt: skip
def test_without_a_stack_there_is_one_layer_or_none_and_no_advice(stacked: str, client: str, last: str) -> None:
    told = lines(invoke("stack", f"{stacked}:{client}", "--fault", "429").stdout)
    assert told[-1] == last
    assert not [line for line in told if line.startswith("do ")]


def test_max_requests_makes_it_a_check_that_fails_only_above_the_number(stacked: str) -> None:
    arguments = ("stack", f"{stacked}:connect", "--fault", "429", "--max-requests")
    assert invoke(*arguments, "12").exit_code == 0
    result = invoke(*arguments, "11")
    assert result.exit_code == 1
    assert lines(result.stdout)[-1].endswith("over the 11 that --max-requests allows")


def test_one_tool_may_have_a_number_of_its_own(stacked: str) -> None:
    arguments = ("stack", f"{stacked}:one", "--fault", "429", "--max-requests")
    assert invoke(*arguments, "1", "--max-requests", "get_order=3").exit_code == 0
    result = invoke(*arguments, "9", "--max-requests", "get_order=2")
    assert result.exit_code == 1
    assert lines(result.stdout)[-1].endswith("over the 2 that --max-requests allows")
    other = invoke(*arguments, "refund_order=1")
    assert other.exit_code == 0
    assert lines(other.stdout)[-1].endswith("within what --max-requests allows")


def test_the_json_has_the_tree(stacked: str, tmp_path: Path) -> None:
    file = tmp_path / "stack.json"
    assert invoke("stack", f"{stacked}:connect", "--fault", "429", "--report", f"json={file}").exit_code == 0
    report: dict[str, Any] = json.loads(file.read_text("utf-8"))
    assert (report["version"], report["kind"], report["worst"]) == (1, "stack", "429*")
    (script,) = report["scripts"]
    (call,) = script["calls"]
    assert (call["requests"], call["product"], call["virtual_seconds"]) == (12, 12, 7.0)
    assert [layer["factor"] for layer in call["layers"]] == [4, 3]
    assert [sent["layer"] for sent in call["sent"]] == [None, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1]
    assert report["advice"]["keep"] == {k: call["layers"][1][k] for k in ("file", "line", "function", "library")}
    assert not any(Path(layer["file"]).is_absolute() for layer in call["layers"])


class Page(HTMLParser):
    """Counts the elements of a page by tag and class, and notes what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.seen.append(f"{tag}.{given.get('class')}")
        self.loads += [str(given[name]) for name in ("src", "href") if name in given and tag != "a"]


def test_the_page_draws_each_request_and_each_attempt_of_a_layer_and_loads_nothing(
    stacked: str, tmp_path: Path
) -> None:
    file = tmp_path / "stack.html"
    assert invoke("stack", f"{stacked}:connect", "--fault", "429", "--report", f"html={file}").exit_code == 0
    page = Page()
    page.feed(file.read_text("utf-8"))
    assert page.seen.count("circle.request") == 12
    assert len([one for one in page.seen if one.startswith("rect.attempt")]) == 4 + 12
    assert page.loads == ["data:,"]


def test_the_json_may_go_to_stdout_alone(stacked: str) -> None:
    result = invoke("stack", f"{stacked}:one", "--fault", "429", "--report", "json=-")
    assert json.loads(result.stdout)["kind"] == "stack"


@pytest.mark.parametrize(("arguments", "message"), [
    (("--fault", "hagn"), "did you mean 'hang'?"),
    (("--fault", "429,529"), "expected one fault that a tool call meets"),
    (("--report", "jsno=x"), "unknown kind of stack report 'jsno'; did you mean 'json'?"),
    (("--report", "json"), "--report: expected json=FILE"),
    (("--max-requests", "refund_ordr=1"), "--max-requests: unknown tool 'refund_ordr'; did you mean 'refund_order'?"),
    (("--max-requests", "0"), "0 is not in the range x>=1"),
    (("--max-requests", "refund_order=x"), "expected a number, or TOOL=N, found 'refund_order=x'"),
    (("--max-requests", "=2"), "expected TOOL=N, found '=2'"),
    (("--check", "backoff"), "no such option '--check'"),
])  # fmt: skip
def test_what_cannot_be_used_is_said_on_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = invoke("stack", SDK, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_client_that_cannot_be_run_at_all_is_no_finding(tmp_path: Path) -> None:
    broken = written(tmp_path, "broken_client", "async def agent(server):\n    raise OSError('no disk')\n")
    result = invoke("stack", f"{broken}:agent")
    assert result.exit_code == 3
    assert "no disk" in result.stderr


def test_an_example_takes_few_runs() -> None:
    result = invoke("stack", NAIVE)
    assert "one layer" in lines(result.stdout)
    (mixes,) = [line for line in lines(result.stdout) if line.startswith("mix")]
    assert int(mixes.split()[4]) <= 100, mixes


# -- the HTTP backend --------------------------------------------------------------------------------------------------

BACKEND = """
from test_serving import http, fetch, fetch_sync, retrying, shop
from fuzzmcp.upstream import Upstream

server = shop(Upstream())
connect = retrying

def sync(backend):
    with http.Client(transport=backend.transport(http)) as client:
        for _ in range(4):
            try:
                return fetch_sync(client)
            except Exception as error:
                last = error
        raise last

async def coroutine(backend: Upstream):
    async with http.AsyncClient(transport=backend.transport(http)) as client:
        return await fetch(client)

async def unannotated(backend):
    async with http.AsyncClient(transport=backend.transport(http)) as client:
        return await fetch(client)

async def breaks(backend: Upstream):
    raise OSError("no disk")

async def silent(backend: Upstream):
    return None
"""


@pytest.fixture
def over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    source = BACKEND.replace("from test_serving", "from upstream.test_serving")
    return written(tmp_path, "http_clients", source)


def test_a_sync_function_of_a_backend_shows_its_layers(over_http: str) -> None:
    result = invoke("stack", f"{over_http}:sync", "--runs", "0")
    assert result.exit_code == 0, result.output
    told = lines(result.stdout)
    assert "plain HTTP, asyncio" in " ".join(told[:6])
    assert "FAULTS=429*" in told
    assert "GET /orders/A1   12 requests in 6 s" in told
    assert any(
        line.startswith("http_clients.py:") and line.endswith("sync ×4, waits 0.5 s 0.5 s 0.5 s") for line in told
    )
    assert any(line.startswith("over test_serving.py:") and "fetch_sync ×3" in line for line in told)
    assert "12 = 4 × 3" in told
    assert [line.split()[0] for line in told if " requests in " in line and line[:1] in "5hc"] == [
        "504*", "529*", "hang*", "close*",
    ]  # fmt: skip


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_function_says_by_its_annotation_that_it_is_one(over_http: str, backend: str) -> None:
    told = lines(
        invoke("stack", f"{over_http}:coroutine", "--runs", "0", "--fault", "504", "--backend", backend).stdout
    )
    assert "GET /orders/A1   3 requests in 1.5 s" in told
    assert told[-1] == "at most 3 requests for one call · 1 layer"


def test_a_function_has_json_a_page_and_a_limit_as_a_client_has(over_http: str, tmp_path: Path) -> None:
    data, page = tmp_path / "stack.json", tmp_path / "stack.html"
    reports = ("--report", f"json={data}", "--report", f"html={page}", "--max-requests", "11")
    assert invoke("stack", f"{over_http}:sync", "--fault", "529", *reports).exit_code == 1
    report = json.loads(data.read_text("utf-8"))
    assert [report[key] for key in ("requests", "mcp", "protocol", "over")] == ["http", None, None, 1]
    assert [layer["factor"] for layer in report["scripts"][0]["calls"][0]["layers"]] == [4, 3]
    seen = Page()
    seen.feed(page.read_text("utf-8"))
    assert seen.seen.count("circle.request") == 12


def test_with_upstream_the_backend_of_the_tools_plays_the_faults(over_http: str) -> None:
    arguments = ("stack", f"{over_http}:connect", "--tools", f"{over_http}:server", "--fault", "529")
    told = lines(invoke(*arguments, "--upstream").stdout)
    assert "2025-11-25 over memory, asyncio, faults over HTTP" in " ".join(told[:6])
    assert any(line.endswith("/orders/order_id-1   12 requests in 21 s") for line in told), told
    assert "12 = 4 × 3" in told
    assert "one layer" in lines(invoke(*arguments).stdout)


@pytest.mark.parametrize(("name", "arguments", "message"), [
    ("sync", ("--tools", "tools.json"), "--tools: {client} is a function of an Upstream: it speaks no MCP"),
    ("sync", ("--call", "get_order()"), "--call: {client} is a function of an Upstream"),
    ("sync", ("--max-requests", "get_order=1"), "--max-requests: {client} is a function of an Upstream: it has no"),
    ("sync", ("--fault", "traceback"), "--fault: traceback: plain HTTP cannot carry it"),
    ("connect", ("--upstream", "--fault", "rpc(-32603)"), "--fault: rpc(-32603): plain HTTP cannot carry it"),
])  # fmt: skip
def test_what_means_nothing_over_http_is_refused(
    over_http: str, name: str, arguments: tuple[str, ...], message: str
) -> None:
    client = f"{over_http}:{name}"
    result = invoke("stack", client, *arguments)
    assert result.exit_code == 2
    assert message.format(client=client) in result.stderr


def test_a_function_that_fails_without_any_fault_is_no_finding(over_http: str) -> None:
    result = invoke("stack", f"{over_http}:breaks")
    assert result.exit_code == 3
    assert "fails before it sends a request to its Upstream: OSError: no disk, at http_clients.py:" in result.stderr
    assert lines(invoke("stack", f"{over_http}:silent").stdout)[-1] == "no request was sent"


@pytest.mark.parametrize("command", ["run", "replay"])
def test_other_commands_say_what_a_function_of_a_backend_is_for(over_http: str, command: str) -> None:
    client = f"{over_http}:coroutine"
    result = invoke(command, client, *(["429"] if command == "replay" else []))
    assert result.exit_code == 3
    assert f"{client} takes an Upstream: it calls a plain HTTP backend, and is no MCP client" in result.stderr
    assert f"'fuzzmcp stack {client}' shows its retries" in result.stderr
    result = invoke(command, f"{over_http}:unannotated", *(["429"] if command == "replay" else []))
    assert "says so by its parameter's annotation, as 'backend: Upstream'" in result.stderr


@pytest.mark.parametrize(("example", "packages", "product"), [
    ("stacking_anthropic.py:stacked", ("anthropic", "httpx2"), "12 = 4 × 3"),
    ("stacking_anthropic.py:stacked_async", ("anthropic", "httpx2"), "12 = 4 × 3"),
    ("stacking_anthropic.py:mended", ("anthropic", "httpx2"), "one layer"),
    ("stacking_openai.py:stacked", ("openai", "httpx2"), "12 = 4 × 3"),
    ("stacking_openai.py:mended", ("openai", "httpx2"), "one layer"),
    ("stacking_tenacity.py:stacked", ("tenacity", "requests"), "24 = 2 × 3 × 4"),
    ("stacking_tenacity.py:mended", ("tenacity", "requests"), "one layer"),
])  # fmt: skip
def test_each_example_over_http_shows_its_tree(example: str, packages: tuple[str, ...], product: str) -> None:
    for package in packages:
        pytest.importorskip(package, reason=f"the example needs {package}, which is not installed")
    result = invoke("stack", str(ROOT / "examples" / example), "--fault", "529", "--fault", "429", "--runs", "5")
    assert result.exit_code == 0, result.output
    assert product in lines(result.stdout)
