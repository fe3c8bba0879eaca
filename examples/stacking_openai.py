"""A helper of 3 retries around the openai SDK, which by itself retries twice: 4 × 3 = 12 requests.

Run it: no network, no key, no time (`pip install "fuzzmcp[openai]"`).

    python examples/stacking_openai.py
    fuzzmcp stack examples/stacking_openai.py:stacked

The mended one shows the other way out: the SDK's layer is the better one, for it reads `retry-after` and adds jitter,
so it stays, with as many attempts as the helper had; and the helper goes. What the SDK does not know is a spend cap: to
it that is a 429 like any other, and is sent again. Where that matters, take the way of `stacking_anthropic.py`.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx2
import openai

from fuzzmcp import upstream
from fuzzmcp.upstream import HttpRequest, Upstream

T = TypeVar("T")
RETRIES = 3


def client_of(backend: Upstream, **options: Any) -> openai.OpenAI:
    """The SDK's client, with the upstream in place of the network."""
    http = httpx2.Client(transport=backend.transport(httpx2))
    return openai.OpenAI(api_key="none", http_client=http, **options)


def with_retries(function: Callable[[], T]) -> T:
    """Call until it works: the helper that every code base has."""
    for attempt in range(RETRIES):
        try:
            return function()
        except openai.APIError:
            time.sleep(0.5 * 2**attempt)
    return function()


def ask(client: openai.OpenAI) -> str:
    """One question to the model."""
    completion = client.chat.completions.create(
        model="any-model", messages=[{"role": "user", "content": "Where is order A1?"}]
    )
    return completion.choices[0].message.content or ""


def stacked(backend: Upstream) -> str:
    """As it is often found: the helper does not know of the SDK's retries."""
    client = client_of(backend)
    return with_retries(lambda: ask(client))


def mended(backend: Upstream) -> str:
    """One layer: the SDK's own."""
    return ask(client_of(backend, max_retries=RETRIES))


def answer(request: HttpRequest) -> dict[str, Any]:
    """What the backend says where the script has nothing against it."""
    message = {"role": "assistant", "content": "Order A1 is on its way."}
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 1_767_225_600,
        "model": request.json()["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20},
    }


def main() -> None:
    """Print what one refused request costs."""
    for function in (stacked, mended):
        happened = upstream.run(function, "429*", ok=answer)
        stack = happened.stack_of()
        print(f"{function.__name__}: {stack.requests} requests in {happened.ended:g} s, when each is answered 429")
        for depth, layer in enumerate(stack.layers):
            print(f"  {'  ' * depth}{layer}")


if __name__ == "__main__":
    main()
