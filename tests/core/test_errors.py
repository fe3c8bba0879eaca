"""What a user can see go wrong is a `FuzzmcpError`, and says what the command line exits with."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import fuzzmcp
import fuzzmcp.strategies
from fuzzmcp.core import errors
from fuzzmcp.core.errors import BadValue, FuzzmcpError, OwnFault

NO_ERRORS_OF_OURS = {
    "CheckFailed": "a broken promise is a failed assertion; each check has a subclass",
    "BadOption": "click's own words for a wrong option, on the command line only",
    "FaultWarning": "a warning of pytest",
    "StopSearch": "ends a search, which catches it",
    "_Enough": "ends an exploration, which catches it",
    "Deadlock": "the clock stands alone: every run of it says in its own words that nothing can happen any more",
    "LoopStalled": "ends code of the client that holds up the loop; the run catches it",
    "Exhausted": "ends a teardown; the clock catches it",
    "RunOver": "ends a thread that waits",
    "Hopeless": "each HTTP library says it in its own words",
    "TimedOut": "each HTTP library says it in its own words",
    "Closed": "each HTTP library says it in its own words",
    "UnresolvableRef": "a schema whose reference leads nowhere; the catalogue says where",
    "UntranslatableError": "a schema in words that no strategy knows; a simpler strategy takes its place",
}
FRAMEWORKS = "fuzzmcp.clients."


def exceptions() -> Iterator[type[BaseException]]:
    """Every exception class that a module of the package defines; the adapters of frameworks define none."""
    for package in (fuzzmcp, fuzzmcp.strategies):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith(FRAMEWORKS) or module.name.endswith("__main__"):
                continue
            for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if issubclass(found, BaseException) and found.__module__ == module.name:
                    yield found


FOUND = sorted(set(exceptions()), key=lambda kind: kind.__qualname__)


@pytest.mark.parametrize("kind", FOUND, ids=lambda kind: kind.__name__)
def test_each_exception_is_one_of_ours_or_has_a_reason_not_to_be(kind: type[BaseException]) -> None:
    listed = any(base.__name__ in NO_ERRORS_OF_OURS for base in kind.__mro__)
    assert issubclass(kind, FuzzmcpError) != listed
    assert not issubclass(kind, FuzzmcpError) or kind.exit_code in (errors.BAD_USAGE, errors.CANNOT_RUN)


def test_each_reason_is_for_an_exception_that_there_is() -> None:
    assert set(NO_ERRORS_OF_OURS) <= {kind.__name__ for kind in FOUND}


def test_the_tree_has_them_all() -> None:
    ours = {kind.__name__ for kind in FOUND if issubclass(kind, FuzzmcpError)}
    drawn = {word for line in (errors.__doc__ or "").splitlines() for word in line.strip("│├└─ ").split()[:1]}
    assert ours <= drawn


def test_each_is_still_what_it_was_before_there_was_a_base() -> None:
    for name in ("ScriptError", "CaseError", "CaseFileError", "ConfigError", "ToolsError", "DatabaseError"):
        (kind,) = (each for each in FOUND if each.__name__ == name)
        assert issubclass(kind, ValueError)
    assert issubclass(fuzzmcp.HarnessError, RuntimeError)
    assert issubclass(fuzzmcp.HarnessError, OwnFault)


def test_what_was_given_wrongly_is_caught_by_one_name() -> None:
    with pytest.raises(fuzzmcp.FuzzmcpError):
        fuzzmcp.run(print, "429")
    with pytest.raises(fuzzmcp.FuzzmcpError):
        fuzzmcp.Script.parse("429hap")


def test_a_bad_value_is_told_by_its_place_where_it_has_one() -> None:
    assert str(BadValue("skip", "no check is left to ask")) == "skip: no check is left to ask"
    assert str(BadValue("skip", "no", "fuzzmcp.toml, line 3: skip")) == "fuzzmcp.toml, line 3: skip: no"
