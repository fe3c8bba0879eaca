"""Reading a saved report: data from a file that anybody may have written, so nothing in it is believed unseen."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from fuzzmcp.core.errors import FuzzmcpError
from fuzzmcp.core.validation import Node, Source, dotted
from fuzzmcp.report.model import VERSION, Moment, Report, SavedFinding, Subject

_COUNTS = ("held", "violated", "not_exercised")
_SECONDS_MAX = 10**15
_DEEPEST = 200


class ReportError(FuzzmcpError, ValueError):
    """A file that is no report this version can read.

    Args:
        file: What was read, as the user named it.
        path: Where in the JSON it is wrong: `$.findings[0].check`; empty where it is no JSON.
        message: What was expected, and what was found.
    """

    def __init__(self, file: str, path: str, message: str) -> None:
        super().__init__(": ".join(filter(None, (file, path, message))))
        self.file, self.path, self.message = file, path, message


def load(file: str | Path) -> Report:
    """The report in a file.

    Raises:
        ReportError: The file cannot be read, or is no report.
    """
    try:
        text = Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise ReportError(str(file), "", f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return loads(text, str(file))


def loads(text: str | bytes, file: str = "report") -> Report:
    """The report that `Report.dumps` wrote.

    Args:
        text: JSON text, or its UTF-8 bytes.
        file: What to call it in an error.

    Raises:
        ReportError: The text is no report.

    >>> loads('{"version": 99}')
    Traceback (most recent call last):
    fuzzmcp.report.load.ReportError: report: $.version: expected at most 1, found 99: a newer fuzzmcp wrote this
    """
    try:
        data = json.loads(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ReportError(file, "", f"expected UTF-8, found byte 0x{error.object[error.start]:02x}") from None
    except json.JSONDecodeError as error:
        raise ReportError(file, "", f"expected JSON: line {error.lineno} column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ReportError(file, "", "expected a report, found JSON that is nested too deeply") from None
    except ValueError as error:
        raise ReportError(file, "", f"expected JSON: {error}") from None
    return from_json(data, file)


def from_json(data: Any, file: str = "report") -> Report:
    """The report that `Report.as_json` described. Keys that this version does not know are passed over.

    Raises:
        ReportError: The data is no report.
    """
    source = Source(
        lambda way, message: ReportError(file, dotted(way, "$"), message), "an object", "an array", "text", '"'
    )
    top = Node(data, source)
    top["version"].version(VERSION)
    return Report(
        subject=Subject(
            client=top["client"].text(),
            role="agent" if top["role"].one_of("role", ("client", "agent")) == "agent" else "client",
            mcp=top["mcp"].text(),
            catalogue=top["catalogue"].text(),
        ),
        seed=top["seed"].whole(),
        runs=top["runs"].whole(),
        seconds=_seconds(top["seconds"]),
        virtual_seconds=_seconds(top["virtual_seconds"]),
        protocol=top["protocol"].text(),
        transport=top["transport"].text(),
        backend=top["backend"].text(),
        tool_count=top.optional("tool_count", Node.whole, 0),
        contract=_object(top["contract"]),
        findings=tuple(_finding(node) for node in top["findings"].items()),
        checks={name: {word: node[word].whole() for word in _COUNTS} for name, node in top["checks"].members()},
        faults={
            name: {
                "injected": node["injected"].whole(),
                "reactions": {word: count.whole() for word, count in node["reactions"].members()},
            }
            for name, node in top["faults"].members()
        },
        undelivered={reason: node.whole() for reason, node in top["undelivered"].members()},
        moments=tuple(_seconds(node) for node in top["moments"].items()),
        interrupted=top["interrupted"].flag(),
        phase=top.optional("phase", Node.text, ""),
        exposed={name: node.whole() for name, node in top.optional("exposed", Node.members, ())},
        stale=top.optional("stale", Node.texts, ()),
        tools=tuple(_object(node) for node in top.optional("tools", Node.items, ())),
        fuzzmcp=top.optional("fuzzmcp", Node.text, ""),
    )


def _finding(node: Node) -> SavedFinding:
    return SavedFinding(
        check=node["check"].text(),
        faults=node["faults"].text(),
        calls=node["calls"].texts(),
        message=node["message"].text(),
        requests=tuple(_moment(moment) for moment in node["requests"].items()),
        case=_object(node["case"]),
        replay=_command(node["replay"]),
        fingerprint=node["fingerprint"].text(),
        minimal=node["minimal"].or_none(Node.flag),
        deterministic=node["deterministic"].or_none(Node.flag),
        known=node.optional("known", Node.flag, False),
        saved=node.optional("saved", Node.text, None),
    )


def _moment(node: Node) -> Moment:
    direction = node["direction"].one_of("direction", ("->", "<-", ""))
    return Moment(
        at=_seconds(node["at"]),
        direction="->" if direction == "->" else "<-" if direction == "<-" else "",
        kind=node.optional("kind", Node.text, ""),
        method=node["method"].text(),
        id=node["id"].anything(_DEEPEST),
        call=node["call"].or_none(lambda call: call.whole(-1)),
        label=node.optional("label", Node.text, ""),
        text=node["text"].text(),
        site=node["site"].or_none(Node.text),
        loop=node.optional("loop", Node.text, None),
        fault=node.optional("fault", Node.text, None),
        nth=node.optional("nth", Node.whole, None),
        evidence=node.optional("evidence", Node.flag, False),
        after=node.optional("after", Node.flag, False),
    )


def _seconds(node: Node) -> float:
    return node.number("a number of seconds", 0, _SECONDS_MAX)


def _object(node: Node) -> dict[str, Any]:
    node.anything(_DEEPEST)
    return node.table()


def _command(node: Node) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(node.text()))
    except ValueError as error:
        node.wrong(f"a command ({error})")
