"""`fuzzmcp config`: what is in force, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import click

from fuzzmcp.cli.options import configuration
from fuzzmcp.core.config import KEYS, OWN, SHARED, Config, Origin, shown
from fuzzmcp.core.protocol import DEFAULT_BACKEND, DEFAULT_TRANSPORT, DEFAULT_VERSION
from fuzzmcp.report.escape import harmless

_DEFAULTS: Mapping[str, tuple[Any, str]] = {
    "client": (None, "none: name it on the command line"),
    "tools": (None, "a small bundled CRM"),
    "calls": ([], "the first tool with sample arguments"),
    "protocol": (DEFAULT_VERSION, ""),
    "transport": (DEFAULT_TRANSPORT, ""),
    "backend": (DEFAULT_BACKEND, ""),
    "checks": ([], "all"),
    "skip": ([], "none"),
    "time": (None, "no limit; of a campaign without runs, 10m"),
    "runs": (None, "no limit; of a run without a time, 2,000"),
    "seed": (None, "0; of a campaign, a new one"),
    "regressions": ("regressions", ""),
    "save": (None, "where regressions are"),
    "database": (".fuzzmcp/examples", ""),
    "baseline": (None, "none"),
    "max_findings": (None, "no limit"),
    "canary": (True, ""),
    "quiet": (True, ""),
}
"""What each key is where the configuration does not name it, as data, and in words where those say more."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def config(as_json: bool) -> None:
    """Print the configuration that is in force here, and where each value comes from.

    It is the table [tool.fuzzmcp] of pyproject.toml, or a file fuzzmcp.toml, in this folder or the nearest one above.
    The command line goes before it; it goes before a contract beside the client, and that before the defaults.

    \b
    [tool.fuzzmcp]
    client = "my_client.py:connect"
    tools = "tools.json"
    skip = ["never_blocks"]

    \b
    [tool.fuzzmcp.contract]
    deadline = "1m"
    max_requests = 3

    Your shell (bash, zsh or fish) completes commands, options and names after:

    \b
    eval "$(_FUZZMCP_COMPLETE=bash_source fuzzmcp)"
    """
    from fuzzmcp.cli.job import usage_errors
    from fuzzmcp.search.job import Options, checks_of

    found = configuration()
    with usage_errors():
        checks_of(Options(), found)  # an unknown name is an error here, too
    rows = list(_rows(found))
    if as_json:
        click.echo(json.dumps(_data(found, rows), indent=2))
        return
    for line in (*_head(found), *_lines(rows), "", *_tail()):
        click.echo(harmless(line))


Row = tuple[str, Any, "Origin | None"]


def _rows(config: Config) -> Iterator[Row]:
    """Key, value and place of everything; without a place the value is the default."""
    from fuzzmcp.core.contract import Contract
    from fuzzmcp.report.build import contract_json

    for key in KEYS:
        origin = config.origins.get(key)
        value = _DEFAULTS[key][0] if origin is None else config.spelled(key)
        yield key, list(value) if isinstance(value, tuple) else value, origin
    for name, value in contract_json(Contract(**config.contract)).items():
        yield f"contract.{name}", value, config.origins.get(f"contract.{name}")


def _head(config: Config) -> Iterator[str]:
    if config.file is None:
        yield f"no configuration: neither {OWN} nor [tool.fuzzmcp] in {SHARED}, here or in a folder above"
    else:
        yield shown(config.file) + ("" if config.file.name == OWN else " [tool.fuzzmcp]")
    if config.shadowed is not None:
        yield f"[tool.fuzzmcp] in {shown(config.shadowed)} is not read: {OWN} goes before it"
    yield ""


def _tail() -> Iterator[str]:
    yield "A contract beside the client goes before the defaults of contract.*; what is written here goes before it."


def _lines(rows: list[Row]) -> Iterator[str]:
    cells = [(key, _text(key, value, origin), _source(origin)) for key, value, origin in rows]
    wide, wider = (max(len(cell[place]) for cell in cells) for place in (0, 1))
    for key, value, source in cells:
        yield f"{key:{wide}}  {value:{min(wider, 60)}}  {source}"


def _text(key: str, value: Any, origin: Origin | None) -> str:
    words = _DEFAULTS[key][1] if origin is None and key in _DEFAULTS else ""
    if words:
        return words
    if key == "contract.accepts" and value is None:
        return "all but programming mistakes"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _source(origin: Origin | None) -> str:
    if origin is None:
        return "default"
    return shown(origin.file) + ("" if origin.line is None else f":{origin.line}")


def _data(config: Config, rows: list[Row]) -> dict[str, Any]:
    return {
        "file": None if config.file is None else shown(config.file),
        "shadowed": None if config.shadowed is None else shown(config.shadowed),
        "values": {
            key: {"value": value, "from": "default"}
            if origin is None
            else {"value": value, "from": shown(origin.file), "line": origin.line, "key": origin.key}
            for key, value, origin in rows
        },
    }
