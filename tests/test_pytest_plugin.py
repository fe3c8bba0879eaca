"""The pytest plugin: saved cases are tests, tests of one's own have a fake server, and all others are left alone."""

from __future__ import annotations

import asyncio
import gc
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from commands import ROOT
from few import few_examples

import fuzzmcp.fuzzing
import fuzzmcp.pytest_plugin.bodies
import fuzzmcp.report.terminal.replay
import fuzzmcp.search.corpus
import fuzzmcp.search.job  # noqa: F401  (what inner runs import is kept for the next of them)

pytest_plugins = ["pytester"]

NAIVE = (ROOT / "examples/naive_agent.py").read_text()
SDK = (ROOT / "examples/sdk_client.py").read_text()
CONFIG = """
[tool.pytest.ini_options]
testpaths = ["tests"]
[tool.fuzzmcp]
client = "my_client.py:connect"
"""
CAPPED = 'check = "spend_cap"\nfaults = "429cap"\n'


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a client that breaks a promise, and no tests."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.syspathinsert()
    write("pyproject.toml", CONFIG)
    write("my_client.py", NAIVE)
    write("regressions/spend_cap-3f2a.toml", CAPPED)
    write("tests/test_plain.py", "def test_plain():\n    pass\n")
    return pytester.path


def write(name: str, text: str) -> None:
    file = Path(name)
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)


def run(pytester: pytest.Pytester, *arguments: str, plugins: tuple[str, ...] = ()) -> pytest.RunResult:
    named = [word for name in ("fuzzmcp.pytest_plugin", *plugins) for word in ("-p", name)]
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *named, *arguments)


def text(result: pytest.RunResult) -> str:
    return str(result.stdout)


def own_tests(source: str) -> None:
    """Write tests of one's own, with what most of them need."""
    write("my_client.py", SDK)
    head = "import time\nimport warnings\nimport anyio\nimport pytest\nfrom my_client import connect\n\n"
    write("tests/test_mine.py", head + source)


# -- saved cases -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_a_saved_case_is_a_test_that_fails_with_its_story_and_not_with_our_internals(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    shown = text(result)
    for words in (
        "get_order was sent again 1.0 s after its spend cap was reached\n",
        'FAULTS=429cap   get_order(order_id="A1")\n',
        "  get_order  again from my_client.py:35 fetch  ◀ the second request\n",
        "again fuzzmcp replay regressions/spend_cap-3f2a.toml\n",
        "FAILED regressions/spend_cap-3f2a.toml::429cap - still fails: get_order was s",
    ):
        assert words in shown
    assert "pytest_plugin" not in shown.partition("= FAILURES =")[2]
    assert "corpus" not in shown


@pytest.mark.usefixtures("project")
def test_a_saved_case_passes_when_the_client_is_fixed(pytester: pytest.Pytester) -> None:
    write("my_client.py", SDK)
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.usefixtures("project")
def test_cases_are_listed_and_chosen_as_other_tests_are(pytester: pytest.Pytester) -> None:
    write("regressions/survives-1a2b.toml", 'check = "survives"\nfaults = "error(\\"a::b\\"),hang"\n')
    listed = run(pytester, "--co", "-q")
    listed.stdout.fnmatch_lines(
        [
            "tests/test_plain.py::test_plain",
            "regressions/spend_cap-3f2a.toml::429cap",
            'regressions/survives-1a2b.toml::error("a:b"),hang',
        ]
    )
    run(pytester, "-k", "429cap").assert_outcomes(failed=1, deselected=2)
    run(pytester, "-x", "regressions").assert_outcomes(failed=1)
    run(pytester, "regressions/spend_cap-3f2a.toml::429cap").assert_outcomes(failed=1)


@pytest.mark.usefixtures("project")
def test_only_the_folder_itself_is_added_to_the_test_paths(pytester: pytest.Pytester) -> None:
    write("regressions/.hidden.toml", CAPPED)
    write("regressions/tools-12345678.json", "{}")
    Path("regressions/below").mkdir()
    write("regressions/below/other.toml", CAPPED)
    write("other.toml", "[a]\nb = 1\n")
    run(pytester).assert_outcomes(passed=1, failed=1)
    run(pytester, "tests").assert_outcomes(passed=1)
    write("pyproject.toml", CONFIG.replace('["tests"]', '["."]'))
    run(pytester).assert_outcomes(passed=1, failed=1)
    write("pyproject.toml", CONFIG + 'regressions = "tests"\n')
    run(pytester).assert_outcomes(passed=1)


@pytest.mark.usefixtures("project")
def test_without_test_paths_a_plain_pytest_finds_the_cases_below_the_folder_it_is_started_in(
    pytester: pytest.Pytester,
) -> None:
    write("pyproject.toml", "[tool.fuzzmcp]\nclient = 'my_client.py:connect'\n")
    run(pytester).assert_outcomes(passed=1, failed=1)


@pytest.mark.usefixtures("project")
def test_without_a_client_the_folder_is_not_touched_unless_a_case_is_named(pytester: pytest.Pytester) -> None:
    write("pyproject.toml", CONFIG.partition("[tool.fuzzmcp]")[0])
    run(pytester).assert_outcomes(passed=1)
    run(pytester, "tests", "regressions").assert_outcomes(passed=1)
    result = run(pytester, "regressions/spend_cap-3f2a.toml")
    result.assert_outcomes(errors=1)
    assert (
        "regressions/spend_cap-3f2a.toml: no client is configured to replay this case: "
        'write client = "my_client.py:connect" under [tool.fuzzmcp] in pyproject.toml\n'
    ) in text(result)


@pytest.mark.usefixtures("project")
def test_a_bad_file_is_a_collection_error_of_one_line(pytester: pytest.Pytester) -> None:
    write("regressions/bad-0000.toml", 'check = "spend_cap"\nfaults = "429hap"\n')
    result = run(pytester)
    result.assert_outcomes(errors=1)
    after = text(result).partition("ERROR collecting regressions/bad-0000.toml")[2].splitlines()
    assert after[1].startswith("regressions/bad-0000.toml: line 2: faults: ")
    assert "did you mean '429cap'?" in after[1]
    assert after[2].startswith("====")


@pytest.mark.usefixtures("project")
def test_a_case_that_withholds_a_secret_is_collected_once_the_configuration_gives_its_call(
    pytester: pytest.Pytester,
) -> None:
    call = '{ tool = "get_order", arguments = { order_id = "A1", password = "[redacted]" } }'
    write("regressions/spend_cap-3f2a.toml", f'{CAPPED}calls = [{call}]\nwithheld = ["calls[0].arguments.password"]\n')
    result = run(pytester)
    result.assert_outcomes(errors=1)
    assert "line 4: withheld: the value of calls[0].arguments.password is a secret that is not saved" in text(result)
    write("pyproject.toml", CONFIG + """calls = ['get_order(order_id="A1", password="hunter2")']\n""")
    result = run(pytester)
    result.assert_outcomes(failed=1, passed=1)
    assert "hunter2" not in text(result)


@pytest.mark.usefixtures("project")
def test_a_broken_configuration_is_one_line_and_a_usage_error(pytester: pytest.Pytester) -> None:
    write("pyproject.toml", CONFIG + "clientt = 3\n")
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    expected = "ERROR: fuzzmcp: pyproject.toml, line 6: tool.fuzzmcp.clientt: unknown key; did you mean 'client'?"
    assert expected in str(result.stderr)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("client", "words"),
    [
        ("def f():\n    return 1 / 0\nf()\n", ("cannot import my_client.py: ZeroDivisionError", "line 2, in f")),
        (
            SDK.replace("yield", "raise OSError('no key')\n        yield"),
            ("the client fails before the first call, with no fault at all: OSError: no key", "in connect"),
        ),
        ("async def connect(server):\n    raise KeyError('model')\n", ("KeyError: 'model'", "my_client.py:2 connect")),
        ("connect = 3\n", ("my_client.py:connect is no client",)),
    ],
)
def test_a_client_that_cannot_run_is_an_error_with_its_own_traceback(
    pytester: pytest.Pytester, client: str, words: tuple[str, ...]
) -> None:
    write("my_client.py", client)
    result = run(pytester, "regressions")
    result.assert_outcomes(errors=1)
    shown = text(result)
    assert all(word in shown for word in words)
    assert "fuzzmcp/" not in shown.partition("= ERRORS =")[2].replace(str(pytester.path), "")


@pytest.mark.usefixtures("project")
def test_a_case_whose_fault_never_fires_or_that_breaks_another_promise_is_no_success(
    pytester: pytest.Pytester,
) -> None:
    write("regressions/spend_cap-3f2a.toml", 'check = "spend_cap"\nfaults = "ok,ok,ok,hang"\n')
    write("regressions/survives-1111.toml", 'check = "survives"\nfaults = "429cap"\n')
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=2)
    assert "the fault never fired: this proves nothing" in text(result)
    assert "spend_cap: get_order was sent again 1.0 s after its spend cap was reached" in text(result)
    assert "again fuzzmcp replay regressions/spend_cap-3f2a.toml\n" in text(result)


@pytest.mark.usefixtures("project")
def test_the_configuration_says_what_is_promised_and_asked(pytester: pytest.Pytester) -> None:
    write("regressions/request_budget-1111.toml", 'check = "request_budget"\nfaults = "529*"\n')
    asked = 'checks = ["request_budget"]\n'
    write("pyproject.toml", CONFIG + asked + "[tool.fuzzmcp.contract]\nmax_requests = 6\n")
    run(pytester, "regressions/request_budget-1111.toml").assert_outcomes(passed=1)
    write("pyproject.toml", CONFIG + asked + "[tool.fuzzmcp.contract]\nmax_requests = 5\n")
    result = run(pytester, "regressions/request_budget-1111.toml")
    result.assert_outcomes(failed=1)
    assert "cost 6 requests; the contract allows 5" in text(result)


@pytest.mark.usefixtures("project")
def test_each_folder_has_the_configuration_nearest_to_it(pytester: pytest.Pytester) -> None:
    write("inner/fuzzmcp.toml", "client = 'fixed.py:connect'\nregressions = 'kept'\n")
    write("inner/fixed.py", SDK)
    Path("inner/kept").mkdir()
    write("inner/kept/spend_cap-3f2a.toml", CAPPED)
    run(pytester, "inner").assert_outcomes(passed=1)
    run(pytester, "inner", "regressions").assert_outcomes(passed=1, failed=1)


@pytest.mark.usefixtures("project")
def test_saved_cases_run_under_xdist_and_are_written_to_junit_xml(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    write("tests/test_mine.py", "def test_other():\n    pass\n")
    result = run(pytester, "-n", "2", "--junitxml", "report.xml", plugins=("xdist.plugin",))
    result.assert_outcomes(passed=2, failed=1)
    assert "FAILED regressions/spend_cap-3f2a.toml::429cap - still fails: get_order" in text(result)
    report = Path("report.xml").read_text()
    assert 'tests="3"' in report
    assert "still fails: get_order was sent again 1.0 s after its spend cap was reached" in report


# -- fake_server -------------------------------------------------------------------------------------------------------

VIRTUAL = """
async def body(fake_server, backend):
    began = time.monotonic()
    async with connect(fake_server) as call_tool:
        await call_tool("get_order", {"order_id": "A1"})
        await anyio.sleep(3600)
    assert 3600 <= time.monotonic() - began < 3700
    assert anyio.get_cancelled_exc_class().__module__.partition(".")[0] == backend
    assert [event.method for event in fake_server.requests][-1] == "tools/call"
    (request,) = fake_server.requests_of(0)
    assert str(request.site).startswith("test_mine.py")
    assert [str(event.action) for event in fake_server.events if event.action] == ["429"]
"""


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_async_tests_of_pytest_asyncio_run_in_virtual_time(pytester: pytest.Pytester, mode: str) -> None:
    pytest.importorskip("pytest_asyncio")
    marker = "@pytest.mark.asyncio\n" if mode == "strict" else ""
    fixture = "pytest_asyncio.fixture" if mode == "strict" else "pytest.fixture"
    own_tests(
        f"""
import asyncio
import pytest_asyncio
{VIRTUAL}
@{fixture}
async def living():
    await asyncio.sleep(0)
    yield 5
    await asyncio.sleep(0)

{marker}@pytest.mark.faults("429")
async def test_function(fake_server):
    await body(fake_server, "asyncio")

{marker}@pytest.mark.faults("429")
async def test_beside_a_fixture(living, fake_server):
    assert living == 5
    await body(fake_server, "asyncio")

@pytest.mark.faults("429")
class TestClass:
    {marker.strip() or "pass"}
    async def test_method(self, fake_server):
        await body(fake_server, "asyncio")

{marker}async def test_real_time_of_others(living):
    assert time.monotonic() > 0
"""
    )
    plugins, scope = ("pytest_asyncio.plugin",), ("-o", "asyncio_default_fixture_loop_scope=function")
    result = run(pytester, f"--asyncio-mode={mode}", "tests", "-W", "error", *scope, plugins=plugins)
    result.assert_outcomes(passed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.set_event_loop(None)
        gc.collect()  # pytest-asyncio 0.24 leaves its loops unclosed; a later test must not hear of it


@pytest.mark.usefixtures("project")
def test_async_tests_of_anyio_run_in_virtual_time_on_both_loops(pytester: pytest.Pytester) -> None:
    own_tests(
        f"""{VIRTUAL}
@pytest.fixture
async def living(anyio_backend_name):
    await anyio.sleep(0)
    yield anyio_backend_name
    await anyio.sleep(0)

@pytest.mark.anyio
@pytest.mark.faults("429")
@pytest.mark.parametrize("anyio_backend", ["asyncio", ("trio", dict())])
async def test_beside_a_fixture(living, fake_server):
    await body(fake_server, living)

@pytest.mark.anyio
@pytest.mark.faults("429")
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_function(fake_server, anyio_backend):
    await body(fake_server, anyio_backend)

@pytest.mark.anyio
@pytest.mark.faults("429", backend="trio")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_contradiction(fake_server):
    pass
"""
    )
    result = run(pytester, "tests/test_mine.py", "-W", "error", plugins=("anyio",))
    result.assert_outcomes(passed=4, failed=1)
    assert "the marker faults asks for trio, but this test runs on asyncio" in text(result)


@pytest.mark.usefixtures("project")
def test_beside_an_async_fixture_a_real_server_answers_on_both_loops(pytester: pytest.Pytester) -> None:
    own_tests(
        """from harness.test_backing_server import shop
SHOP = shop()

@pytest.fixture
async def living(anyio_backend_name):
    yield anyio_backend_name

@pytest.mark.anyio
@pytest.mark.faults("ok", tools=SHOP)
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_it(living, fake_server):
    async with connect(fake_server) as call_tool:
        assert "12.5" in str(await call_tool("price", {"article": "tea"}))
"""
    )
    run(pytester, "tests/test_mine.py", "-W", "error", plugins=("anyio",)).assert_outcomes(passed=2)


@pytest.mark.usefixtures("project")
def test_the_loop_in_a_body_is_found_across_the_tasks_that_it_starts(pytester: pytest.Pytester) -> None:
    own_tests(
        """
async def asks(write, number):
    params = '{"name": "get_order", "arguments": {"order_id": "A1"}}'
    await write.send(f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}')

async def loops(fake_server):
    async with fake_server.lines() as (_, write):
        for number in range(2):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(asks, write, number)
    first, second = fake_server.requests
    assert (first.site.function, second.site.function) == ("asks", "asks")
    assert (first.loop, second.loop.function) == (None, "loops")

@pytest.mark.faults("429")
async def test_on_asyncio(fake_server):
    await loops(fake_server)

@pytest.mark.faults("429", backend="trio")
async def test_on_trio(fake_server):
    await loops(fake_server)
"""
    )
    run(pytester, "tests/test_mine.py").assert_outcomes(passed=2)


@pytest.mark.usefixtures("project")
def test_async_tests_need_no_async_plugin(pytester: pytest.Pytester) -> None:
    own_tests(
        f"""{VIRTUAL}
@pytest.mark.faults("429")
async def test_asyncio(fake_server):
    await body(fake_server, "asyncio")

@pytest.mark.faults("429", backend="trio")
async def test_trio(fake_server):
    await body(fake_server, "trio")

@pytest.mark.parametrize("seconds", [1, 10**6])
async def test_without_a_marker_it_answers(fake_server, seconds):
    async with connect(fake_server) as call_tool:
        answer = await call_tool("get_order", {{"order_id": "A1"}})
        await anyio.sleep(seconds)
    assert "A1" in str(answer)
    assert fake_server.events[-1].at == seconds

async def test_the_lines_of_a_client_without_the_sdk(fake_server):
    async with fake_server.lines() as (read, write):
        await write.send('{{"jsonrpc": "2.0", "id": 1, "method": "ping"}}')
        assert '"id": 1' in await read.receive()

@pytest.mark.faults("exit(3)")
async def test_the_process_of_a_client_that_starts_its_server(fake_server):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    with fake_server.process():
        async with stdio_client(StdioServerParameters(command="none")) as streams, ClientSession(*streams) as session:
            await session.initialize()
            with pytest.raises(Exception, match="closed"):
                await session.call_tool("get_order", {{"order_id": "A1"}})
    async with await fake_server.open_process(["server"]) as process:
        await process.stdin.send(b'{{"jsonrpc": "2.0", "id": 1, "method": "ping"}}')
    assert process.returncode == 0

@pytest.mark.faults("exit", transport="stdio")
async def test_over_stdio(fake_server):
    async with connect(fake_server) as call_tool:
        with pytest.raises(Exception, match="closed"):
            await call_tool("get_order", {{"order_id": "A1"}})
"""
    )
    run(pytester, "tests/test_mine.py", "-W", "error").assert_outcomes(passed=7)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("at", ["", "@5"])
def test_a_bug_of_our_own_is_told_as_one_whatever_the_test_does_with_it(pytester: pytest.Pytester, at: str) -> None:
    own_tests(
        f"""
from fuzzmcp.harness.transports.streams import Inbox
from fuzzmcp.harness.run import HarnessError

@pytest.fixture(autouse=True)
def bug(monkeypatch):
    def put(*_):
        raise KeyError("a bug of fuzzmcp's own")
    monkeypatch.setattr(Inbox, "put", put)

async def shrugs(fake_server):
    try:
        async with connect(fake_server) as call_tool:
            await call_tool("get_order", {{"order_id": "A1"}})
    except Exception:
        pass

@pytest.mark.faults("429{at}")
async def test_asyncio(fake_server):
    await shrugs(fake_server)

@pytest.mark.faults("429{at}", backend="trio")
async def test_trio(fake_server):
    await shrugs(fake_server)

@pytest.mark.faults("429{at}")
def test_plain(fake_server):
    with pytest.raises(HarnessError):
        fake_server.run(connect)
    fake_server.check(connect)
"""
    )
    result = run(pytester, "tests/test_mine.py")
    result.assert_outcomes(failed=3)
    told = re.findall(
        r"^E +fuzzmcp\S+HarnessError: fuzzmcp itself failed, with KeyError.*(case_of.*)\)$", text(result), re.M
    )
    assert sorted(told) == [
        f"case_of('429{at}'",
        f"case_of('429{at}'",
        f"case_of('429{at}', backend='trio'",
    ]
    assert len(re.findall("^E +KeyError: .a bug of fuzzmcp", text(result), re.M)) == 3


@pytest.mark.usefixtures("project")
def test_plain_tests_drive_a_client(pytester: pytest.Pytester) -> None:
    own_tests(
        """
import fuzzmcp
import naive_client

@pytest.mark.faults("429cap,hang", calls=['get_order(order_id="A1")', 'get_order(order_id="A2")'])
def test_run(fake_server):
    run = fake_server.run(connect)
    assert len(run.outcomes) == 2
    assert fake_server.requests == run.requests
    assert fake_server.requests_of(1) == run.requests_of(1) != ()

@pytest.mark.faults("429cap")
def test_check(fake_server):
    fake_server.check(connect)
    fake_server.check(naive_client.connect, checks=["survives"])
    with pytest.raises(fuzzmcp.CheckFailed, match="^spend_cap: get_order was sent again"):
        fake_server.check(naive_client.connect, checks=["spend_cap"])

@pytest.mark.faults("429*9")
def test_check_tells_of_all(fake_server):
    with pytest.raises(fuzzmcp.CheckFailed, match="^request_budget: .*\\nalso retry_after: "):
        fake_server.check(naive_client.connect, contract=fuzzmcp.Contract())

@pytest.mark.faults("529*")
def test_the_contract_of_the_configuration(fake_server):
    fake_server.check(naive_client.connect, checks=["request_budget"])
    with pytest.raises(fuzzmcp.CheckFailed):
        fake_server.check(naive_client.connect, checks=["request_budget"], contract=fuzzmcp.Contract())

TOOL = {"name": "mine", "inputSchema": {"type": "object"}}

@pytest.mark.faults(fuzzmcp.Script.parse("error"), tools=[TOOL], protocol="2025-06-18", backend="trio")
def test_tools_protocol_and_backend(fake_server):
    case = fake_server.run(connect).case
    assert ([tool.name for tool in case.tools], case.protocol, case.backend) == (["mine"], "2025-06-18", "trio")
"""
    )
    write("naive_client.py", NAIVE)
    write("pyproject.toml", CONFIG + "[tool.fuzzmcp.contract]\nmax_requests = 6\n")
    run(pytester, "tests/test_mine.py", "-W", "error").assert_outcomes(passed=5)


@pytest.mark.usefixtures("project")
def test_a_marker_that_cannot_be_used_is_an_error_that_names_test_and_place(pytester: pytest.Pytester) -> None:
    own_tests(
        """
@pytest.mark.faults("429,hnag@3")
def test_script(fake_server): pass
@pytest.mark.faults("429", backnd="trio")
def test_option(fake_server): pass
@pytest.mark.faults("429", calls=["get_ordr()"])
def test_call(fake_server): pass
@pytest.mark.faults("429", tools="no.json")
def test_tools(fake_server): pass
@pytest.mark.faults("429", tools="no_such_module:server")
def test_server(fake_server): pass
@pytest.mark.faults(429)
def test_kind(fake_server): pass
@pytest.mark.faults("429")
def test_unasked(): pass
@pytest.fixture
def outside(fake_server):
    return fake_server.connect()
def test_outside(outside): pass
"""
    )
    result = run(pytester, "tests/test_mine.py")
    result.assert_outcomes(errors=7, failed=1)
    for words in (
        "test_script: script, character 5: unknown fault 'hnag'; did you mean 'hang'?\n  429,hnag@3\n      ^\n",
        "test_option: faults takes no 'backnd'; did you mean 'backend'?\n",
        "test_call: unknown tool 'get_ordr'; did you mean 'get_order'?\n",
        "test_tools: no.json: cannot be read: ",
        "test_server: tools: cannot import no_such_module: ",
        "test_kind: faults takes one script, as in '429,hang', found 429\n",
        "test_unasked is marked with faults, but does not ask for fake_server\n",
        "fake_server lives in the virtual time of an async test: connect in the body",
    ):
        assert words in text(result)


@pytest.mark.usefixtures("project")
def test_a_test_in_which_no_fault_happened_fails_and_one_with_steps_left_over_warns(
    pytester: pytest.Pytester,
) -> None:
    own_tests(
        """
from fuzzmcp.pytest_plugin import FaultWarning

async def ask(fake_server):
    async with connect(fake_server) as call_tool:
        await call_tool("get_order", {"order_id": "A1"})

@pytest.mark.faults("ok,hang")
async def test_nothing_happened(fake_server):
    await ask(fake_server)

@pytest.mark.faults("hang")
def test_nothing_was_run(fake_server): pass

@pytest.mark.faults("hang")
def test_that_is_skipped_needs_no_fault(fake_server):
    pytest.skip()

@pytest.mark.faults("429cap,hang")
async def test_left_over(fake_server):
    await ask(fake_server)

@pytest.mark.faults("429cap+cancel@1,hang")
@pytest.mark.filterwarnings("ignore::fuzzmcp.pytest_plugin.FaultWarning")
def test_ignored(fake_server):
    fake_server.run(connect)

@pytest.mark.faults("429,ok,ok")
async def test_plain_answers_are_no_faults(fake_server):
    await ask(fake_server)
"""
    )
    result = run(pytester, "tests/test_mine.py", "-W", "default")
    result.assert_outcomes(passed=3, failed=2, skipped=1, warnings=1)
    assert "no fault of 'ok,hang' ever fired: no request of the client took a step of the script\n" in text(result)
    assert "FaultWarning: 'hang' was never reached: no request took it\n" in text(result)
    strict = run(pytester, "tests/test_mine.py", "-W", "error")
    strict.assert_outcomes(passed=2, failed=3, skipped=1)
    assert "pytest_plugin/__init__.py" not in text(strict)


@pytest.mark.usefixtures("project")
def test_a_test_that_fails_shows_the_wire_and_one_that_waits_for_ever_shows_where(pytester: pytest.Pytester) -> None:
    own_tests(
        """
@pytest.mark.faults("429")
async def test_assertion(fake_server):
    async with connect(fake_server) as call_tool:
        await call_tool("get_order", {"order_id": "A1"})
    assert not fake_server.requests_of(0)

@pytest.mark.faults("hang")
async def test_waits(fake_server):
    async with connect(fake_server) as call_tool:
        await anyio.sleep(2)
        await anyio.sleep_forever()

async def test_floods(fake_server):
    async with fake_server.lines() as (read, write):
        while True:
            await write.send('{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
            await read.receive()
"""
    )
    result = run(pytester, "tests/test_mine.py")
    result.assert_outcomes(failed=3)
    shown = text(result)
    assert "Captured fake_server call" in shown
    assert '  get_order(order_id="A1")  test_mine.py:11 test_assertion' in shown
    assert "at 2.000 s: nothing is ready" in shown
    assert "this waits for ever (test_mine.py:18 test_waits)\n" in shown
    assert "the client has sent more than 1,000 messages" in shown
    assert "clock" not in shown.partition("= FAILURES =")[2].replace("the clock", "")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "code", re.findall(r"^```py\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
)
def test_the_tests_in_the_readme_pass(pytester: pytest.Pytester, code: str) -> None:
    write("tests/test_plain.py", code)
    with few_examples():
        result = run(pytester, "tests", "-W", "error")
    result.assert_outcomes(passed=len(re.findall(r"^(?:async )?def test_|^test_\w+ = ", code, re.M)))


# -- all others --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("project")
def test_it_can_be_switched_off(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:asyncio -p no:cacheprovider")
    write("tests/test_mine.py", "def test_mine(fake_server): pass\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=2, failed=1)
    off = pytester.runpytest_inprocess("-p", "no:fuzzmcp")
    off.assert_outcomes(passed=1, errors=1)
    assert "fixture 'fake_server' not found" in text(off)
    assert "faults(" not in text(pytester.runpytest_inprocess("-p", "no:fuzzmcp", "--markers"))
    assert "@pytest.mark.faults(script, *, calls, tools" in text(pytester.runpytest_inprocess("--markers"))


def test_it_imports_nothing_heavy_before_it_is_needed(tmp_path: Path) -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); "
        "pytest.main(['-p', 'fuzzmcp.pytest_plugin', '-p', 'no:cacheprovider', '-q', '--co']); "
        "print({'hypothesis', 'mcp', 'anyio', 'rich', 'jsonschema', 'click', 'trio'} & set(sys.modules))"
    )
    write(str(tmp_path / "pyproject.toml"), "[tool.fuzzmcp]\nclient = 'a:b'\n")
    write(str(tmp_path / "test_a.py"), "def test_a(): pass\n")
    environment = {"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "set()", result.stdout + result.stderr
