"""Extras: what the fake sends around an answer. One function for each extra of the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from fuzzmcp.core.protocol import era_of
from fuzzmcp.core.script import Action
from fuzzmcp.harness.server import answers, split, wire
from fuzzmcp.harness.server.answers import Asked, Reply
from fuzzmcp.harness.server.deliveries import Delivery, due, of_answer, seconds
from fuzzmcp.harness.server.wire import Frame

_FOREIGN_LINE = "WARNUNG: Größe überschritten\n"


class Around(NamedTuple):
    """What an extra stands around: a request, its answer, and the connection that both are on.

    Attributes:
        frame: The request as it came.
        asked: The request as the fake understood it.
        answer: The answer of the step.
        reply: What that answer sends.
        own: The part of the script that the answer is told as, None for what happens anyway.
        subscriptions: The ids of open subscriptions, and whether they are for changes of the catalogue.
        next_id: Gives the id of a request of the server's own.
        undelivered: Takes the reason why nothing, or not all, can be sent.
    """

    frame: Frame
    asked: Asked
    answer: Action
    reply: Reply
    own: Action | None
    subscriptions: dict[Any, bool]
    next_id: Callable[[], str]
    undelivered: Callable[[str], None]

    @property
    def answered(self) -> bool:
        """Whether there is an answer that could be sent again, or in pieces."""
        return self.reply.frame is not None or self.reply.line is not None

    @property
    def meta(self) -> Frame:
        """The `_meta` of the request; empty where it has none."""
        params = self.frame.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        return meta if isinstance(meta, dict) else {}

    @property
    def token(self) -> Any:
        """What progress is told under: the token of the request, or its id where it gave none."""
        token = self.meta.get("progressToken")
        return self.frame["id"] if token is None else token


Player = Callable[[Action, Around], Iterator[Delivery]]
PLAYERS: dict[str, Player] = {}
"""The function that plays each extra of the vocabulary, by the fault's name; times are relative to the request."""


def extra(*names: str) -> Callable[[Player], Player]:
    """Register the function that plays these extras."""

    def register(player: Player) -> Player:
        PLAYERS.update(dict.fromkeys(names, player))
        return player

    return register


def play(action: Action, around: Around) -> Iterator[Delivery]:
    """What an extra sends. One that stands `within` the answer sends that as well."""
    return PLAYERS[action.name](action, around)


# -- notifications -----------------------------------------------------------------------------------------------------


@extra("log")
def _log(action: Action, around: Around) -> Iterator[Delivery]:
    if era_of(around.asked.version) == "stateless" and wire.META_LOG_LEVEL not in around.meta:
        around.undelivered("log: the request asked for no log level, so the server must not send any")
    else:
        yield due(action.at, frame=wire.log_message(), action=action)


@extra("progress")
def _progress(action: Action, around: Around) -> Iterator[Delivery]:
    token = around.token
    for i in range(int(action.value)):  # type: ignore[arg-type]
        at = action.at if isinstance(action.at, str) else seconds(action.at) + i
        yield due(at, frame=wire.progress(token, i + 1), action=action)


@extra("progress_after")
def _progress_after(action: Action, around: Around) -> Iterator[Delivery]:
    yield due(_behind(action, around), frame=wire.progress(around.token, 1), action=action)


@extra("list_changed")
def _list_changed(action: Action, around: Around) -> Iterator[Delivery]:
    if era_of(around.asked.version) == "handshake":
        yield due(action.at, frame=wire.list_changed(), action=action)
        return
    subscribed = [request_id for request_id, tools in around.subscriptions.items() if tools]
    if not subscribed:
        around.undelivered("list_changed: the client has no open subscription for it")
    for request_id in subscribed:
        yield due(action.at, frame=wire.list_changed(request_id), action=action)


@extra("server_cancel")
def _server_cancel(action: Action, around: Around) -> Iterator[Delivery]:
    params = {"requestId": around.frame["id"], "reason": "the server gave up"}
    yield due(action.at, frame=wire.notification("notifications/cancelled", params), action=action)


# -- requests of the server --------------------------------------------------------------------------------------------


@extra("ping")
def _ping(action: Action, around: Around) -> Iterator[Delivery]:
    yield due(action.at, frame=wire.request(around.next_id(), "ping"), action=action)


@extra("sampling")
def _sampling(action: Action, around: Around) -> Iterator[Delivery]:
    message = {"role": "user", "content": wire.text_block("Summarise the order.")}
    params = {"messages": [message], "maxTokens": 100}
    yield due(action.at, frame=wire.request(around.next_id(), "sampling/createMessage", params), action=action)


@extra("elicit")
def _elicit(action: Action, around: Around) -> Iterator[Delivery]:
    schema = {"type": "object", "properties": {"reason": {"type": "string"}}}
    params = {"message": "Why is it refunded?", "requestedSchema": schema}
    yield due(action.at, frame=wire.request(around.next_id(), "elicitation/create", params), action=action)


@extra("roots")
def _roots(action: Action, around: Around) -> Iterator[Delivery]:
    yield due(action.at, frame=wire.request(around.next_id(), "roots/list"), action=action)


# -- what is no message, or none of this request -----------------------------------------------------------------------


@extra("noise")
def _noise(action: Action, around: Around) -> Iterator[Delivery]:
    yield due(action.at, line="WARNING: connection pool is full", action=action)


@extra("badutf8")
def _badutf8(action: Action, around: Around) -> Iterator[Delivery]:
    data = _FOREIGN_LINE.encode("latin-1")
    shown = data.decode(errors="backslashreplace").rstrip()
    yield due(action.at, "bytes", line=shown, action=action, data=data)


@extra("orphan")
def _orphan(action: Action, around: Around) -> Iterator[Delivery]:
    stray = answers.foreign(around.asked)
    yield due(action.at, frame=stray.frame, action=action, answer=stray.answer)


@extra("cancel")
def _cancel(action: Action, around: Around) -> Iterator[Delivery]:
    yield due(action.at, kind="cancel", action=action)


@extra("block")
def _block(action: Action, around: Around) -> Iterator[Delivery]:
    """Nothing is sent: the fake moves all other deliveries of the session behind these seconds."""
    yield from ()


# -- the answer itself -------------------------------------------------------------------------------------------------


@extra("dup")
def _dup(action: Action, around: Around) -> Iterator[Delivery]:
    reply = around.reply
    if around.answered:
        at = _behind(action, around)
        yield due(at, frame=reply.frame, line=reply.line or "", action=action, answer=reply.answer)
    else:
        around.undelivered("dup: there is no answer to repeat")


@extra("split")
def _split(action: Action, around: Around) -> Iterator[Delivery]:
    """The answer in two pieces, as bytes."""
    answer, reply = around.answer, around.reply
    if not around.answered:
        around.undelivered("split: there is no answer to split")
        yield from of_answer(answer, reply, around.own)
        return
    frame, head, rest = split.split(reply.frame, reply.line)
    yield due(answer.at, "bytes", line=head.decode(errors="backslashreplace"), action=action, data=head)
    at = split.time_of_second_piece(answer.at, action.at)
    yield due(at, "rest", frame=frame, line=reply.line or "", action=around.own, answer=reply.answer, data=rest)


def _behind(action: Action, around: Around) -> Any:
    return around.answer.at if action.at is None else action.at
