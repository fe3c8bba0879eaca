"""What a row of the vocabulary can say of a fault. The rows themselves are in `fuzzmcp.core.faults`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuzzmcp.core.drift import Drift
from fuzzmcp.core.protocol import TRANSPORTS, VERSIONS

Role = Literal["answer", "extra"]
Value = float | int | str | Drift | None
"""What stands in the parentheses of a fault."""
When = float | Literal["cancel"] | None
"""What stands behind `@`: seconds after the request, the client's cancellation, or the fault's own moment."""
Trait = Literal[
    "valid",
    "execution_error",
    "protocol_error",
    "transient",
    "capped",
    "drift",
    "refusable",
    "silent",
    "ambiguous",
    "broken",
    "unreadable",
    "closes",
    "shared",
    "asks",
]
Way = Literal["whole", "structured", "timely", "changes", "blocks", "caller"]

Style = Literal["prose", "json"]
STYLES: dict[str, Style] = {"json": "json", "prose": "prose"}
"""How an execution error may be worded."""
Timing = Literal["any", "seconds", "never"]
Place = Literal["beside", "behind", "within"]


@dataclass(frozen=True)
class Parameter:
    """What a fault takes in parentheses.

    `kind` is the grammar of the value: `seconds`, `hint` (seconds or `none`), `text` (a JSON string), `code` and
    `status` (integers: of JSON-RPC, of a process), `count`, `tokens`, `odd` (one of `ODD_RESULTS`) or `drift` (edits).
    `default` is what the bare name means; `required` faults have no bare form.
    """

    kind: Literal["seconds", "hint", "text", "code", "status", "count", "tokens", "odd", "drift"]
    default: float | int | str | None = None
    required: bool = False


@dataclass(frozen=True)
class Said:
    """What an execution error says: `code` in the style `json`, `text` in both. An empty text is the fault's value."""

    code: str = ""
    text: str = ""


@dataclass(frozen=True)
class Http:
    """What a plain HTTP API answers with.

    An error has the `kind` and `message` of its JSON body (an empty message is the fault's value); without a kind the
    answer is an ordinary one, or none at all. The body of a `cut` one is shorter than its content-length says.
    """

    status: int = 200
    kind: str = ""
    message: str = ""
    cut: bool = False


@dataclass(frozen=True)
class Fault:
    """One kind of server misbehaviour, as `fuzzmcp faults NAME` explains it.

    Attributes:
        methods: The script methods whose requests it can answer.
        versions: The protocol versions that can carry it.
        transports: The ways of joining client and server that can carry it.
        traits: What it means for a client. `valid`: it must be accepted, and only if `refusable` may it be refused all
            the same. `execution_error`, `protocol_error`: it must come out as an error; `transient`: a later retry
            may succeed; `capped`: none does until somebody restores access. `drift`: the content breaks the
            outputSchema. `silent`: nothing that settles the request ever comes. `ambiguous`: the tool may have run.
            `broken`: the frame itself is invalid. `unreadable`: bytes that may end the client's reader. `closes`: the
            connection ends. `shared`: every call of the session meets it. `asks`: the client has to answer it.
        ways: How fuzzmcp plays it. `whole`: around an `ok` result, which a real server behind the fake may give.
            `structured`: only for a tool with an outputSchema. `timely`: the moment matters, so that the sweep plays
            it in several. `changes`: from it on the second catalogue holds. `blocks`: the server stands still for its
            seconds. `caller`: it is played by whoever awaits the call, not by the server.
        timing: What `@` takes: seconds or `cancel` (`any`), seconds only, or nothing, as it never happens (`never`).
        place: Where an extra stands. One `behind` the answer comes right after it unless `@` says when; one `within`
            it changes how it is sent; the others are `beside` it.
        values: What is drawn for the parentheses, beside the bare name.
        swept: What the sweep tries there, beside the bare name.
        simpler: What another fault is shrunk to there, beside the bare name.
        says: What an execution error says.
        http: What plain HTTP makes of it; None where HTTP cannot carry it.
        silence: What a timeline tells where no frame can show the fault.
        example: A script that shows it, where the bare name or its value alone would not.
    """

    name: str
    role: Role
    summary: str
    detail: str
    takes: Parameter | None = None
    styled: bool = False
    methods: tuple[str, ...] = ("call",)
    versions: tuple[str, ...] = VERSIONS
    transports: tuple[str, ...] = TRANSPORTS
    traits: frozenset[Trait] = frozenset()
    ways: frozenset[Way] = frozenset()
    timing: Timing = "any"
    place: Place = "beside"
    values: tuple[Value, ...] = ()
    swept: tuple[Value, ...] = ()
    simpler: tuple[Value, ...] = ()
    says: Said | None = None
    http: Http | None = None
    silence: str = ""
    example: str = ""

    @property
    def required(self) -> bool:
        """Whether its value must be given: then there is no bare name."""
        return self.takes is not None and self.takes.required

    @property
    def value_kind(self) -> str:
        """The grammar of its value; empty where it takes none."""
        return "" if self.takes is None else self.takes.kind
