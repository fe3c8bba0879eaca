"""The vocabulary and the rules, explained: what `fuzzmcp faults` and `fuzzmcp checks` print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fuzzmcp.core.fault_row import Fault, Trait
from fuzzmcp.core.faults import FAULTS, ODD_RESULTS
from fuzzmcp.core.protocol import HANDSHAKE_VERSIONS, METHODS, STATELESS_VERSIONS, TRANSPORTS, VERSIONS
from fuzzmcp.report.terminal.style import show_table

TRAITS: dict[Trait, str] = {
    "valid": "a client must accept it",
    "execution_error": "the tool failed, and the client must say so",
    "protocol_error": "the request was refused, and the client must say so",
    "transient": "a later retry may succeed",
    "capped": "no retry succeeds until somebody restores access",
    "drift": "the content breaks the tool's outputSchema, and must not pass for a success",
    "refusable": "one that has a limit may refuse it",
    "silent": "nothing that settles the request ever comes",
    "ambiguous": "the tool may have run: a second request may do it twice",
    "broken": "the frame itself is invalid",
    "unreadable": "the bytes may end the client's reader",
    "closes": "the connection ends",
    "shared": "every call of the session meets it",
    "asks": "the client must answer it",
}
"""What the checks may conclude from a fault, in words."""

_VALUES = {
    "seconds": ("SECONDS", "virtual seconds, also decimal", "30"),
    "hint": ("SECONDS", "virtual seconds, or none for no hint", "5"),
    "text": ('"TEXT"', "a text in double quotes", '"out of stock"'),
    "code": ("CODE", "a JSON-RPC error code", "-32603"),
    "status": ("STATUS", "an exit status; below 0 the signal that ended the process", "-9"),
    "count": ("N", "a whole number from 1", "3"),
    "tokens": ("TOKENS", "a number of tokens, four characters each", "100000"),
    "odd": ("NAME", f"one of {', '.join(ODD_RESULTS)}", ODD_RESULTS[1]),
    "drift": ("OPS", "edits of the structured content, joined by ';'", "order_id>orderId;total:string"),
}
"""How a value is written, what it is, and an example, by the kind of a fault's parameter."""


def show_faults(console: Console) -> None:
    """Print the whole vocabulary as two tables, answers and extras."""
    for role, title in (("answer", "Answers: what a request gets"), ("extra", "Extras: what happens around it")):
        table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
        table.add_column("name", no_wrap=True, style="cyan")
        table.add_column("what the client sees")
        table.add_column("applies to", no_wrap=True)
        for fault in FAULTS:
            if fault.role == role:
                table.add_row(fault.name, Text(fault.summary), _places(fault))
        show_table(table, console)
        console.print()
    console.print("A script is a list of steps: 429,hang,list:rpc(-32603),ok+dup@3. Explain one: fuzzmcp faults NAME")


def show_fault(fault: Fault, console: Console) -> None:
    """Print one row of the vocabulary in full."""
    console.print(Text.assemble((fault.name, "bold cyan"), f"  {fault.role}: {fault.summary}"), soft_wrap=True)
    console.print()
    console.print(Text(fault.detail))
    console.print()
    _rows(dict(_facts(fault)), console)


def _facts(fault: Fault) -> Iterator[tuple[str, str]]:
    yield "written", "   ".join(spellings(fault))
    if fault.takes is not None:
        default = "there is none: the value must be given" if fault.takes.required else _default(fault)
        yield "value", _VALUES[fault.takes.kind][1]
        yield "default", default
    if fault.timing == "never":
        yield "when", "never: it takes no '@'"
    elif fault.timing == "seconds":
        yield "when", "at once, or @SECONDS after the request"
    else:
        yield "when", "at once, @SECONDS after the request, or @cancel: once the client has cancelled the request"
    yield "methods", ", ".join(f"{name} ({METHODS[name]})" for name in fault.methods)
    yield "protocols", _versions(fault)
    if fault.transports != TRANSPORTS:
        yield "transports", ", ".join(fault.transports)
    traits = [TRAITS[trait] for trait in TRAITS if trait in fault.traits]
    if traits:
        yield "means", "; ".join(traits)
    yield "example", f"FAULTS='{example(fault)}'"


def spellings(fault: Fault) -> list[str]:
    """How the fault is written: bare, with its value, with its style."""
    takes = fault.takes
    found = [] if fault.required else [fault.name]
    if takes is not None:
        found.append(f"{fault.name}({_VALUES[takes.kind][0]})")
        if takes.kind == "hint":
            found.append(f"{fault.name}(none)")
    if fault.styled:
        found.append(f"{fault.name}(style=json)")
    return found


def example(fault: Fault) -> str:
    """A script that plays the fault.

    >>> from fuzzmcp.core.faults import BY_NAME
    >>> example(BY_NAME["429"]), example(BY_NAME["pages"]), example(BY_NAME["cancel"])
    ('429(5)', 'list:pages', 'hang+cancel@2')
    """
    if fault.example:
        return fault.example
    method = "" if "call" in fault.methods else f"{fault.methods[0]}:"
    value = f"({_VALUES[fault.takes.kind][2]})" if fault.takes is not None else ""
    return f"{method}{fault.name}{value}"


def _default(fault: Fault) -> str:
    takes = fault.takes
    if takes is None or takes.default is None:
        return "chosen for the tool"
    return f"{takes.default:,g}" if isinstance(takes.default, (int, float)) else str(takes.default)


def _places(fault: Fault) -> str:
    methods = "all" if len(fault.methods) == len(METHODS) else ", ".join(fault.methods)
    limits = [_versions(fault)] if fault.versions != VERSIONS else []
    limits += [", ".join(fault.transports)] if fault.transports != TRANSPORTS else []
    return "; ".join((methods, *limits))


def _versions(fault: Fault) -> str:
    if fault.versions == VERSIONS:
        return "all"
    if fault.versions == HANDSHAKE_VERSIONS:
        return f"until {HANDSHAKE_VERSIONS[-1]}"
    if fault.versions[-1:] == STATELESS_VERSIONS:
        return f"from {fault.versions[0]}"
    return ", ".join(fault.versions)


def show_checks(console: Console) -> None:
    """Print every check with what it demands."""
    from fuzzmcp.checks import CHECKS

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("check", no_wrap=True, style="cyan")
    table.add_column("demands")
    for check in CHECKS.values():
        table.add_row(check.name, Text(check.demands))
    show_table(table, console)
    console.print()
    console.print("Why, and what to do about it: fuzzmcp checks NAME")


def show_check(name: str, console: Console) -> None:
    """Print what one check demands, why, and what to do about a violation."""
    from fuzzmcp.checks import CHECKS

    check = CHECKS[name]
    console.print(Text(check.name, "bold cyan"))
    console.print()
    _rows({"demands": check.demands, "why": check.why, "do": check.advice}, console)


def _rows(rows: Mapping[str, str], console: Console) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for label, text in rows.items():
        table.add_row(label, Text(text))
    show_table(table, console)
