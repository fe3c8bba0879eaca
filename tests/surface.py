"""The public surface of fuzzmcp: everything that users write down, as one fact a line in `surface.txt`.

`python tests/surface.py` writes the file anew. All facts are read through public names and from what the commands do:
the code behind them can move. Words that people only read (help, messages) are no facts.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import Result
from commands import invoke, signalled

import fuzzmcp
from fuzzmcp.cli import main

SNAPSHOT = Path(__file__).with_name("surface.txt")
NAIVE = "fuzzmcp.examples.naive_agent:connect"
CASE_WITH_EVERY_KEY = """
version = 1
check = "finishes"
faults = "429"
protocol = "2025-06-18"
transport = "stdio"
backend = "trio"
schedule = 7
calls = [{ tool = "echo", arguments = { text = "a" }, at = 2.5 }]
outputs = { echo = { text = "b" } }
note = "a note"

[[tool]]
name = "echo"
inputSchema = { type = "object" }
"""
CASE_THAT_WITHHOLDS = """
check = "spend_cap"
faults = "429cap"
calls = [{ tool = "get_order", arguments = { order_id = "A1", password = "[redacted]" } }]
withheld = ["calls[0].arguments.password"]
"""
MARKERS_OF_PYTEST = ("filterwarnings", "parametrize", "skip", "skipif", "tryfirst", "trylast", "usefixtures", "xfail")
Facts = Iterator[str]


# -- names, parameters and attributes ---------------------------------------------------------------------------------


def names_of_the_package() -> Facts:
    yield from names_of("fuzzmcp")
    yield f"__version__: {type(fuzzmcp.__version__).__name__}"
    yield from attributes_of_raised("ScriptError", fuzzmcp.ScriptError, lambda: fuzzmcp.Script.parse("429hap"))
    yield from attributes_of_raised("CheckFailed", fuzzmcp.CheckFailed, lambda: fuzzmcp.check(naive(), "429cap"))


def names_of(module: str) -> Facts:
    """Each name in `__all__` of a module, with what can be given to it and asked of it."""
    place = importlib.import_module(module)
    for name in place.__all__:
        value = getattr(place, name)
        yield from class_facts(name, value) if inspect.isclass(value) else function_facts(name, value)


def function_facts(name: str, function: Any) -> Facts:
    """The name, and a fact for each parameter: its place unless it goes by keyword, and its default."""
    yield f"{name}()"
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    for place, parameter in enumerate(parameters):
        default = "" if parameter.default is parameter.empty else f" = {spelled(parameter.default)}"
        before = {
            parameter.POSITIONAL_ONLY: f"{place}, nameless: ",
            parameter.POSITIONAL_OR_KEYWORD: f"{place}: ",
            parameter.VAR_POSITIONAL: "*",
            parameter.KEYWORD_ONLY: "keyword: ",
            parameter.VAR_KEYWORD: "**",
        }[parameter.kind]
        yield f"{name}({before}{parameter.name}{default})"


def class_facts(name: str, kind: type) -> Facts:
    """The class with its builtin bases, what makes one, and its public attributes with what its methods take."""
    yield f"{name}: class"
    bases = [base for base in kind.__mro__[1:-1] if base.__module__ == "builtins" and base is not BaseException]
    yield from (f"{name}: subclass of {base.__name__}" for base in bases)
    if not issubclass(kind, BaseException):
        yield from function_facts(name, kind)
    for field in dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ():
        yield f"{name}.{field.name}"
    for base in kind.__mro__:
        for attribute, value in vars(base).items() if is_own(base) else ():
            if attribute.startswith("_"):
                continue
            plain = inspect.unwrap(getattr(value, "__func__", value))
            if inspect.isfunction(plain):
                yield from function_facts(f"{name}.{attribute}", plain)
            else:
                yield f"{name}.{attribute}"


def attributes_of_raised(name: str, kind: type[BaseException], doing: Callable[[], Any]) -> Facts:
    try:
        doing()
    except kind as error:
        yield from (f"{name}.{attribute}" for attribute in vars(error) if not attribute.startswith("_"))


def is_own(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "fuzzmcp"


def spelled(value: Any) -> str:
    """A default that reads the same in every version: plain data as it is, of anything else its type."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(spelled, value))}]"
    if repr(value) == "<factory>":  # of a dataclass
        return "<factory>"
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain else f"<{type(value).__name__.lstrip('_')}>"


def naive() -> Any:
    return importlib.import_module("fuzzmcp.examples.naive_agent").connect


def objects_that_a_run_hands_out() -> Facts:
    """Classes that have no public name, and are reached through the attributes of a `Run` and a `Case`."""
    run = fuzzmcp.run(naive(), "429cap")
    violation = next(iter(fuzzmcp.violations(run, fuzzmcp.Contract()).values()))
    step = run.case.script.steps[0]
    answered = next(event for event in run.events if event.answer is not None)
    asked = next(event for event in run.events if event.loop is not None)
    for name, thing in (
        ("case.tools[]", run.case.tools[0]),
        ("script.steps[]", step),
        ("script.steps[].actions[]", step.actions[0]),
        ("run.events[]", answered),
        ("run.events[].answer", answered.answer),
        ("run.events[].loop", asked.loop),
        ("violations()[]", violation),
    ):
        # Nobody makes these, so what their classes take is no promise.
        yield from (fact for fact in class_facts(name, type(thing)) if fact.startswith(f"{name}."))


def server_that_a_client_is_given() -> Facts:
    """What the servers of a run and of a test have in common: one client has to do with both."""
    given: list[Any] = []

    async def agent(server: Any) -> None:
        given.append(server)

    fuzzmcp.run(agent, "429")
    in_a_run = set(class_facts("server", type(given[0])))
    in_a_test = class_facts("server", type(in_pytest().fixture))
    yield from (fact for fact in in_a_test if fact in in_a_run and fact.startswith("server."))


# -- modules that are named in a text ----------------------------------------------------------------------------------


def clients_that_come_with_it() -> Facts:
    yield from exports_of("fuzzmcp.clients")


def examples() -> Facts:
    yield from exports_of("fuzzmcp.examples")


def exports_of(package: str) -> Facts:
    """What the command line takes of each module, read without its framework being there."""
    for file in files(package).iterdir():
        if not file.name.endswith(".py"):
            continue
        for statement in ast.parse(file.read_text("utf-8")).body:
            for name in names_bound_by(statement):
                if name in ("agent", "connect", "contract"):
                    yield f"{package}.{file.name.removesuffix('.py')}:{name}"


def names_bound_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def exported_tests() -> Facts:
    """What `fuzzmcp export` has written into the test suites of users, from a case file with every key."""
    with tempfile.TemporaryDirectory() as folder:
        case, client = Path(folder, "finishes-1.toml"), Path(folder, "client.py")
        case.write_text(CASE_WITH_EVERY_KEY, "utf-8")
        client.write_text("async def agent(server): ...\nasync def other(server): ...\n", "utf-8")
        code = done("export", NAIVE, str(case), "--deadline", "5s").stdout
        code += done("export", f"{client}:agent", str(case)).stdout
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("fuzzmcp."):
            yield from (f"from {node.module} import {alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and (name := ast.unparse(node.func)) != "str":
            yield from (f"{name}({keyword.arg}=)" for keyword in node.keywords)
    target = importlib.import_module("fuzzmcp.target")
    yield from function_facts("fuzzmcp.target.load", target.load)


# -- commands ----------------------------------------------------------------------------------------------------------


def commands() -> Facts:
    yield from parameters_of(main, "fuzzmcp")
    for name, command in main.commands.items():
        yield f"fuzzmcp {name}"
        yield from parameters_of(command, f"fuzzmcp {name}")


def parameters_of(command: click.Command, name: str) -> Facts:
    """A fact for each way to write an option, one for its default, and one for each word that it can be given."""
    arguments = 0
    with click.Context(command) as context:
        for parameter in command.get_params(context):
            if (
                "--help" in parameter.opts
            ):  # click keeps the names that it had where the command was first asked for help
                continue
            told = parameter.to_info_dict()
            is_option = isinstance(parameter, click.Option)
            option = parameter.opts[0] if is_option else f"argument {(arguments := arguments + 1)}"
            takes = "" if told.get("is_flag") else " VALUE…" if told["nargs"] == -1 or told["multiple"] else " VALUE"
            for word in (*parameter.opts, *parameter.secondary_opts) if is_option else ():
                yield f"{name} {word}{takes}"
            if not is_option:
                yield f"{name} {option}:{takes}{', required' if told['required'] else ''}"
            default = told.get("default")
            if isinstance(default, (bool, int, float, str)) and default is not False:
                yield f"{name} {option}: default {default}"
            for item in parameter.shell_complete(context, ""):
                if item.type == "plain" and not item.value.startswith("-"):
                    # An option means the same in every command: its words are told once.
                    yield f"{option if is_option else f'{name} {option}'}: one is {item.value}"


def exit_codes() -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        yield f"a replay that breaks nothing: {code_of('replay', NAIVE, 'ok')}"
        yield f"a replay that breaks a promise: {code_of('replay', NAIVE, '429cap')}"
        yield f"a search that finds nothing: {code_of('run', NAIVE, '--runs', '1', '--check', 'survives')}"
        yield f"a search that finds something: {code_of('run', NAIVE, '--runs', '60', '--check', 'spend_cap')}"
        yield f"no such command: {code_of('nothing')}"
        yield f"no such option: {code_of('run', '--nothing')}"
        yield f"a script that cannot be read: {code_of('replay', NAIVE, '429hap')}"
        yield f"a case file that cannot be used: {code_of('replay', NAIVE, written(folder, 'a.toml', 'x = 1'))}"
        secret = written(folder, "secret.toml", CASE_THAT_WITHHOLDS)
        yield f"a case file that withholds a value which nobody gives: {code_of('replay', NAIVE, secret)}"
        whole = code_of("replay", NAIVE, secret, "--call", 'get_order(order_id="A1", password="x")')
        yield f"a case file that withholds a value, with the call that has it: {whole}"
        yield f"a client that is not there: {code_of('run', 'no_such_module:connect')}"
        yield f"a search that is interrupted: {code_of('run', signalled(Path(folder), 'SIGINT', 1), '--runs', '60')}"


def code_of(*words: str) -> int:
    return invoke(*words).exit_code


def done(*words: str) -> Result:
    result = invoke(*words)
    assert result.exit_code in (0, 1), result.output
    return result


def written(folder: str, name: str, text: str) -> str:
    path = Path(folder, name)
    path.write_text(text, "utf-8")
    return str(path)


def configuration() -> Facts:
    """The keys of `[tool.fuzzmcp]`, as `fuzzmcp config` lists them."""
    with tempfile.TemporaryDirectory() as folder, working_in(folder):
        written(folder, "fuzzmcp.toml", "")
        yield from re.findall(r"^([a-z_.]+)  ", done("config").stdout, re.MULTILINE)


# -- files that are kept -----------------------------------------------------------------------------------------------


def json_report() -> Facts:
    """The keys of what `run` and `campaign` write: findings that are known, saved and stale."""
    with tempfile.TemporaryDirectory() as folder:
        old, report = Path(folder, "old"), str(Path(folder, "report.json"))
        old.mkdir()
        written(str(old), "spend_cap-1.toml", 'check = "spend_cap"\nfaults = "429cap"\n')
        written(str(old), "finishes-1.toml", 'check = "finishes"\nfaults = "429"\n')
        new = ("--save", str(Path(folder, "new")), "--report", f"json={report}")
        done("run", NAIVE, "--runs", "60", "--seed", "3", "--check", "spend_cap", *new)
        yield from keys_of(json.loads(Path(report).read_text()))
        where = ("--database", "none", "--no-canary", "--baseline", str(old))
        done("campaign", NAIVE, "--runs", "1", "--seed", "3", "--check", "spend_cap,finishes", *where, *new)
        yield from keys_of(json.loads(Path(report).read_text()))


def json_report_of_stack() -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        done("stack", NAIVE, "--fault", "429", "--runs", "2", "--report", f"json={report}")
        yield from keys_of(json.loads(report.read_text()))


def case_files() -> Facts:
    """The keys of a case file that a search saves; those that are read besides are held by the exported tests."""
    with tempfile.TemporaryDirectory() as folder:
        done("run", NAIVE, "--runs", "60", "--seed", "3", "--check", "spend_cap", "--save", folder)
        (file,) = Path(folder).glob("*.toml")
        yield f"name: {re.sub('[0-9a-f]{4,}', 'HEX', file.name)}"
        yield from (key for key in re.findall(r"^(\w+) = ", file.read_text("utf-8"), re.MULTILINE))
        yield from (f"calls[].{key}" for key in re.findall(r"[{,] ?(tool|arguments|at) = ", file.read_text("utf-8")))


def keys_of(value: Any, path: str = "") -> Facts:
    """A fact for each leaf: its path, and its type. Keys that are names of something are `*`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            named = path in ("checks", "faults", "faults.*.reactions", "undelivered", "exposed", "reasons")
            named |= path.endswith(".arguments")
            yield from keys_of(inner, f"{path}.{'*' if named else key}".lstrip("."))
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner, f"{path}[]")
    else:
        kinds = {"int": "number", "float": "number", "str": "text", "bool": "yes or no", "NoneType": "null"}
        yield f"{path}: {kinds[type(value).__name__]}"


# -- pytest and the installed package ----------------------------------------------------------------------------------


def pytest_plugin() -> Facts:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        in_pytest("--fixtures")
    for section in re.split(r"^-+ fixtures defined from ", shown.getvalue(), flags=re.MULTILINE)[1:]:
        if section.startswith("fuzzmcp."):
            yield from (f"fixture {name}" for name in re.findall(r"^(\w+).* -- ", section, re.MULTILINE))
    # pytest makes it: what its class takes is no promise.
    facts = class_facts("fake_server", type(in_pytest().fixture))
    yield from (fact for fact in facts if fact.startswith("fake_server."))
    for marker in markers():
        name, _, rest = marker.partition("(")
        yield f"marker {name}"
        yield from (
            f"marker {name}({word.strip()})" for word in rest.partition(")")[0].split(",") if word.strip() != "*"
        )
    plugin = importlib.import_module("fuzzmcp.pytest_plugin")
    yield f"fuzzmcp.pytest_plugin.{plugin.FaultWarning.__name__}"


class _Watching:
    """Takes down what the markers are and what the fixture is, and lets no test run."""

    def __init__(self) -> None:
        self.markers: list[str] = []
        self.fixture: Any = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.markers = session.config.getini("markers")

    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        self.fixture = pyfuncitem.funcargs["fake_server"]
        return True


def markers() -> list[str]:
    return [marker for marker in in_pytest().markers if re.split(r"\W", marker)[0] not in MARKERS_OF_PYTEST]


@functools.cache
def in_pytest(*words: str) -> _Watching:
    """A pytest of its own in this process, with this plugin and one test, that leaves the one around it alone."""
    watching = _Watching()
    test = "import pytest\n@pytest.mark.faults('429')\ndef test_it(fake_server): ...\n"
    without = ["cacheprovider", "faulthandler", "threadexception", "unraisableexception"]
    options = ["-p", "fuzzmcp.pytest_plugin", *(word for name in without for word in ("-p", f"no:{name}"))]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, working_in(folder):
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        patch.setattr(sys, "path", list(sys.path))
        written(folder, "pytest.ini", "[pytest]\n")
        file = written(folder, "test_of_the_surface.py", test)
        quiet = contextlib.nullcontext() if words else contextlib.redirect_stdout(io.StringIO())
        with quiet:
            pytest.main([*options, *words, file], plugins=[watching])
        sys.modules.pop("test_of_the_surface", None)
    return watching


def package() -> Facts:
    distribution = importlib.metadata.distribution("fuzzmcp")
    for entry in distribution.entry_points:
        yield f"{entry.group}: {entry.name}" + (f" = {entry.value}" if entry.group == "pytest11" else "")
    extras = distribution.metadata.get_all("Provides-Extra") or []
    yield from (f"fuzzmcp[{extra}]" for extra in extras if extra not in ("test", "lint"))


@contextlib.contextmanager
def working_in(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# -- the file ----------------------------------------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[], Facts]] = {
    "fuzzmcp": names_of_the_package,
    "fuzzmcp.strategies": lambda: names_of("fuzzmcp.strategies"),
    "fuzzmcp.upstream": lambda: names_of("fuzzmcp.upstream"),
    "objects that a run hands out": objects_that_a_run_hands_out,
    "server that a client is given": server_that_a_client_is_given,
    "fuzzmcp.clients": clients_that_come_with_it,
    "fuzzmcp.examples": examples,
    "exported tests": exported_tests,
    "commands": commands,
    "exit codes": exit_codes,
    "configuration": configuration,
    "JSON report": json_report,
    "JSON report of stack": json_report_of_stack,
    "case files": case_files,
    "pytest": pytest_plugin,
    "package": package,
}


def facts_of(section: str) -> list[str]:
    """What is true today, each fact once, in an order that only the facts decide: by name, numbers as numbers."""
    return sorted(set(SECTIONS[section]()), key=_words_and_numbers)


def _words_and_numbers(fact: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", fact)]


def saved() -> dict[str, list[str]]:
    """What `surface.txt` says of each section."""
    found: dict[str, list[str]] = {}
    for line in SNAPSHOT.read_text("utf-8").splitlines():
        if line.startswith("## "):
            found[line.removeprefix("## ")] = []
        elif line:
            found[list(found)[-1]].append(line)
    return found


def text_of(surface: dict[str, list[str]]) -> str:
    return "\n".join(f"## {section}\n\n" + "".join(f"{fact}\n" for fact in facts) for section, facts in surface.items())


if __name__ == "__main__":
    SNAPSHOT.write_text(text_of({section: facts_of(section) for section in SECTIONS}), "utf-8")
