"""Reading a saved report: data from a file that anybody may have written, so nothing in it is believed unseen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from fuzzmcp.report.escape import one_line
from fuzzmcp.report.model import VERSION, Moment, Report, SavedFinding, Subject

T = TypeVar("T")
_COUNTS = ("held", "violated", "not_exercised")
_NOTHING: Any = object()
_SECONDS_MAX = 10**15


class ReportError(ValueError):
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
    top = _Node(data, "$", file)
    version = top["version"].whole(1)
    if version > VERSION:
        top["version"].fail(f"at most {VERSION}", ": a newer fuzzmcp wrote this")
    return Report(
        subject=Subject(
            client=top["client"].text(),
            role="agent" if top["role"].one_of("client", "agent") == "agent" else "client",
            mcp=top["mcp"].text(),
            catalogue=top["catalogue"].text(),
        ),
        seed=top["seed"].whole(),
        runs=top["runs"].whole(),
        seconds=top["seconds"].number(),
        virtual_seconds=top["virtual_seconds"].number(),
        protocol=top["protocol"].text(),
        transport=top["transport"].text(),
        backend=top["backend"].text(),
        tool_count=top.optional("tool_count", _Node.whole, 0),
        contract=top["contract"].mapping(),
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
        moments=tuple(node.number() for node in top["moments"].items()),
        interrupted=top["interrupted"].flag(),
        phase=top.optional("phase", _Node.text, ""),
        exposed={name: node.whole() for name, node in top.optional("exposed", _Node.members, ())},
        stale=top.optional("stale", _Node.texts, ()),
        tools=tuple(node.mapping() for node in top.optional("tools", _Node.items, ())),
        fuzzmcp=top.optional("fuzzmcp", _Node.text, ""),
    )


def _finding(node: _Node) -> SavedFinding:
    return SavedFinding(
        check=node["check"].text(),
        faults=node["faults"].text(),
        calls=node["calls"].texts(),
        message=node["message"].text(),
        requests=tuple(_moment(moment) for moment in node["requests"].items()),
        case=node["case"].mapping(),
        replay=node["replay"].command(),
        fingerprint=node["fingerprint"].text(),
        minimal=node["minimal"].or_none(_Node.flag),
        deterministic=node["deterministic"].or_none(_Node.flag),
        known=node.optional("known", _Node.flag, False),
        saved=node.optional("saved", _Node.text, None),
    )


def _moment(node: _Node) -> Moment:
    direction = node["direction"].one_of("->", "<-", "")
    return Moment(
        at=node["at"].number(),
        direction="->" if direction == "->" else "<-" if direction == "<-" else "",
        kind=node.optional("kind", _Node.text, ""),
        method=node["method"].text(),
        id=node["id"].anything(),
        call=node["call"].or_none(lambda call: call.whole(-1)),
        label=node.optional("label", _Node.text, ""),
        text=node["text"].text(),
        site=node["site"].or_none(_Node.text),
        loop=node.optional("loop", _Node.text, None),
        fault=node.optional("fault", _Node.text, None),
        nth=node.optional("nth", _Node.whole, None),
        evidence=node.optional("evidence", _Node.flag, False),
        after=node.optional("after", _Node.flag, False),
    )


@dataclass(frozen=True)
class _Node:
    """A value of the JSON that knows where it stands, and what was expected there."""

    value: Any
    path: str
    file: str

    def fail(self, expected: str, more: str = "") -> NoReturn:
        found = "nothing" if self.value is _NOTHING else one_line(json.dumps(self.value), 60)
        raise ReportError(self.file, one_line(self.path), f"expected {expected}, found {found}{more}")

    def __getitem__(self, key: str) -> _Node:
        return _Node(self.mapping().get(key, _NOTHING), f"{self.path}.{key}", self.file)

    def optional(self, key: str, read: Callable[[_Node], T], default: Any) -> Any:
        """What `read` makes of a member, or `default` where there is none."""
        node = self[key]
        return default if node.value is _NOTHING else read(node)

    def or_none(self, read: Callable[[_Node], T]) -> T | None:
        return None if self.value is None else read(self)

    def mapping(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail("an object")
        return self.value

    def members(self) -> Iterator[tuple[str, _Node]]:
        for key in self.mapping():
            yield key, self[key]

    def items(self) -> tuple[_Node, ...]:
        if not isinstance(self.value, (list, tuple)):
            self.fail("an array")
        return tuple(_Node(value, f"{self.path}[{i}]", self.file) for i, value in enumerate(self.value))

    def anything(self) -> Any:
        if self.value is _NOTHING:
            self.fail("a value")
        return self.value

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail("text")
        return self.value

    def texts(self) -> tuple[str, ...]:
        return tuple(node.text() for node in self.items())

    def one_of(self, *words: str) -> str:
        if self.value not in words:
            self.fail(" or ".join(map(repr, words)))
        return str(self.value)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def whole(self, least: int = 0) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < least:
            self.fail(f"a whole number from {least}")
        return self.value

    def number(self) -> float:
        value = self.value
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _SECONDS_MAX:
            self.fail("a number of seconds")
        return value

    def command(self) -> tuple[str, ...]:
        try:
            return tuple(shlex.split(self.text()))
        except ValueError as error:
            self.fail(f"a command ({error})")
