"""The client under test, named as `module:attr` or `path.py:attr`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from fuzzmcp.core.errors import CANNOT_RUN, FuzzmcpError
from fuzzmcp.core.spelling import meant


class TargetError(FuzzmcpError):
    """A client that cannot be loaded, or is neither a client nor an agent."""

    exit_code = CANNOT_RUN


@dataclass(frozen=True)
class Target:
    """The code under test.

    `role` is `client` when `function(server)` is an async context manager of a `call_tool` (fuzzmcp makes the calls),
    `agent` when it is a coroutine (it makes its own calls). `backend` names its parameter that is annotated `Upstream`,
    where it has one: it gets the HTTP backend of the run.
    """

    name: str
    function: Callable[..., Any]
    role: Literal["client", "agent"]
    backend: str | None = None

    @cached_property
    def file(self) -> str | None:
        """The real path of the file that defines it, where that is known."""
        try:
            path = inspect.getsourcefile(inspect.unwrap(self.function))
        except TypeError:
            return None
        return os.path.realpath(path) if path else None


def target_of(function: Any, name: str | None = None) -> Target:
    """Classify a callable as client or agent.

    Raises:
        TargetError: It is neither, with what to change.

    >>> async def agent(server): ...
    >>> target_of(agent).role
    'agent'
    """
    if isinstance(function, Target):
        return function
    try:
        return _classified(function, name)
    except TypeError:  # it cannot be hashed
        return _classified.__wrapped__(function, name)


@lru_cache(maxsize=64)
def _classified(function: Any, name: str | None) -> Target:
    name = name or str(getattr(function, "__qualname__", type(function).__name__))
    if not callable(function):
        raise TargetError(
            f"{name} is no client: expected a function that takes the server, found {type(function).__name__}"
        )
    inner = inspect.unwrap(getattr(function, "func", function))
    first, backend = _upstream_parameters(function)
    if first:
        raise TargetError(
            f"{name} takes an Upstream: it calls a plain HTTP backend, and is no MCP client. "
            f"'fuzzmcp stack {name}' shows its retries, fuzzmcp.upstream.run drives it in a test"
        )
    if inspect.isasyncgenfunction(function):
        raise TargetError(f"{name} is an async generator: decorate it with @contextlib.asynccontextmanager")
    if inspect.iscoroutinefunction(inner):
        return Target(name, function, "agent", backend)
    if inspect.isasyncgenfunction(inner) or hasattr(inner, "__aenter__"):
        return Target(name, function, "client", backend)
    if (inspect.isgeneratorfunction(inner) and inner is not function) or hasattr(inner, "__enter__"):
        from fuzzmcp.harness.blocking import threaded

        return Target(name, threaded(function), "client", backend)
    if inspect.isfunction(inner) and not inner.__code__.co_argcount:
        raise TargetError(f"{name} takes no argument: a client is called with the server")
    raise TargetError(
        f"{name} is neither a client (an @asynccontextmanager function that yields call_tool) "
        "nor an agent (an async function)"
        + ("; 'fuzzmcp stack' takes it for a function of an Upstream" if is_plain(function) else "")
    )


def is_plain(function: Any) -> bool:
    """Whether a callable is a function of an `Upstream` alone: its first parameter says so, or it is not async.

    >>> def fetch(backend): ...
    >>> async def agent(server): ...
    >>> is_plain(fetch), is_plain(agent)
    (True, False)
    """
    if not callable(function) or inspect.isclass(function):
        return False
    inner = inspect.unwrap(getattr(function, "func", function))
    if _upstream_parameters(function)[0]:
        return True
    others = (inspect.isasyncgenfunction, inspect.iscoroutinefunction, inspect.isgeneratorfunction)
    return inspect.isfunction(inner) and not any(of(inner) for of in others) and bool(inner.__code__.co_argcount)


def _upstream_parameters(function: Any) -> tuple[bool, str | None]:
    """Whether the first parameter is annotated `Upstream`, and else the name of the one that is."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False, None
    named = [place for place, parameter in enumerate(parameters) if _is_upstream(parameter.annotation)]
    return named[:1] == [0], parameters[named[0]].name if named and named[0] else None


def _is_upstream(annotation: Any) -> bool:
    """Whether an annotation, as text or as a type, is or allows `fuzzmcp.upstream.Upstream`: nothing is imported."""
    if isinstance(annotation, str):
        return re.search(r"\bUpstream\b", annotation) is not None
    if isinstance(annotation, type):
        return annotation.__name__ == "Upstream" and annotation.__module__.startswith("fuzzmcp.upstream")
    return any(map(_is_upstream, get_args(annotation)))


def find(text: str, what: str = "client") -> Any:
    """Import what `module:attr` or `path.py:attr` names, whatever it is.

    Args:
        text: The name.
        what: What it should be, for the message.

    Raises:
        TargetError: It cannot be imported or found; import errors of the module are its cause.
    """
    place, mark, attribute = text.rpartition(":")
    if not mark or not place or not attribute:
        raise TargetError(f"'{text}' names no {what}: expected MODULE:ATTR or PATH.py:ATTR")
    module = _module(place)
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            known = [name for name in vars(value) if not name.startswith("_")] if hasattr(value, "__dict__") else []
            raise TargetError(f"{place} has no '{part}'" + meant(part, known))
        value = getattr(value, part)
    return value


def _module(place: str) -> Any:
    try:
        if place.endswith(".py") or os.sep in place:
            return _from_file(Path(place))
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(place)
    except TargetError:
        raise
    except ImportError as error:
        what = "" if isinstance(error, ModuleNotFoundError) else f"{type(error).__name__}: "
        raise TargetError(f"cannot import {place}: {what}{error}") from error
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise TargetError(f"cannot import {place}: {type(error).__name__}: {error}") from error


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise TargetError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name, known = path.stem, sys.modules.get(path.stem)
    if known is not None and os.path.realpath(getattr(known, "__file__", None) or "") == str(path.resolve()):
        return known  # a test has imported it too: there must be one of it
    if known is not None:
        name = f"_target_{name}"  # a client called json.py must not become everybody's json
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # as `import` does: the next one fails in the same way, and does not find half a module
        if sys.modules.get(name) is module:
            del sys.modules[name]
        raise
    return module
