"""An agent loop of 3 retries around the anthropic SDK, which by itself retries twice: 4 × 3 = 12 requests.

Each of the two is reasonable alone. Together they send one refused request twelve times, to an API that has said that
it is sent too much. Run it: no network, no key, no time (`pip install "fuzzmcp[anthropic]"`).

    python examples/stacking_anthropic.py
    fuzzmcp stack examples/stacking_anthropic.py:stacked

Out come the requests and the layers that sent them, for the loop as it was, for its asynchronous twin, and for the
mended one: the loop is the only layer, waits as it is told, and gives up where nobody says when to come back.
"""

import asyncio
import time
from typing import Any

import anthropic
import httpx2

from fuzzmcp import upstream
from fuzzmcp.upstream import HttpRequest, Upstream

RETRIES = 3
QUESTION: dict[str, Any] = {
    "model": "any-model",
    "max_tokens": 64,
    "messages": [{"role": "user", "content": "Where is order A1?"}],
}


def stacked(backend: Upstream) -> str:
    """As it is often found: the SDK's own retries are forgotten."""
    client = anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=backend.transport(httpx2)))
    for attempt in range(1 + RETRIES):
        try:
            return text_of(client.messages.create(**QUESTION))
        except (anthropic.APIStatusError, anthropic.APIConnectionError):
            if attempt == RETRIES:
                raise
            time.sleep(2**attempt)
    raise AssertionError("the last attempt returns or raises")


async def stacked_async(backend: Upstream) -> str:
    """The same on an event loop."""
    http = httpx2.AsyncClient(transport=backend.transport(httpx2))
    client = anthropic.AsyncAnthropic(api_key="none", http_client=http)
    for attempt in range(1 + RETRIES):
        try:
            return text_of(await client.messages.create(**QUESTION))
        except (anthropic.APIStatusError, anthropic.APIConnectionError):
            if attempt == RETRIES:
                raise
            await asyncio.sleep(2**attempt)
    raise AssertionError("the last attempt returns or raises")


def mended(backend: Upstream) -> str:
    """One layer: the SDK sends once, and the loop waits as the answer says, or longer each time."""
    http = httpx2.Client(transport=backend.transport(httpx2))
    client = anthropic.Anthropic(api_key="none", http_client=http, max_retries=0)
    for attempt in range(1 + RETRIES):
        try:
            return text_of(client.messages.create(**QUESTION))
        except (anthropic.APIStatusError, anthropic.APIConnectionError) as error:
            wait = wait_before_retry(error, attempt)
            if wait is None or attempt == RETRIES:
                raise
            time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def wait_before_retry(error: anthropic.APIError, attempt: int) -> float | None:
    """Seconds until another attempt makes sense, or None where none does.

    A refused request may come back when its answer says so; a rate limit that names no moment is a spend cap, or as
    good as one. An overloaded API, and one that could not be reached, gets more time with each attempt.
    """
    if isinstance(error, anthropic.APIConnectionError):
        return 2.0**attempt
    response = getattr(error, "response", None)
    if response is None or response.status_code not in (429, 504, 529):
        return None
    hint = response.headers.get("retry-after")
    if hint is not None:
        return float(hint)
    return None if response.status_code == 429 else 2.0**attempt


def text_of(message: anthropic.types.Message) -> str:
    """What the model says."""
    return "".join(block.text for block in message.content if block.type == "text")


def answer(request: HttpRequest) -> dict[str, Any]:
    """What the backend says where the script has nothing against it."""
    return {
        "id": f"msg_{request.number}",
        "type": "message",
        "role": "assistant",
        "model": request.json()["model"],
        "content": [{"type": "text", "text": "Order A1 is on its way."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 8},
    }


def main() -> None:
    """Print what one refused request costs."""
    for function in (stacked, stacked_async, mended):
        happened = upstream.run(function, "429*", ok=answer)
        stack = happened.stack_of()
        print(f"{function.__name__}: {stack.requests} requests in {happened.ended:g} s, when each is answered 429")
        for depth, layer in enumerate(stack.layers):
            print(f"  {'  ' * depth}{layer}")


if __name__ == "__main__":
    main()
