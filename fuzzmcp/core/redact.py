"""Secrets stay out of what people read: what stands under a name like `token` or `password` is masked in reports.

What is driven again, a case file above all, is never masked: it would be another case. See `core.withheld`.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import Any

from fuzzmcp.core.case import Call, Case
from fuzzmcp.core.drift import TYPES

MASK = "[redacted]"
_SECRET = frozenset(("apikey", "authorization", "bearer", "cookie", "credential", "credentials", "passphrase")) | {
    *("passwd", "password", "pwd", "secret", "token"),
}
_KEYS = frozenset(("access", "account", "api", "app", "application", "auth", "consumer", "encryption", "license")) | {
    *("master", "private", "session", "shared", "signing", "ssh", "storage", "subscription", "webhook"),
}
"""Words in front of `key` that make it one that opens something: a `sort_key` and an `idempotency_key` open nothing."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMED = re.compile(
    r"""(?P<name>[A-Za-z][\w.-]*)\\*["']?\s*[:=]\s*"""
    r"""(?P<value>(?P<quote>\\*["'])|(?:Basic|Bearer)\s+[^\s,;"']+|[\[{]|[^\s,;)}\]"'\\]+)"""
)
_ERROR = re.compile(r"([A-Za-z_]\w*\.)*[A-Z]\w*(Error|Exception)")
"""The name of an exception, in front of its message: `KeyError: 'order_id'`."""
_PLAIN = ("true", "false", "null", "None", "True", "False", *TYPES)
"""Words that hide nothing: literals, and the types in `drift(token:string)`."""


def is_secret(name: str) -> bool:
    """Whether what stands under this name is masked: one of its words is `token`, `password` or the like, it ends in
    `auth`, or it is a key that opens something, as an `api_key` does.

    >>> is_secret("apiKey"), is_secret("X-Auth-Token"), is_secret("basic_auth"), is_secret("private_key_pem")
    (True, True, True, True)
    >>> is_secret("max_tokens"), is_secret("monkey"), is_secret("sort_key"), is_secret("auth_method")
    (False, False, False, False)
    """
    words = [word.lower() for word in _WORD.findall(name)]
    if not _SECRET.isdisjoint(words) or words[-1:] == ["auth"]:
        return True
    return any(word == "key" and before in _KEYS for before, word in itertools.pairwise(words))


def redacted(value: Any) -> Any:
    """A JSON value with every leaf under a secret name masked, in texts too; types stay, so that it still fits.

    >>> redacted({"user": "ann", "token": "s3cr3t", "pin": {"password": 1234}})
    {'user': 'ann', 'token': '[redacted]', 'pin': {'password': 0}}
    """
    if isinstance(value, dict):
        return {name: masked(v) if is_secret(str(name)) else redacted(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted(v) for v in value]
    return redacted_text(value) if isinstance(value, str) else value


def masked(value: Any) -> Any:
    """A JSON value with every leaf masked; types stay."""
    if isinstance(value, dict):
        return {name: masked(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(v) for v in value]
    if isinstance(value, str):
        return MASK
    return value if value is None or isinstance(value, bool) else 0


def redacted_text(text: str) -> str:
    """A text with the values behind secret names masked: JSON, a header, `name=value`, also where it is cut off.

    >>> redacted_text('get_order(order_id="A1", api_key="s3cr3t")')
    'get_order(order_id="A1", api_key="[redacted]")'
    >>> redacted_text("Authorization: Bearer s3cr3t")
    'Authorization: [redacted]'
    >>> redacted_text("raised KeyError: 'order_id'")
    "raised KeyError: 'order_id'"
    """
    done, at = [], 0
    while (found := _NAMED.search(text, at)) is not None:
        value = found.start("value")
        done.append(text[at:value])
        if is_secret(found["name"]) and not _ERROR.fullmatch(found["name"]):
            at = _end(text, found)
            done.append(_mask_for(found))
        else:  # what is named may hold names itself: `error="token=1"`, `{"a": {"token": 1}}`
            at = value + len(found["quote"] or "")
            done.append(text[value:at])
    return "".join((*done, text[at:]))


def _end(text: str, found: re.Match[str]) -> int:
    """Where the value ends: behind its closing mark, or at the end of a text that is cut off."""
    if found["quote"]:
        return _end_of_string(text, found["quote"], found.end("quote"))
    if found["value"] not in ("[", "{"):
        return found.end("value")
    try:
        return json.JSONDecoder().raw_decode(text, found.start("value"))[1]
    except (ValueError, RecursionError):
        return len(text)


def _end_of_string(text: str, quote: str, start: int) -> int:
    """Behind the closing quote. JSON within JSON has twice the backslashes, plus one, at each level."""
    escapes, mark = len(quote) - 1, quote[-1]
    at = start
    while (at := text.find(mark, at)) >= 0:
        before = at - len(text[start:at].rstrip("\\")) - start
        at += 1
        if before % (2 * escapes + 2) == escapes:
            return at
    return len(text)


def _mask_for(found: re.Match[str]) -> str:
    value, quote = found["value"], found["quote"]
    if quote:
        return f"{quote}{MASK}{quote}"
    if value in _PLAIN:
        return value
    if re.fullmatch(r"-?\d[\d.]*(?:[eE][+-]?\d+)?", value):
        return "0"
    return f'"{MASK}"' if value in ("[", "{") else MASK


def redacted_case(case: Case) -> Case:
    """The case with masked arguments and outputs, to be shown: it is another case than the one that was driven.

    >>> from fuzzmcp.core.case import Call
    >>> str(redacted_case(Case(calls=(Call("get_order", {"order_id": "A1", "token": "s3cr3t"}),))).calls[0])
    'get_order(order_id="A1", token="[redacted]")'
    """
    calls = tuple(Call(call.tool, redacted(dict(call.arguments)), call.at) for call in case.calls)
    outputs = redacted(dict(case.outputs))
    if calls == case.calls and outputs == case.outputs:
        return case
    return replace(case, calls=calls, outputs=outputs)
