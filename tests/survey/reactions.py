"""What one client does for each main fault, as lines of JSON. It runs in the client's environment, on fuzzmcp alone.

    .venv-clients-mcp2/bin/python tests/survey/reactions.py fuzzmcp.clients.fastmcp:connect

The first line has the versions of what is installed; then comes a line a script, as soon as it is known.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import platform
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

FAULTS: dict[str, tuple[str, ...]] = {
    "Errors": ("error", "429*", "429cap*", "504*", "rpc(-32603)*", "toolgone"),
    "Silence": ("hang*", "close", "late", "ok@100"),
    "Broken frames": ("notjson", "truncated", "malformed", "wrongid", "strid"),
    "Pipes": ("badutf8", "split", "exit"),
    "Results": ("drift", "unstructured", "empty", "odd(no_text)", "mismatch"),
    "Lists": ("list:hang", "list:rpc(-32603)", "list:close", "list:badtool", "list:loop", "list:fresh_loop"),
    "Connecting": ("init:hang", "init:rpc(-32603)", "init:close", "discover:hang", "discover:rpc(-32603)"),
}
"""The scripts that are replayed, under the heading that the page gives them."""
_TEXT = 160
_LOUD = ("WARNING", "ERROR", "CRITICAL")


def main(arguments: list[str] | None = None) -> int:
    """Print the versions, then a reaction a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("client", help="MODULE:ATTR or PATH.py:ATTR")
    parser.add_argument("--protocol", help="version that the fake server speaks")
    parser.add_argument("--transport", help="how server.connect() joins client and server")
    parser.add_argument("--packages", default="", help="packages whose versions to print, with commas between")
    options = parser.parse_args(arguments)
    driven = {name: getattr(options, name) for name in ("protocol", "transport") if getattr(options, name)}
    with contextlib.redirect_stdout(sys.stderr):
        for line in _lines(options.client, [name for name in options.packages.split(",") if name], driven):
            print(json.dumps(line), file=sys.__stdout__, flush=True)
    return 0


def _lines(client: str, packages: Iterable[str], driven: dict[str, str]) -> Iterator[dict[str, Any]]:
    yield {"python": platform.python_version(), "packages": versions(["mcp", "fuzzmcp", *packages])}
    from fuzzmcp.target import load

    target = load(client)
    for faults in (text for group in FAULTS.values() for text in group):
        try:
            yield reaction(target, faults, **driven)
        except Exception as error:  # of fuzzmcp: what the client raises is part of a run
            yield {"faults": faults, "status": "not run", "error": type(error).__name__, "text": str(error)[:_TEXT]}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The installed versions; what is not installed is left out."""
    found = {}
    for name in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def reaction(client: Any, faults: str, **driven: str) -> dict[str, Any]:
    """What a client does with one script, driven as `fuzzmcp.run` is told.

    `status` is that of its call, or `no connection` where it never became ready, or `not reached` where it never sent
    a request that the script is for (or `not run` where fuzzmcp itself failed). `flag` says whether what it returned
    reads as an error: None where it carries no flag. `answered` says that it carries what the server sent as a success.

    >>> from fuzzmcp.examples.sdk_client import connect
    >>> seen = reaction(connect, "hang")
    >>> seen["status"], seen["seconds"], seen["requests"]
    ('raised', 30.0, 1)
    """
    import fuzzmcp
    from fuzzmcp.core.redact import redacted_text
    from fuzzmcp.report.escape import one_line

    run = fuzzmcp.run(client, faults, quiet=True, **driven)
    outcome = run.outcomes[0] if run.outcomes and run.connected else None
    error = outcome.error if outcome else run.connect_error
    status = outcome.status if outcome else "no connection"
    sent = [event.method for event in run.requests if outcome is None or event.at <= outcome.ended]
    told = any(event.kind == "notify" and event.method == "notifications/cancelled" for event in run.events)
    return {
        "faults": faults,
        "status": status if run.played or (run.steps and not run.case.inapplicable) else "not reached",
        "error": _name_of(error),
        "text": one_line(redacted_text(_said(outcome, error)), _TEXT),
        "flag": _flag_of(client, outcome.value) if outcome and status == "returned" else None,
        "answered": status == "returned" and _answered(run, outcome),
        "seconds": round(outcome.ended - outcome.started if outcome else run.ended, 3),
        "requests": sent.count("tools/call"),
        "lists": sent.count("tools/list"),
        "cancels": told and status != "unfinished",  # what is unfinished is cancelled by fuzzmcp, at the end
        "logs": sorted({f"{log.level} {log.logger}" for log in run.logs if log.level in _LOUD}),
        "endless": bool(run.idle or run.stopped) and status in ("unfinished", "no connection"),
    }


def _name_of(error: BaseException | None) -> str:
    """The exception's type, and those of the members of a group however deep."""
    if error is None:
        return ""
    leaves = dict.fromkeys(type(leaf).__name__ for leaf in _leaves(error) if leaf is not error)
    return f"{type(error).__name__}({', '.join(leaves)})" if leaves else type(error).__name__


def _leaves(error: BaseException) -> Iterator[BaseException]:
    members = getattr(error, "exceptions", None)
    if not isinstance(members, tuple):
        yield error
    else:
        for member in members:
            yield from _leaves(member)


def _said(outcome: Any, error: BaseException | None) -> str:
    if error is not None:
        return str(next(_leaves(error), error))
    from fuzzmcp.checks.interpret import interpret

    return interpret(outcome.value).text if outcome is not None and outcome.status == "returned" else ""


def _answered(run: Any, outcome: Any) -> bool:
    from fuzzmcp.checks.interpret import interpret, shows

    reading, sent = interpret(outcome.value), [event.answer for event in run.events if event.answer is not None]
    return any(answer.kind == "success" and shows(reading, answer) for answer in sent)


def _flag_of(client: Any, value: Any) -> bool | None:
    """The error flag of a returned value, or what stands for one by the contract."""
    from fuzzmcp.api import contract_of
    from fuzzmcp.checks.interpret import interpret

    reading = interpret(value)
    return True if contract_of(client).is_error(reading) else reading.is_error


if __name__ == "__main__":
    sys.exit(main())
