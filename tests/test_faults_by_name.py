"""What is known of a fault, or of a protocol version, is decided in its table and nowhere else.

A comparison with the name of a fault would be a second place in which one has to tell what a new fault is like.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from fuzzmcp.core.faults import BY_NAME, LATE
from fuzzmcp.core.protocol import VERSIONS

ROOT = Path(__file__).parent.parent
TABLES = {"fuzzmcp/core/faults.py", "fuzzmcp/core/protocol.py"}
NAMES = {*BY_NAME, LATE, *VERSIONS}
WORDS = {"cancel", "close", "drift", "error", "exit", "loop", "odd", "ok", "ping", "progress"}
"""Names of faults that are plain words as well: of events, keys of JSON, kinds of values, methods. They count only
where they are held against something that holds the name of a fault."""
HOLDERS = {"name", "fault", "word", "mode", "action", "answer", "vocabulary"}
"""What an expression ends in that holds such a name."""


def modules() -> list[str]:
    paths = [path for folder in ("fuzzmcp", "strategies") for path in sorted((ROOT / folder).rglob("*.py"))]
    return [name for path in paths if (name := path.relative_to(ROOT).as_posix()) not in TABLES]


def decisions(code: str) -> list[str]:
    """The names of faults and versions that decide something in a module, each with its line."""
    return [
        f"{text.lineno}: {text.value}"
        for text, against in deciding(ast.parse(code))
        if text.value in NAMES and (text.value not in WORDS or any(last_word(each) in HOLDERS for each in against))
    ]


def deciding(tree: ast.AST) -> Iterator[tuple[ast.Constant, list[ast.expr]]]:
    """Every constant in a comparison, a pattern, a set or a place where a key stands, with what it is held against."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                yield from ((text, sides) for side in sides for text in constants(side))
            case ast.Match(subject=subject, cases=cases):
                patterns = [part for case in cases for part in ast.walk(case.pattern)]
                yield from (
                    (p.value, [subject]) for p in patterns if isinstance(p, ast.MatchValue) and is_text(p.value)
                )
            case ast.Dict(keys=keys):
                yield from ((key, []) for key in keys if key is not None and is_text(key))
            case ast.Set(elts=elements):
                yield from ((element, []) for element in elements if is_text(element))
            case ast.Subscript(slice=key) if is_text(key):
                yield key, []
            case ast.Call(func=ast.Attribute(value=holder, attr="startswith" | "count" | "get" | "index"), args=given):
                yield from ((text, [holder]) for argument in given for text in constants(argument))


def constants(side: ast.expr) -> Iterator[ast.Constant]:
    match side:
        case ast.Constant():
            yield side
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from constants(element)


def is_text(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant)


def last_word(node: ast.expr) -> str:
    """`name` of `step.answer.name`."""
    match node:
        case ast.Attribute(attr=word) | ast.Name(id=word):
            return word
        case _:
            return ""


@pytest.mark.parametrize("module", modules())
def test_no_module_decides_by_the_name_of_a_fault_or_a_version(module: str) -> None:
    assert decisions((ROOT / module).read_text("utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        'a.name == "429"',
        'a.name in ("dup", "log")',
        'x = {"block", "noise"} & names',
        'TEXTS = {"hang": "no answer, ever"}',
        'rank = RANK["hang"]',
        'match action.name:\n    case "close" | "exit":\n        pass',
        'version >= "2025-06-18"',
        'name.startswith("rpc")',
        'VALUES.get("huge", ())',
        'answer.name == "ok"',
        '"late" if name == "ok" else name',
    ],
)
def test_a_decision_by_name_is_seen(code: str) -> None:
    assert decisions(code)


@pytest.mark.parametrize(
    "code",
    ['event.kind == "cancel"', 'frame["error"]', 'action("429")', 'Action("ok", at=1.0)', 'takes.kind == "drift"'],
)
def test_a_plain_word_and_a_script_are_no_decision(code: str) -> None:
    assert decisions(code) == []
