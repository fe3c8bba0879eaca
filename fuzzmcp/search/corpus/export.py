"""Saved cases as plain pytest code: each test demands the check, red while the bug lives, green once it is fixed."""

from __future__ import annotations

import keyword
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any

from fuzzmcp.core.case import keywords_of
from fuzzmcp.core.case_codec import definitions_of
from fuzzmcp.core.contract import Contract
from fuzzmcp.search.corpus import SavedCase

_WIDTH = 88
_INDENT = "    "


def code_of(
    cases: Iterable[SavedCase], client: str, file: Path, *, role: str = "client", contract: Contract | None = None
) -> str:
    """The text of a test module: equal cases, equal text.

    Args:
        cases: What to test, in this order.
        client: The client, as `module:attr` or `path.py:attr`.
        file: Where the module will be: files that it needs are named from there.
        role: `agent` for one that makes its own calls.
        contract: What the client promises where that does not stand beside it; None where it does.

    >>> from fuzzmcp.api import case_of
    >>> saved = SavedCase("spend_cap", case_of("429cap"), "sent again", path=Path("regressions/spend_cap-3f2a.toml"))
    >>> print(code_of([saved], "my_client:connect", Path("tests/test_regressions.py")).partition("import fuzzmcp")[2])
    <BLANKLINE>
    from my_client import connect
    <BLANKLINE>
    <BLANKLINE>
    def test_spend_cap_3f2a():
        \"""sent again\"""
        fuzzmcp.check(connect, "429cap", checks=["spend_cap"])
    <BLANKLINE>
    """
    return _Module(client, file, role, contract).text(list(cases))


class _Module:
    """Collects what the tests need on the way."""

    def __init__(self, client: str, file: Path, role: str, contract: Contract | None) -> None:
        place, _, attribute = client.rpartition(":")
        self.place, self.attribute, self.file = place, attribute, file
        self.role, self.contract = role, contract
        self.client = attribute if attribute.isidentifier() and not keyword.iskeyword(attribute) else "client"
        if self.client in ("fuzzmcp", "Path", "HERE", "replace", "load", "CONTRACT"):
            self.client = "client"
        self.needs: set[str] = set()

    def text(self, cases: list[SavedCase]) -> str:
        names: dict[str, int] = {}
        tests = [self.test(saved, _unique(_identifier(saved.name), names)) for saved in cases]
        head = '"""What fuzzmcp found, as tests. Made by `fuzzmcp export` from the case files: edit those."""\n'
        blocks = [head, *filter(None, ("\n".join(self.standard()), "\n".join(self.imports()), self.constants()))]
        return "\n".join(block.rstrip("\n") + "\n" for block in blocks) + "".join(f"\n\n{test}" for test in tests)

    def standard(self) -> list[str]:
        return [
            *(["from dataclasses import replace"] if "replace" in self.needs else []),
            *(["from pathlib import Path"] if "here" in self.needs or self.by_path else []),
        ]

    @property
    def by_path(self) -> bool:
        return self.place.endswith(".py") or "/" in self.place or os.sep in self.place

    def imports(self) -> list[str]:
        if self.by_path:
            return ["import fuzzmcp", "from fuzzmcp.target import load"]
        root, *of_it = self.attribute.split(".")
        name = root if of_it or root == self.client else f"{root} as {self.client}"
        return ["import fuzzmcp", f"from {self.place} import {name}"]

    def constants(self) -> str:
        lines = []
        if self.by_path or "here" in self.needs:
            lines.append("HERE = Path(__file__).parent")
        if self.by_path:
            target = f"{_relative(Path(self.place), self.file)}:{self.attribute}"
            lines.append(f"{self.client} = load(str(HERE / {_quoted(target)}))")
        elif "." in self.attribute:
            lines.append(f"{self.client} = {self.attribute}")
        if self.contract is not None:
            lines.append(_call("CONTRACT = fuzzmcp.Contract", _promises(self.contract)))
        return "\n".join(lines)

    def test(self, saved: SavedCase, name: str) -> str:
        case = saved.case
        plain, more = keywords_of(case, without=() if self.role == "client" else ("calls",))
        options = {name: _written(value) for name, value in plain.items()}
        if "tools" in options:
            options["tools"] = self.tools(saved)
        script, lines = _quoted(str(case.script)), []
        if more:
            self.needs.add("replace")
            lines.append(_call("case = fuzzmcp.case_of", [script, *_named(options)], 1))
            lines.append(_call("case = replace", ["case", *_named({k: repr(v) for k, v in more.items()})], 1))
            script, options = "case", {}
        options["checks"] = _listed([saved.check])
        if self.contract is not None:
            options["contract"] = "CONTRACT"
        lines.append(_call("fuzzmcp.check", [self.client, script, *_named(options)], 1))
        note = _docstring(saved.note)
        return f"def test_{name}():\n" + "".join(f"{line}\n" for line in ([note] if note else []) + lines)

    def tools(self, saved: SavedCase) -> str:
        if saved.tools_file is None or saved.path is None:
            return repr(definitions_of(saved.case.tools))
        self.needs.add("here")
        return f"HERE / {_quoted(_relative(saved.path.parent / saved.tools_file, self.file))}"


# -- words of Python ---------------------------------------------------------------------------------------------------


def _call(function: str, arguments: list[str], depth: int = 0) -> str:
    """A call on one line, or one argument a line where that is too long."""
    indent = _INDENT * depth
    line = f"{indent}{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return "\n".join(
        [f"{indent}{function}(", *(f"{indent}{_INDENT}{argument}," for argument in arguments), f"{indent})"]
    )


def _named(options: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in options.items()]


def _listed(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(_quoted, texts)) + "]"


def _written(value: Any) -> str:
    """A text or a list of texts in double quotes, anything else as Python shows it."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return _listed(value)
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """A string literal, in double quotes unless those would have to be escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return repr(text)


def _docstring(note: str) -> str:
    text = " ".join(note.split())
    if not text:
        return ""
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return f"{_INDENT}# {text}" if '"' in text or "\\" in text else f'{_INDENT}"""{text}"""'


def _promises(contract: Contract) -> list[str]:
    default = Contract()
    named = {f.name: getattr(contract, f.name) for f in fields(contract)}
    accepts = named.pop("accepts")
    values = {name: repr(value) for name, value in named.items() if value != getattr(default, name)}
    if accepts is not None:
        names = [kind if isinstance(kind, str) else kind.__name__ for kind in accepts]
        values["accepts"] = "(" + "".join(f"{_quoted(name)}, " for name in names).rstrip() + ")"
    return _named(values)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII) or "case"


def _unique(name: str, taken: dict[str, int]) -> str:
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else _unique(f"{name}_{taken[name]}", taken)


def _relative(path: Path, file: Path) -> str:
    return PurePosixPath(Path(os.path.relpath(path, file.parent or "."))).as_posix()
