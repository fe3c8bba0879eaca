"""The register of planted bugs: each row says which check must catch which client, and with which smallest script."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fuzzmcp.examples.zoo.reference import Client

DEFAULT_CALLS = ('get_order(order_id="A1")',)


@dataclass(frozen=True)
class Bug:
    """One bug.

    `script` and `calls` are the smallest case that shows it to `check`, spelled as reports spell them; `seen` names a
    public report of such a bug; `fixed_by` is the twin without it.
    """

    name: str
    client: type[Client]
    check: str
    script: str
    calls: tuple[str, ...]
    seen: str
    fixed_by: type[Client]


ZOO: dict[str, Bug] = {}
"""Every planted bug by the name of its class."""

Variant = TypeVar("Variant", bound=type[Client])


def bug(
    *, check: str, script: str, seen: str, calls: tuple[str, ...] = DEFAULT_CALLS, twin: type[Client] = Client
) -> Callable[[Variant], Variant]:
    """Register a client with one planted bug, whose docstring says what it does wrong.

    Args:
        check: The check that must catch it.
        script: The smallest script that shows it.
        seen: A public report of such a bug.
        calls: The calls of the smallest case.
        twin: The same client without the bug, where that is not the reference.
    """

    def register(client: Variant) -> Variant:
        ZOO[client.__name__] = Bug(client.__name__, client, check, script, calls, seen, twin)
        return client

    return register
