"""The pytest plugin: saved cases are tests, and tests of one's own get a fake server in virtual time.

pytest loads it in every run of the environment, so nothing heavy is imported before it is needed. `-p no:fuzzmcp`
removes all of it. What it needs to know stands in the project's configuration (`fuzzmcp.core.config`): the client.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fuzzmcp.core.config import Config, ConfigError, find

if TYPE_CHECKING:
    from fuzzmcp.pytest_plugin.cases import CaseFile
    from fuzzmcp.pytest_plugin.server import ScriptedServer

_MARKER = (
    "faults(script, *, calls, tools, protocol, transport, backend): what the fixture fake_server does, request by "
    "request, as in '429,hang' (fuzzmcp)"
)
_CONFIG = pytest.StashKey[Config]()
_SERVER = pytest.StashKey["ScriptedServer"]()


class FaultWarning(pytest.PytestWarning):
    """A part of a test's script never happened: a step that no request took, or a fault that could not be sent.

    That may be what the test wants (a client that gives up early leaves steps over), so it is no failure. A test in
    which no fault happened at all proves nothing, and fails.
    """


# -- saved cases -------------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    try:
        found = config.stash[_CONFIG] = find(config.rootpath)
    except ConfigError as error:
        raise pytest.UsageError(f"fuzzmcp: {error}") from None
    if found.client is not None and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        folder, here = found.path("regressions"), config.invocation_params.dir
        if folder.is_dir() and not any(_within(folder, here / argument) for argument in config.args):
            config.args.append(str(folder))


def _within(folder: Path, other: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(other))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    if file_path.suffix != ".toml":
        return None
    from fuzzmcp.pytest_plugin.cases import case_file

    return case_file(file_path, parent)


# -- tests of one's own ------------------------------------------------------------------------------------------------


@pytest.fixture
def fake_server(request: pytest.FixtureRequest) -> ScriptedServer:
    """The server that a client is given in a test: it plays the script of `@pytest.mark.faults(…)`.

    The body of an async test runs in virtual time, whichever plugin runs it: `connect(fake_server)` there. In any other
    test, `fake_server.run(client)` and `fake_server.check(client)` drive a client.
    """
    from fuzzmcp.pytest_plugin.server import server_for

    server = server_for(request.node, request.config.stash[_CONFIG])
    request.node.stash[_SERVER] = server
    return server


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    server = item.stash.get(_SERVER, None)
    if server is None:
        result = yield
        if any(mark.name == "faults" for mark in item.own_markers) and _SERVER not in item.stash:
            pytest.fail(f"{item.name} is marked with faults, but does not ask for fake_server", pytrace=False)
        return result
    from fuzzmcp.pytest_plugin.bodies import in_virtual_time, told

    try:
        with in_virtual_time(item, server):
            result = yield
    except BaseException as error:
        told(item, server, error)
        raise
    for remark in server.remarks():
        _warn(item, remark)
    return result


def _warn(item: pytest.Item, remark: str) -> None:
    try:
        item.warn(FaultWarning(remark))
    except FaultWarning:  # the user wants warnings to be errors
        from fuzzmcp.pytest_plugin.failures import failure

        raise failure("FaultWarning", remark) from None
