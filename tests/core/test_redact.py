"""Secrets stay out of texts and values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzmcp.api import case_of
from fuzzmcp.core.case import Call
from fuzzmcp.core.redact import MASK, is_secret, redacted, redacted_case, redacted_text

SECRET = "Sw0rdf!sh"
names = st.sampled_from(["token", "apiKey", "API_KEY", "x-auth-token", "password", "clientSecret", "Authorization"])
plain = st.sampled_from(["order_id", "note", "monkey", "max_tokens", "keyboard", "author"])
secrets = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).map(lambda text: f"{text}{SECRET}{text}")


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    values = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5))
    objects = st.dictionaries(plain, values, max_size=3)
    return st.builds(lambda under, name, value, around: {**around, under: {name: value}}, plain, names, leaf, objects)


@pytest.mark.parametrize(
    "name",
    [
        *("token", "accessToken", "API_KEY", "apikey", "db-password", "Authorization", "cookie", "auth", "proxy-auth"),
        *("access_key", "AWS_SECRET_ACCESS_KEY", "secretKey", "private_key", "privateKeyPem", "ssh-key", "signing_key"),
    ],
)
def test_names_like_token_key_password_and_authorization_are_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("order_id", "max_tokens", "monkey", "keyboard", "author", "tokenizer", "passport", "auth_method", ""),
        *(
            "key",
            "idempotency_key",
            "sort_key",
            "partitionKey",
            "primary_key",
            "public_key",
            "api_sort_key",
            "keyAccess",
        ),
    ],
)
def test_names_that_only_resemble_them_are_not(name: str) -> None:
    assert not is_secret(name)


@given(nested(secrets))
def test_no_secret_is_left_in_a_value(value: Any) -> None:
    assert SECRET not in json.dumps(redacted(value), ensure_ascii=False)


@given(nested(secrets), st.integers(0, 3), st.booleans())
def test_no_secret_is_left_in_json_text_however_often_it_is_quoted(value: Any, levels: int, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    for _ in range(levels):
        text = json.dumps({"text": text}, ensure_ascii=ascii_only)
    masked = redacted_text(text)
    assert SECRET not in masked
    assert json.loads(masked) == json.loads(redacted_text(masked))


@given(nested(secrets), st.integers(0, 80))
def test_no_secret_is_left_in_text_that_was_cut_off(value: Any, length: int) -> None:
    assert SECRET not in redacted_text(json.dumps(value, ensure_ascii=False)[:length])


@given(names, secrets)
def test_no_secret_is_left_in_a_call(name: str, value: str) -> None:
    text = str(Call("get", {"order_id": "A1", name: value}))
    assert Call.parse(redacted_text(text)) == Call("get", {"order_id": "A1", name: MASK})


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.dictionaries(plain, x)))
def test_what_is_no_secret_stays_as_it_is(value: Any) -> None:
    assert redacted(value) == value or "token" in str(value)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc.def", f"Authorization: {MASK}"),
        ("token=abc; order=5", f"token={MASK}; order=5"),
        ("error=token=abc", f"error=token={MASK}"),
        ("api_key=5, order=5", "api_key=0, order=5"),
        ("key=5, sort_key=asc", "key=5, sort_key=asc"),
        ("{'password': 'abc'}", f"{{'password': '{MASK}'}}"),
        ('"credentials": {"user": "ann", "id": [1]}, "b": 2', f'"credentials": "{MASK}", "b": 2'),
        ('token="ends in a backslash\\\\", b="c"', f'token="{MASK}", b="c"'),
        ("no token was given", "no token was given"),
        ("token: null", "token: null"),
        ("drift(token:string;key>Key)", "drift(token:string;key>Key)"),
    ],
)
def test_texts_of_many_kinds_are_masked(text: str, masked: str) -> None:
    assert redacted_text(text) == masked


@given(st.text())
def test_any_text_can_be_masked_and_masking_twice_changes_nothing(text: str) -> None:
    assert redacted_text(redacted_text(text)) == redacted_text(text)


def test_types_stay() -> None:
    value = {"api_key": {"a": "x", "b": [1, 2.5, True, None]}}
    assert redacted(value) == {"api_key": {"a": MASK, "b": [0, 0, True, None]}}


def test_a_case_without_secrets_is_the_same_case() -> None:
    case = case_of("429")
    assert redacted_case(case) is case


@pytest.mark.parametrize("text", ["raised KeyError: 'order_id'", "jose.exceptions.TokenError: expired", "KeyError: 7"])
def test_the_message_of_an_exception_is_shown_whatever_its_name(text: str) -> None:
    assert redacted_text(text) == text


def test_secrets_in_the_message_of_an_exception_stay_hidden() -> None:
    assert redacted_text("KeyError: 'token=s3cr3t'") == "KeyError: 'token=[redacted]'"
    assert redacted_text("tokenError: s3cr3t") == "tokenError: [redacted]"
